"""A small client of the Redis protocol and a daemon that speaks it. Standard library only."""
import os
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'e2e'))
import native  # noqa: E402

CACHE = os.path.join(HERE, '..', '..', '.cache')
LIMITS = '''limits:
  login: {algorithm: sliding_window_log, limit: 5, window: 1h}
  once: {algorithm: fixed_window, limit: 1, window: year}
routes:
  "POST /login": [login]
  "GET /once": [once]
'''


def daemon(*options, listen=('resp=127.0.0.1:0',), limits=LIMITS, **more):
    return native.Daemon(limits, *options, listen=listen, **more)


def skip(why):
    print(f'skipped: {why}')
    raise SystemExit(77)


def command(*words):
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b'*%d\r\n' % len(parts) + b''.join(b'$%d\r\n%s\r\n' % (len(part), part) for part in parts)


class Error(Exception):
    pass


class Connection:
    def __init__(self, address, timeout=20):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.file = self.socket.makefile('rb')

    def send(self, data):
        self.socket.sendall(data)

    def reply(self):
        """The next reply; an Error is returned, not raised; EOFError when the peer has closed."""
        line = self.file.readline()
        if not line.endswith(b'\r\n'):
            raise EOFError(line)
        kind, rest = line[:1], line[1:-2]
        if kind == b'+':
            return rest.decode()
        if kind == b'-':
            return Error(rest.decode())
        if kind == b':':
            return int(rest)
        if kind == b'_':
            return None
        if kind == b'$':
            if rest == b'-1':
                return None
            data = self.file.read(int(rest) + 2)
            assert data.endswith(b'\r\n'), data
            return data[:-2]
        if kind == b'*':
            return [self.reply() for _ in range(int(rest))]
        assert kind == b'%', line
        return {self.reply(): self.reply() for _ in range(int(rest))}

    def ask(self, *words):
        self.send(command(*words))
        return self.reply()

    def closed(self):
        """Has the peer closed, with nothing more to read?"""
        try:
            return self.file.read(1) == b''
        except ConnectionResetError:
            return True

    def close(self):
        self.file.close()
        self.socket.close()
