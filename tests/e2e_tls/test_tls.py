"""TLS on every listener: versions, ALPN, strangers, mutual TLS, certificates replaced under load."""
import os
import socket
import ssl
import subprocess
import threading
import time

from secure import (BIN, Checks, Daemon, ask_native, connect, need, openssl, path, read_frame, self_signed, signed,
                    trusting, write)

need('openssl')
c = Checks()
self_signed('cert.pem', 'key.pem')
TLS = ('--tls-cert', path('cert.pem'), '--tls-key', path('key.pem'))
daemon = Daemon(*TLS)
trust = trusting('cert.pem')


def http(peer, target='/v1/should-allow?key=a&route=GET%20/', host='localhost'):
    peer.sendall(f'GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode())
    return peer.recv(4096)


# Each protocol.
with connect(daemon.addresses['native'], trust) as peer:
    c.equal('native', ask_native(peer)[:2], (1, 2))
    c.equal('native has no ALPN', peer.selected_alpn_protocol(), None)
with connect(daemon.addresses['http'], trust) as peer:
    c.that('HTTP', http(peer).startswith(b'HTTP/1.1 200 '))
with connect(daemon.addresses['admin'], trust) as peer:
    c.that('admin', http(peer, '/healthz').startswith(b'HTTP/1.1 200 '))
with connect(daemon.addresses['resp'], trust) as peer:
    peer.sendall(b'PING\r\n' * 3000)
    got = b''
    while len(got) < 7 * 3000:
        got += peer.recv(65536)
    c.equal('RESP, many at once', got, b'+PONG\r\n' * 3000)
with socket.socket(socket.AF_UNIX) as peer:
    peer.connect(path('socket'))
    c.equal('a Unix socket stays plain', ask_native(peer)[:2], (1, 2))

# A request in pieces as small as they come, and one larger than a record.
with connect(daemon.addresses['http'], trust) as peer:
    for byte in b'GET /v1/should-allow?key=a&route=GET%20/ HTTP/1.1\r\nHost: x\r\n\r\n':
        peer.sendall(bytes([byte]))
    c.that('a byte a record', peer.recv(4096).startswith(b'HTTP/1.1 200 '))
    body = b'{"requests":[' + b','.join(b'{"key":"%05d","route":"GET /"}' % i for i in range(1000)) + b']}'
    body += b' ' * (200_000 - len(body))
    peer.sendall(b'POST /v1/should-allow-batch HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
    got = b''
    while b'\r\n\r\n' not in got:
        got += peer.recv(65536)
    head, _, rest = got.partition(b'\r\n\r\n')
    length = int(head.lower().split(b'content-length: ')[1].split(b'\r\n')[0])
    while len(rest) < length:
        rest += peer.recv(65536)
    c.equal('a batch of many records', rest.count(b'"response"'), 1000)

# A peer that sends and does not read is not read from, and gets everything in the end.
with connect(daemon.addresses['resp'], trust) as peer:
    count = 200_000
    done = []

    def pour():
        peer.sendall(b'*2\r\n$4\r\nECHO\r\n$64\r\n' + b'e' * 64 + b'\r\n')
        for _ in range(count // 1000):
            peer.sendall((b'*2\r\n$4\r\nECHO\r\n$64\r\n' + b'e' * 64 + b'\r\n') * 1000)
        done.append(True)

    poured = threading.Thread(target=pour)
    poured.start()
    time.sleep(0.5)
    left = (count + 1) * 71
    while left > 0:
        left -= len(peer.recv(1 << 16))
    poured.join()
    c.equal('answers to a slow reader', (left, done), (0, [True]))

# ALPN.
for offered, chosen in ((['h2', 'http/1.1'], 'h2'), (['http/1.1'], 'http/1.1')):
    for protocol in ('http', 'grpc'):
        with connect(daemon.addresses[protocol], trusting('cert.pem', offered)) as peer:
            c.equal(f'ALPN {protocol} {offered}', peer.selected_alpn_protocol(), chosen)
try:
    connect(daemon.addresses['http'], trusting('cert.pem', ['spdy/3'])).close()
    c.that('an unknown ALPN is refused', False)
except ssl.SSLError as error:
    c.that('an unknown ALPN is refused', 'no application protocol' in str(error).lower().replace('_', ' '), str(error))

# Versions.
for version, name in ((ssl.TLSVersion.TLSv1_2, 'TLSv1.2'), (ssl.TLSVersion.TLSv1_3, 'TLSv1.3')):
    context = trusting('cert.pem')
    context.minimum_version = context.maximum_version = version
    with connect(daemon.addresses['native'], context) as peer:
        c.equal('version', (peer.version(), ask_native(peer)[1]), (name, 2))
old = subprocess.run(['openssl', 's_client', '-connect', 'localhost:%d' % daemon.addresses['native'][1], '-tls1_1',
                      '-cipher', 'ALL:@SECLEVEL=0'], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
c.that('TLS 1.1 is refused', old.returncode != 0 and b'alert' in old.stderr, old.stderr)
new = subprocess.run(['openssl', 's_client', '-connect', 'localhost:%d' % daemon.addresses['http'][1], '-CAfile',
                      path('cert.pem'), '-verify_return_error', '-alpn', 'h2'],
                     stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
c.that('s_client', new.returncode == 0 and b'ALPN protocol: h2' in new.stdout, new.stderr)

# Strangers on a TLS port are let go; others are served meanwhile.
for what, data in (('HTTP', b'GET / HTTP/1.1\r\nHost: x\r\n\r\n'), ('a frame', b'\x05\x08\x01\x12\x01\x00'),
                   ('noise', os.urandom(3000)), ('a long record', b'\x16\x03\x01\xff\xff' + b'x' * 70000)):
    with connect(daemon.addresses['http']) as peer:
        try:
            peer.sendall(data)
            while peer.recv(4096):
                pass
            ended = True
        except ConnectionError:
            ended = True
        except socket.timeout:
            ended = False
        c.that(f'plain {what} ends', ended)
with connect(daemon.addresses['http'], trust) as peer:
    c.that('still there', http(peer).startswith(b'HTTP/1.1 200 '))
    plain = peer.unwrap()
    c.equal('a farewell is answered, then the end', plain.recv(10), b'')
with connect(daemon.addresses['http'], trust) as peer:
    peer.sendall(b'GET / HTTP/9.9\r\n\r\n')
    got = b''
    piece = peer.recv(4096)
    while piece:
        got += piece
        piece = peer.recv(4096)
    c.that('a refusal, then a farewell', got.startswith(b'HTTP/1.1 '), got)

# Certificates are replaced while connections ask.
with connect(daemon.addresses['native'], trust) as peer:
    stop = threading.Event()
    answers = [0, 0]

    def load():
        while not stop.is_set():
            answers[0] += 1
            answers[1] += ask_native(peer)[1] == 2

    loader = threading.Thread(target=load)
    loader.start()
    before = ssl.get_server_certificate(daemon.addresses['http'])
    self_signed('cert2.pem', 'key2.pem')
    os.replace(path('key2.pem'), path('key.pem'))
    os.replace(path('cert2.pem'), path('cert.pem'))
    deadline = time.time() + 20
    while ssl.get_server_certificate(daemon.addresses['http']) == before and time.time() < deadline:
        time.sleep(0.1)
    c.that('the new certificate', ssl.get_server_certificate(daemon.addresses['http']) != before)
    with connect(daemon.addresses['http'], trusting('cert.pem')) as other:
        c.that('is trusted', http(other).startswith(b'HTTP/1.1 200 '))
    stop.set()
    loader.join()
    c.that('no question was lost', answers[0] > 0 and answers[0] == answers[1], answers)
write('key.pem', 'nonsense\n')
daemon.reload()
deadline = time.time() + 20
while 'what was in force stays' not in daemon.said() and time.time() < deadline:
    time.sleep(0.1)
c.that('a bad key is said', 'what was in force stays' in daemon.said(), daemon.said())
with connect(daemon.addresses['http'], trusting('cert.pem')) as peer:
    c.that('and the old one stays', http(peer).startswith(b'HTTP/1.1 200 '))

# A handshake that is never finished.
with connect(daemon.addresses['native']) as peer:
    c.equal('the stop', daemon.stop(), 0)
    c.equal('lets it go', peer.recv(1), b'')

self_signed('cert.pem', 'key.pem')
daemon = Daemon(*TLS, '--request-timeout', '300ms')
begun = time.time()
with connect(daemon.addresses['native']) as peer:
    peer.sendall(b'\x16\x03\x01')
    c.equal('a slow handshake ends', peer.recv(1), b'')
    c.that('in time', 0.2 < time.time() - begun < 5)
with connect(daemon.addresses['native'], trusting('cert.pem')) as peer:
    peer.sendall(b'\x7f')
    number, field, body = read_frame(peer)
    c.equal('a slow request is told', (number, field), (0, 15))
c.equal('exit', daemon.stop(), 0)

# Mutual TLS.
self_signed('ca.pem', 'ca-key.pem', 'a root')
signed('peer.pem', 'peer-key.pem', 'ca.pem', 'ca-key.pem', 'gateway')
self_signed('alien.pem', 'alien-key.pem', 'alien')
daemon = Daemon(*TLS, '--tls-client-ca', path('ca.pem'))
for _ in range(2):
    with connect(daemon.addresses['native'], trusting('cert.pem', chain=('peer.pem', 'peer-key.pem'))) as peer:
        c.equal('a peer with a certificate', ask_native(peer)[1], 2)
for chain in (None, ('alien.pem', 'alien-key.pem')):
    try:
        with connect(daemon.addresses['native'], trusting('cert.pem', chain=chain)) as peer:
            ask_native(peer)
        c.that(f'{chain} is refused', False)
    except (ssl.SSLError, ConnectionError, EOFError) as error:
        c.that(f'{chain} is refused', True, str(error))
context = trusting('cert.pem', chain=('peer.pem', 'peer-key.pem'))
context.maximum_version = ssl.TLSVersion.TLSv1_2
with connect(daemon.addresses['native'], context) as peer:
    session = peer.session
    ask_native(peer)
plain = socket.create_connection(daemon.addresses['native'], 10)
with context.wrap_socket(plain, server_hostname='localhost', session=session) as peer:
    c.equal('a session goes on', (ask_native(peer)[1], peer.session_reused), (2, True))
c.equal('exit', daemon.stop(), 0)

# Used wrongly.
write('broken.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
self_signed('other.pem', 'other-key.pem')
openssl('ec', '-in', path('other-key.pem'), '-aes128', '-passout', 'pass:secret', '-out', path('locked.pem'))
for options, code, word in ((('--tls-cert', path('cert.pem')), 2, '--tls-key'),
                            (('--tls-client-ca', path('ca.pem')), 2, '--tls-client-ca'),
                            (('--tls-cert', path('none.pem'), '--tls-key', path('key.pem')), 1, 'none.pem'),
                            (('--tls-cert', path('broken.pem'), '--tls-key', path('key.pem')), 1, 'broken.pem'),
                            (('--tls-cert', path('cert.pem'), '--tls-key', path('other-key.pem')), 1, 'other-key.pem'),
                            (('--tls-cert', path('other.pem'), '--tls-key', path('locked.pem')), 1, 'pass phrase'),
                            ((*TLS, '--tls-client-ca', path('key.pem')), 1, 'key.pem')):
    done = subprocess.run([f'{BIN}/sluiced', '--limits', path('limits.yaml'), '--no-state', '--listen',
                           'native=127.0.0.1:0', *options], capture_output=True, text=True, timeout=20,
                          stdin=subprocess.DEVNULL)
    c.that(f'{options}', done.returncode == code and word in done.stderr and done.stderr.count('\n') == 1,
           (done.returncode, done.stderr))
c.done()
