"""Requests that nobody may read differently than the gateway in front, over real sockets; slow and hostile peers."""
import socket
import time

from http_peer import ask, daemon

ASK = '{"key":"a","route":"many"}'
POST = f'POST /v1/should-allow HTTP/1.1\r\nHost: x\r\nContent-Length: {len(ASK)}\r\n\r\n{ASK}'
HEAD = 'POST /v1/should-allow HTTP/1.1\r\nHost: x\r\n'


def talk(address, data, half=True):
    """All that comes back until the other side closes."""
    peer = socket.create_connection(address, timeout=10)
    peer.sendall(data if isinstance(data, bytes) else data.encode('latin1'))
    if half:
        peer.shutdown(socket.SHUT_WR)
    got = b''
    while True:
        more = peer.recv(65536)
        if not more:
            return got
        got += more


sluiced = daemon('--request-timeout', '1s')
address = sluiced.addresses[0]

# A second question hides behind each; it must not be answered.
SMUGGLED = {
    'two lengths': HEAD + f'Content-Length: 0\r\nContent-Length: {len(POST)}\r\n\r\n',
    'length and chunked': HEAD + 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'chunked behind a tab': HEAD + 'Transfer-Encoding:\x0bchunked\r\nContent-Length: 0\r\n\r\n',
    'a name with a blank': HEAD + 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
    'a folded field': HEAD + 'X: y\r\n Transfer-Encoding: chunked\r\n\r\n',
    'a bare CR': HEAD + 'X: y\rContent-Length: 0\r\n\r\n',
    'bare LFs': 'GET /v1/should-allow?key=a&route=many HTTP/1.1\nHost: x\n\n',
    'a chunk ended early': HEAD + 'Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n',
    'two Hosts': HEAD + 'Host: y\r\nContent-Length: 0\r\n\r\n',
    'gzip, chunked': HEAD + 'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
}
for name, text in SMUGGLED.items():
    got = talk(address, text + POST)
    assert got.count(b'HTTP/1.1 4') + got.count(b'HTTP/1.1 5') == 1, (name, got)
    assert b'HTTP/1.1 200' not in got and b'connection: close' in got, (name, got)

# Pipelines, whole and in pieces.
got = talk(address, POST * 5000 + HEAD + 'Connection: close\r\nContent-Length: 0\r\n\r\n')
assert got.count(b'HTTP/1.1 200 OK') == 5000
peer = socket.create_connection(address, timeout=10)
for byte in POST.encode():
    peer.sendall(bytes([byte]))
assert peer.recv(4096).startswith(b'HTTP/1.1 200 OK\r\n')

# A question that is not finished is cut off after the request time-out, and told why; idle connections stay.
idle = socket.create_connection(address, timeout=10)
start = time.monotonic()
got = talk(address, HEAD + 'Content-Length: 5\r\n\r\n{', half=False)
assert got.startswith(b'HTTP/1.1 408 '), got
assert 0.9 < time.monotonic() - start < 5
slow = socket.create_connection(address, timeout=10)
start = time.monotonic()
try:
    while time.monotonic() - start < 8:
        slow.sendall(b'a')
        time.sleep(0.2)
    raise AssertionError('a request that never ends was never cut off')
except (ConnectionError, BrokenPipeError):
    pass
idle.sendall(POST.encode())
assert idle.recv(4096).startswith(b'HTTP/1.1 200 OK\r\n')

# A peer that asks and does not read holds a bounded amount, and nobody else up.
before = sluiced.resident_bytes()
deaf = []
for _ in range(20):
    each = socket.create_connection(address)
    each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    each.setblocking(False)
    try:
        for _ in range(100):
            each.send(POST.encode() * 200)
    except BlockingIOError:
        pass
    deaf.append(each)
start = time.monotonic()
for _ in range(100):
    assert ask(address, 'b', 'many')[0] == 200
assert time.monotonic() - start < 10
grown = sluiced.resident_bytes() - before
assert grown < 64 << 20, grown
for each in deaf:
    each.close()

# A stop answers what was read, and an unfinished question is told.
half = socket.create_connection(address, timeout=10)
half.sendall(POST.encode() + HEAD.encode())
assert half.recv(65536).startswith(b'HTTP/1.1 200 OK\r\n')
code, seconds = sluiced.stop()
assert code == 0 and seconds < 6, (code, seconds)
got = half.recv(65536)
assert got.startswith(b'HTTP/1.1 503 '), got
print('ok')
