"""A client of the native protocol and a daemon to talk to, for the end-to-end tests. Standard library only."""
import atexit
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SLUICED = os.environ.get('SLUICED') or os.path.join(sys.argv[1], 'sluiced')
# Sanitizers keep freed memory: what is resident says nothing then.
SANITIZED = bool(os.environ.get('SLUICE_SANITIZE'))
REASONS = ('', 'UNDER_LIMIT', 'UNLIMITED', 'NO_LIMIT', 'SHADOWED', 'OVER_LIMIT', 'COST_EXCEEDS_LIMIT', 'BLOCKED',
           'STORE_FULL')
INVALID_ARGUMENT, PERMISSION_DENIED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, UNAVAILABLE = 3, 7, 8, 12, 14


def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{number: [values]}; varints as int, the rest as bytes."""
    out, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        elif tag & 7 == 2:
            size, at = read_varint(data, at)
            value = data[at:at + size]
            at += size
        else:
            raise ValueError(f'wire type {tag & 7}')
        out.setdefault(tag >> 3, []).append(value)
    return out


def duration_ns(data):
    if data is None:
        return None
    parts = fields(data)
    return parts.get(1, [0])[0] * 10**9 + parts.get(2, [0])[0]


def ask_body(key, route, cost=None, attributes=None, details=False):
    out = text(1, key) + text(2, route)
    if cost is not None:
        out += number(3, cost)
    for name, value in (attributes or {}).items():
        out += text(4, text(1, name) + text(2, value))
    return out + (number(5, 1) if details else b'')


def frame(ident, field, body):
    payload = (number(1, ident) if ident else b'') + (text(field, body) if field else b'')
    return varint(len(payload)) + payload


def ask(ident, *args, **more):
    return frame(ident, 2, ask_body(*args, **more))


def response(data):
    parts = fields(data)

    def get(field, default=0):
        return parts.get(field, [default])[0]
    return {'allowed': bool(get(1)), 'limit': get(2), 'remaining': get(3), 'retry_after_ns': duration_ns(get(4, None)),
            'reset_after_ns': duration_ns(get(5, None)), 'limit_name': get(7, b'').decode(),
            'reason': REASONS[get(8)], 'rows': len(parts.get(9, []))}


def error(data):
    parts = fields(data)
    return {'code': parts.get(1, [0])[0], 'field': parts.get(2, [b''])[0].decode(),
            'message': parts.get(3, [b''])[0].decode()}


class Connection:
    def __init__(self, address, timeout=20):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.data = b''

    def send(self, data):
        self.socket.sendall(data)

    def frame(self):
        """The next ServerFrame's bytes, or None when the peer has closed."""
        while True:
            at = 0
            while at < len(self.data) and self.data[at] & 128:
                at += 1
            if at < len(self.data):
                size, at = read_varint(self.data, 0)
                if len(self.data) >= at + size:
                    payload, self.data = self.data[at:at + size], self.data[at + size:]
                    return payload
            more = self.socket.recv(1 << 18)
            if not more:
                return None
            self.data += more

    def answer(self):
        """(id, body number, decoded body), or None when the peer has closed."""
        payload = self.frame()
        if payload is None:
            return None
        parts = fields(payload)
        ident = parts.pop(1, [0])[0]
        field, values = next(iter(parts.items()))
        decoded = {2: response, 4: response, 15: error}.get(field, lambda data: data)(values[-1])
        return ident, field, decoded

    def ask(self, *args, **more):
        self.send(ask(7, *args, **more))
        ident, field, decoded = self.answer()
        assert ident == 7 and field in (2, 15), (ident, field)
        return decoded

    def closed(self):
        """Has the peer closed, cleanly, with nothing more to read?"""
        return self.answer() is None

    def close(self):
        self.socket.close()


class Daemon:
    def __init__(self, limits, *options, listen=('native=127.0.0.1:0',), environment=None, no_state=True,
                 **popen):
        self.folder = tempfile.mkdtemp(prefix='sluice-e2e-')
        self.limits = os.path.join(self.folder, 'limits.yaml')
        with open(self.limits, 'w', encoding='utf-8') as out:
            out.write(limits)
        self.log = os.path.join(self.folder, 'log')
        command = [SLUICED, '--limits', self.limits]
        for each in listen:
            command += ['--listen', each.replace('@', self.folder)]
        command += (['--no-state'] if no_state else []) + list(options)
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, bufsize=0,
                                            env={**os.environ, **(environment or {})}, **popen)
        atexit.register(self.end)
        self.addresses = []
        self.lines = []
        while True:
            if not select.select([self.process.stdout], [], [], 30)[0]:
                raise SystemExit('sluiced: not ready within 30 s')
            line = self.process.stdout.readline().decode()
            if not line:
                raise SystemExit(f'sluiced did not start: {self.logged()}')
            self.lines.append(line.rstrip('\n'))
            if line == 'ready\n':
                break
            where = line.split()[2]
            host, _, port = where.rpartition(':')
            self.addresses.append(where[5:] if where.startswith('unix:') else (host.strip('[]'), int(port)))

    def connect(self, which=0, **more):
        return Connection(self.addresses[which], **more)

    def logged(self):
        with open(self.log, encoding='utf-8', errors='replace') as log:
            return log.read()

    def wait_for_log(self, words, seconds=10):
        deadline = time.monotonic() + seconds
        while words not in self.logged():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def write_limits(self, limits):
        with open(self.limits + '.new', 'w', encoding='utf-8') as out:
            out.write(limits)
        os.replace(self.limits + '.new', self.limits)

    def resident_bytes(self):
        with open(f'/proc/{self.process.pid}/status', encoding='ascii') as status:
            return 1024 * int(next(line.split()[1] for line in status if line.startswith('VmRSS')))

    def sockets(self):
        folder = f'/proc/{self.process.pid}/fd'
        kinds = []
        for name in os.listdir(folder):
            try:
                kinds.append(os.readlink(os.path.join(folder, name)))
            except OSError:
                pass
        return sum(kind.startswith('socket:') for kind in kinds)

    def open_files(self):
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def stop(self, number_=signal.SIGTERM, timeout=20):
        """(exit code, seconds)"""
        start = time.monotonic()
        self.process.send_signal(number_)
        return self.process.wait(timeout), time.monotonic() - start

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def run(*options, environment=None):
    """Runs sluiced to its end: (exit code, stdout, stderr)."""
    done = subprocess.run([SLUICED, *options], capture_output=True, text=True, timeout=30, check=False,
                          env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout, done.stderr


def main(tests):
    """Runs every function of the module that is called test_…"""
    names = [name for name in tests if name.startswith('test_')]
    wanted = sys.argv[2:]
    failed = 0
    for name in names:
        if wanted and name not in wanted:
            continue
        start = time.monotonic()
        try:
            tests[name]()
            print(f'ok {name} ({time.monotonic() - start:.2f} s)', flush=True)
        except Exception:  # noqa: each test stands for itself
            import traceback
            failed += 1
            print(f'FAILED {name}', flush=True)
            traceback.print_exc(file=sys.stdout)
    print(f'{len(names)} tests, {failed} failed')
    raise SystemExit(1 if failed else 0)
