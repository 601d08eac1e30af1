"""What the HTTP tests share: a daemon, raw requests, other programs on free ports. Standard library only."""
import atexit
import http.client
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import Daemon  # noqa: E402

GATEWAYS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'deploy', 'gateways')
LIMITS = '''
limits:
  login: {algorithm: sliding_window_log, limit: 5, window: 10s}
  edge: {algorithm: sliding_window_log, limit: 5, window: 3s}
  many: {algorithm: fixed_window, limit: 1000000000, window: 3650d}
routes:
  "POST /login": [login]
  "GET /page": [edge]
  "many": [many]
'''


def skip(program):
    print(f'SKIPPED: {program} is not installed')
    raise SystemExit(77)


def need(program):
    path = shutil.which(program, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')
    return path or skip(program)


def daemon(*options, limits=LIMITS, listen=('http=127.0.0.1:0',)):
    return Daemon(limits, *options, listen=listen)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def ask(address, key, route, **more):
    """(status, fields, body as read from JSON)"""
    peer = http.client.HTTPConnection(*address, timeout=10)
    peer.request('POST', '/v1/should-allow', json.dumps({'key': key, 'route': route, **more}),
                 {'Content-Type': 'application/json'})
    answer = peer.getresponse()
    body = json.loads(answer.read())
    fields = {name.lower(): value for name, value in answer.getheaders()}
    peer.close()
    return answer.status, fields, body


def get(port, path, headers=None, method='GET'):
    """(status, fields, body)"""
    peer = http.client.HTTPConnection('127.0.0.1', port, timeout=10)
    peer.request(method, path, headers=headers or {})
    answer = peer.getresponse()
    body = answer.read()
    fields = {name.lower(): value for name, value in answer.getheaders()}
    peer.close()
    return answer.status, fields, body


class Process:
    """A program in the foreground, ended with the test; its port answers when it is ready."""

    def __init__(self, command, port, **popen):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **popen)
        atexit.register(self.end)
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(('127.0.0.1', port), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f'{command[0]} did not start: {self.process.stderr.read(4000)!r}')
                time.sleep(0.05)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class App(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        self.server.asked += 1
        body = b'hello from the app\n'
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class AppServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # a gateway that drops a connection is no fault


def app():
    """An application behind a gateway; .asked counts what got through."""
    server = AppServer(('127.0.0.1', 0), App)
    server.daemon_threads = True
    server.asked = 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def folder():
    made = tempfile.mkdtemp(prefix='sluice-http-')
    atexit.register(shutil.rmtree, made, True)
    return made


def copy_with(source, target, replacements):
    """A copy of an example with the test's ports; each of the example's must be there."""
    with open(source, encoding='utf-8') as text:
        content = text.read()
    for old, new in replacements.items():
        assert old in content, (source, old)
        content = content.replace(old, new)
    with open(target, 'w', encoding='utf-8') as out:
        out.write(content)


def check_gateway(port, behind, sluiced):
    """Five pass, three are refused with the words of Sluice, a window later all is well; and a Sluice that is gone lets
    everything through."""
    path = '/page?next=/a%20b'
    answers = [get(port, path) for _ in range(8)]
    assert [each[0] for each in answers] == [200] * 5 + [429] * 3, answers
    assert behind.asked == 5, behind.asked
    for status, fields, body in answers:
        assert fields['ratelimit-policy'] == '"edge";q=5;w=3', fields
        assert fields['ratelimit'].startswith('"edge";r='), fields
        assert (status == 429) == ('retry-after' in fields), fields
    assert 1 <= int(answers[5][1]['retry-after']) <= 3, answers[5]
    assert answers[5][2] == b'slow down\n', answers[5]
    time.sleep(int(answers[5][1]['retry-after']) + 0.05)
    assert get(port, path)[0] == 200
    sluiced.stop()
    asked = behind.asked
    assert get(port, path)[0] == 200
    assert behind.asked == asked + 1
