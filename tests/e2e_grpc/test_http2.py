"""The JSON API over HTTP/2, both versions on one address, and what a connection may not do."""
import json
import shutil
import socket
import subprocess
import threading
import time

from grpc_client import *  # noqa: F403

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'


def frame(kind, flags, stream, payload=b''):
    return len(payload).to_bytes(3, 'big') + bytes([kind, flags]) + stream.to_bytes(4, 'big') + payload


def curl(daemon, which, *options):
    if shutil.which('curl') is None:
        print('SKIPPED: curl is not installed')
        raise SystemExit(77)
    host, port = daemon.addresses[which]
    path = options[0]
    done = subprocess.run(['curl', '-s', '-i', *options[1:], f'http://{host}:{port}{path}'], capture_output=True, text=True,
                          timeout=20, check=False)
    head, _, body = done.stdout.partition('\n\n')
    return head.split('\n'), body


def test_json_over_http2():
    daemon = Daemon(LIMITS, listen=['http=127.0.0.1:0'])
    for left in (2, 1, 0):
        head, body = curl(daemon, 0, '/v1/should-allow', '--http2-prior-knowledge', '-H', 'content-type: application/json',
                          '-d', '{"key":"a","route":"three"}')
        assert head[0].startswith('HTTP/2 200') and json.loads(body)['remaining'] == left, (head, body)
    head, body = curl(daemon, 0, '/v1/should-allow?key=a&route=three', '--http2-prior-knowledge')
    assert head[0].startswith('HTTP/2 429') and json.loads(body)['reason'] == 'OVER_LIMIT', (head, body)
    assert any(line.startswith('retry-after: ') for line in head) and any(line.startswith('ratelimit: ') for line in head), head
    head, body = curl(daemon, 0, '/nope', '--http2-prior-knowledge')
    assert head[0].startswith('HTTP/2 404') and 'content-type: application/problem+json' in head, head
    head, body = curl(daemon, 0, '/v1/should-allow?key=b&route=three', '--http2-prior-knowledge', '-I')
    assert head[0].startswith('HTTP/2 200') and body == '', (head, body)


def test_http_and_grpc_share_an_address():
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    daemon = Daemon(LIMITS, listen=[f'http=127.0.0.1:{port}', f'grpc=127.0.0.1:{port}'])
    assert daemon.lines[:2] == [f'listening http 127.0.0.1:{port}', f'listening grpc 127.0.0.1:{port}'], daemon.lines
    call = unary(grpc.insecure_channel(f'127.0.0.1:{port}'), SERVICE + 'ShouldAllow')
    assert response(call(ask_body('s', 'three')))['remaining'] == 2
    for left, version in ((1, '--http1.1'), (0, '--http2-prior-knowledge')):
        head, body = curl(daemon, 0, '/v1/should-allow?key=s&route=three', version)
        assert json.loads(body)['remaining'] == left, (head, body)
    assert not response(call(ask_body('s', 'three')))['allowed']
    assert daemon.stop()[0] == 0


def test_what_is_no_http2_is_closed():
    daemon = Daemon(LIMITS, listen=['grpc=127.0.0.1:0'])
    for data in (PREFACE + b'\0' * 500, PREFACE + frame(4, 0, 1), PREFACE[:20] + b'XXXX' * 9, PREFACE + frame(0, 1, 7, b'x'),
                 PREFACE + frame(4, 0, 0) + b'\xff\xff\xff\xff' * 20, PREFACE + frame(4, 0, 0) + frame(1, 4, 2, b'\x83')):
        with socket.create_connection(daemon.addresses[0], timeout=10) as peer:
            peer.sendall(data)
            while peer.recv(65536):
                pass
    assert daemon.process.poll() is None


def slow_calls(daemon, count, stop, times):
    call = unary(grpc.insecure_channel(address(daemon.addresses[0])), SERVICE + 'ShouldAllow')
    while not stop:
        start = time.monotonic()
        call(ask_body('other', 'big'), timeout=20)
        times.append(time.monotonic() - start)
    count.append(len(times))


