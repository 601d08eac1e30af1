"""The real gateways of deploy/gateways in front of a real sluiced, on ports of their own. Standard library only."""
import atexit
import glob
import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

BIN = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, True)
LIMITS = '''
limits:
  login: {algorithm: sliding_window_log, limit: 5, window: 4s}
routes: {"*": [login]}
'''
wrong = checks = 0


def check(what, ok, seen=''):
    global wrong, checks
    checks += 1
    if not ok:
        wrong += 1
        print(f'WRONG {what}: {seen!r}', flush=True)


def done():
    print(f'{wrong} wrong of {checks}')
    sys.exit(1 if wrong or not checks else 0)


def skip(why):
    print(f'SKIPPED: {why}')
    sys.exit(77)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def start(command, **more):
    process = subprocess.Popen(command, **more)

    def end():
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    atexit.register(end)
    return process


class Daemon:
    """sluiced with HTTP and gRPC on ports that stay the same over a restart."""

    def __init__(self):
        self.http, self.grpc = free_port(), free_port()
        self.limits = os.path.join(FOLDER, 'limits.yaml')
        with open(self.limits, 'w') as file:
            file.write(LIMITS)
        self.start()

    def start(self):
        self.process = start([f'{BIN}/sluiced', '--limits', self.limits, '--no-state', '--listen', f'http=127.0.0.1:{self.http}',
                              '--listen', f'grpc=127.0.0.1:{self.grpc}'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        while self.process.stdout.readline() not in ('ready\n', ''):
            pass

    def kill(self):
        self.process.kill()
        self.process.wait()


class App(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        body = b'no entry\n' if self.path.startswith('/forbidden') else b'hello\n'
        self.send_response(403 if self.path.startswith('/forbidden') else 200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def app():
    """The application behind the gateway; its port."""
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), App)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def example(path, ports, name=None):
    """A copy of an example in FOLDER with its ports changed ({'8080': ...}); other files of its folder beside it."""
    source = os.path.join(ROOT, 'deploy/gateways', path)
    for beside in glob.glob(os.path.join(os.path.dirname(source), '*')):
        text = open(beside).read()
        for old, new in ports.items():
            text = re.sub(rf'\b{old}\b', str(new), text)
        with open(os.path.join(FOLDER, os.path.basename(beside)), 'w') as file:
            file.write(text)
    return os.path.join(FOLDER, os.path.basename(path))


def get(port, path='/', user=None, source='127.0.0.1', timeout=5):
    """status, headers (lower case), body of one request"""
    with socket.create_connection(('127.0.0.1', port), timeout=timeout, source_address=(source, 0)) as s:
        who = f'x-user: {user}\r\n' if user else ''
        s.sendall(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n{who}Connection: close\r\n\r\n'.encode())
        data = b''
        while True:
            part = s.recv(65536)
            if not part:
                break
            data += part
    head, _, body = data.partition(b'\r\n\r\n')
    lines = head.decode('latin1').split('\r\n')
    return int(lines[0].split()[1]), {l.split(':', 1)[0].lower(): l.split(':', 1)[1].strip() for l in lines[1:]}, body


def until_up(port, process, seconds=10):
    end = time.time() + seconds
    while time.time() < end:
        if process.poll() is not None:
            print(f'the gateway ended with {process.returncode}')
            sys.exit(1)
        try:
            socket.create_connection(('127.0.0.1', port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    print('the gateway did not start')
    sys.exit(1)


def edge_scenario(ask, retry_header='retry-after'):
    """alice five 200, then three 429 with Retry-After; bob 200; alice again after the window. ask(name) -> answer"""
    begin = time.time()
    answers = [ask('alice') for _ in range(8)]
    statuses = [a[0] for a in answers]
    if time.time() - begin > 3:
        print('the machine is too slow for the scenario of 4 s; asking again')
        time.sleep(4.5)
        answers = [ask('alice') for _ in range(8)]
        statuses = [a[0] for a in answers]
    check('alice: five 200, then three 429', statuses == [200] * 5 + [429] * 3, statuses)
    for answer in answers[5:]:
        retry = answer[1].get(retry_header, '')
        check(f'{retry_header} on a 429', retry.isdigit() and 1 <= int(retry) <= 4, answer[1])
    answer = ask('bob')
    check('bob is not alice', answer[0] == 200, answer)
    time.sleep(4.2)
    answer = ask('alice')
    check('alice again after the window', answer[0] == 200, answer)
    return answers
