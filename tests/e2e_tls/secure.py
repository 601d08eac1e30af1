"""Certificates, a daemon that speaks TLS or asks for tokens, and raw peers. Standard library, and
the openssl program for the certificates."""
import atexit
import hashlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile

BIN = os.path.abspath(sys.argv[1])
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, True)
SKIPPED = 77
LIMITS = '''
limits:
  many: {algorithm: fixed_window, limit: 1000000, window: 3650d}
  five: {algorithm: fixed_window, limit: 5, window: 3650d}
routes:
  "GET /": [many]
  "POST /login": [five]
'''


def need(program):
    if shutil.which(program) is None:
        print(f'{program} is not here')
        sys.exit(SKIPPED)


def path(name):
    return os.path.join(FOLDER, name)


def openssl(*args):
    subprocess.run(['openssl', *args], check=True, capture_output=True)


def self_signed(cert, key, subject='localhost'):
    """A certificate for this machine, which is its own root."""
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30',
            '-subj', f'/CN={subject}', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1',
            '-keyout', path(key), '-out', path(cert))


def signed(cert, key, ca_cert, ca_key, subject):
    request = path('request.pem')
    openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', f'/CN={subject}',
            '-keyout', path(key), '-out', request)
    openssl('x509', '-req', '-in', request, '-CA', path(ca_cert), '-CAkey', path(ca_key), '-CAcreateserial',
            '-days', '30', '-out', path(cert))


def digest(token):
    return hashlib.sha256(token.encode()).hexdigest()


def write(name, text):
    with open(path(name), 'w') as file:
        file.write(text)
    return path(name)


class Daemon:
    """Listens for every protocol; addresses[protocol] is (host, port)."""

    def __init__(self, *options):
        self.log = open(path(f'log{id(self)}'), 'w+')
        self.process = subprocess.Popen(
            [f'{BIN}/sluiced', '--limits', write('limits.yaml', LIMITS), '--no-state', '--log-level', 'debug',
             *[f'--listen={p}=127.0.0.1:0' for p in ('native', 'http', 'grpc', 'resp', 'admin')],
             f'--listen=native=unix:{path("socket")}', *options],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        atexit.register(self.kill)
        self.addresses = {}
        for line in iter(self.process.stdout.readline, 'ready\n'):
            if not line:
                raise RuntimeError(self.said())
            _, protocol, address = line.split()
            if not address.startswith('unix:'):
                self.addresses[protocol] = ('127.0.0.1', int(address.rsplit(':', 1)[1]))

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(10)
        self.process.stdout.close()
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def trusting(cert, alpn=None, chain=None):
    context = ssl.create_default_context(cafile=path(cert))
    if alpn:
        context.set_alpn_protocols(alpn)
    if chain:
        context.load_cert_chain(path(chain[0]), path(chain[1]))
    return context


def connect(address, context=None):
    plain = socket.create_connection(address, 10)
    plain.settimeout(10)
    return plain if context is None else context.wrap_socket(plain, server_hostname='localhost')


def ask_native(peer, key=b'k', route=b'GET /', number=1):
    peer.sendall(frame(number, 2, bytes([10, len(key)]) + key + bytes([18, len(route)]) + route))
    return read_frame(peer)


def frame(number, field, body):
    message = bytes([8, number, field << 3 | 2, len(body)]) + body
    return bytes([len(message)]) + message


def read_some(peer, size):
    data = b''
    while len(data) < size:
        piece = peer.recv(size - len(data))
        if not piece:
            raise EOFError(data)
        data += piece
    return data


def read_frame(peer):
    """id, field, body of a short frame"""
    size = shift = 0
    while True:
        byte = read_some(peer, 1)[0]
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    message = read_some(peer, size)
    number, at = (message[1], 2) if message[:1] == b'\x08' else (0, 0)
    field, at = message[at] >> 3, at + 1
    while message[at] > 127:
        at += 1
    return number, field, message[at + 1:]


class Checks:
    def __init__(self):
        self.count = self.wrong = 0

    def that(self, what, ok, seen=''):
        self.count += 1
        if not ok:
            self.wrong += 1
            print(f'WRONG {what}: {seen!r}', flush=True)

    def equal(self, what, got, want):
        self.that(what, got == want, (got, 'instead of', want))

    def done(self):
        print(f'{self.wrong} wrong of {self.count}')
        sys.exit(1 if self.wrong or not self.count else 0)