def test_floods_end_their_own_connection_only():
    daemon = Daemon(LIMITS, '--workers', '1', listen=['grpc=127.0.0.1:0'])
    stop, times, count = [], [], []
    other = threading.Thread(target=slow_calls, args=(daemon, count, stop, times))
    other.start()
    before = daemon.resident_bytes()
    headers = b'\x83\x86\x04\x01/\x01\x04here'
    floods = {
        'ping': [frame(6, 0, 0, b'12345678')] * 50000,
        'settings': [frame(4, 0, 0)] * 50000,
        'reset': [frame(1, 4, s, headers) + frame(3, 0, s, b'\0\0\0\x08') for s in range(1, 40000, 2)],
        'continuation': [frame(1, 0, 1, b'\x83')] + [frame(9, 0, 1, b'\0\x01x\x01y')] * 50000,
        'empty data': [frame(1, 4, 1, b'\x83\x86\x04\x22/sluice.v1.RateLimiter/ShouldAllow\x01\x04here\x0f\x10\x10application/grpc')] + [frame(0, 0, 1)] * 50000,
        'headers': [frame(1, 0, 1, b'\x83')] + [frame(9, 0, 1, b'\0\x01x\x7f\x80\x3e' + b'v' * 8000)] * 100,
    }
    for name, frames in floods.items():
        with socket.create_connection(daemon.addresses[0], timeout=20) as peer:
            try:
                peer.sendall(PREFACE + frame(4, 0, 0))
                for at in range(0, len(frames), 500):
                    peer.sendall(b''.join(frames[at:at + 500]))
                    peer.settimeout(0.001)
                    try:
                        while peer.recv(1 << 20):
                            pass
                        break
                    except TimeoutError:
                        pass
                    peer.settimeout(20)
                else:
                    assert False, f'{name}: still open'
            except (ConnectionError, BrokenPipeError):
                pass
    stop.append(1)
    other.join()
    assert count and count[0] > 20, count
    if not SANITIZED:
        assert daemon.resident_bytes() - before < 40 << 20, daemon.resident_bytes() - before


def test_a_request_that_never_ends_is_given_up():
    daemon = Daemon(LIMITS, '--request-timeout', '300ms', listen=['grpc=127.0.0.1:0'])
    with socket.create_connection(daemon.addresses[0], timeout=10) as peer:
        peer.sendall(PREFACE + frame(4, 0, 0) + frame(1, 4, 1, b'\x83\x86\x04\x01/\x01\x04here'))
        start = time.monotonic()
        for _ in range(200):   # a byte now and then does not help
            try:
                peer.sendall(frame(0, 0, 1, b'x'))
            except OSError:
                break
            time.sleep(0.02)
        assert time.monotonic() - start < 3.5
    # One that waits between its requests is not.
    channel = grpc.insecure_channel(address(daemon.addresses[0]))
    call = unary(channel, SERVICE + 'ShouldAllow')
    call(ask_body('w', 'big'))
    sockets = daemon.sockets()
    time.sleep(1)
    call(ask_body('w', 'big'))
    assert daemon.sockets() == sockets


def test_h2load():
    if shutil.which('h2load') is None:
        print('SKIPPED: h2load is not installed')
        return
    daemon = Daemon(LIMITS, listen=['grpc=127.0.0.1:0'])
    body = os.path.join(daemon.folder, 'body')
    with open(body, 'wb') as out:
        message = ask_body('load', 'big')
        out.write(b'\0\0\0\0' + bytes([len(message)]) + message)
    done = subprocess.run(['h2load', '-n', '20000', '-c', '10', '-m', '32', '-d', body, '-H', 'content-type: application/grpc',
                           '-H', 'te: trailers', 'http://%s:%d%sShouldAllow' % (*daemon.addresses[0], SERVICE)],
                          capture_output=True, text=True, timeout=60, check=False).stdout
    assert '20000 succeeded, 0 failed, 0 errored' in done and '20000 2xx' in done, done
    call = unary(grpc.insecure_channel(address(daemon.addresses[0])), SERVICE + 'ShouldAllow')
    assert response(call(ask_body('load', 'big', 0)))['remaining'] == 999999999999999 - 20000


main(globals())
