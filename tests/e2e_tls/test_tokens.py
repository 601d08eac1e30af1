"""Tokens: each protocol's way to show one, each right, each refusal, and a file that changes."""
import subprocess
import time

from secure import BIN, Checks, Daemon, ask_native, connect, digest, frame, path, read_frame, write

ASK, REFUND, ADMIN = 'ask-secret', 'refund secret', 'admin-secret'
FILE = f'''# who may what
gateway: {digest(ASK)} ask
billing: {digest(REFUND).upper()} ask, refund

console:   {digest(ADMIN)}   admin
'''
c = Checks()
write('tokens', FILE)
daemon = Daemon('--tokens', path('tokens'))
UNAUTHENTICATED, DENIED, ERROR = b'\x08\x10', b'\x08\x07', 15


def native(*tokens, protocol='native'):
    """A connection that has shown tokens, and what was said to each."""
    peer = connect(daemon.addresses[protocol])
    said = []
    for token in tokens:
        data = token.encode()
        peer.sendall(frame(9, 10, bytes([10, len(data)]) + data))
        said.append(read_frame(peer)[1])
    return peer, said


def change(peer, field):
    peer.sendall(frame(3, field, b'\x0a\x01k\x12\x05GET /'))
    return read_frame(peer)


# Native.
peer, _ = native()
for field, body in ((2, b'\x0a\x01k\x12\x05GET /'), (3, b'\x0a\x0a\x0a\x01k\x12\x05GET /'), (4, b'\x0a\x01k\x12\x05GET /'),
                    (6, b""), (7, b"")):
    peer.sendall(frame(7, field, body))
    number, kind, said = read_frame(peer)
    c.equal(f'nothing shown: {field}', (number, kind, said[:2]), (7, ERROR, UNAUTHENTICATED))
peer, said = native('wrong', ASK)
c.equal('wrong, then right', said, [ERROR, 10])
c.equal('may ask', ask_native(peer)[:2], (1, 2))
c.equal('may not refund', change(peer, 4)[1:][1][:2], DENIED)
c.equal('may not reset', change(peer, 5)[2][:2], DENIED)
auth = ASK.encode()
peer.sendall(frame(1, 10, b'\x0a\x01x') + frame(2, 2, b'\x0a\x01k\x12\x05GET /') + frame(3, 10, bytes([10, len(auth)]) + auth)
             + frame(4, 2, b'\x0a\x01k\x12\x05GET /'))
c.equal('glued', [read_frame(peer)[:2] for _ in range(4)], [(1, ERROR), (2, ERROR), (3, 10), (4, 2)])
peer, said = native(REFUND)
c.equal('may refund and reset', (change(peer, 4)[1], change(peer, 5)[1]), (4, 5))
peer, said = native(ADMIN, protocol='admin')
peer.sendall(frame(5, 7, b''))
c.that('may have the metrics', b'sluice_' in peer.recv(4096) or b'sluice_' in peer.recv(4096))
c.equal('an administrator may not ask', ask_native(native(ADMIN)[0])[2][:2], DENIED)
peer, said = native(ASK, protocol='admin')
peer.sendall(frame(5, 8, b''))
c.equal('a gateway may not reload', read_frame(peer)[2][:2], DENIED)


# HTTP of both versions.
def curl(target, *options, protocol='http'):
    """status, headers, body"""
    host, port = daemon.addresses[protocol]
    done = subprocess.run(['curl', '-sS', '-i', *options, f'http://{host}:{port}{target}'], capture_output=True,
                          text=True, timeout=20)
    head, _, body = done.stdout.partition('\r\n\r\n')
    return int(head.split()[1]), head.lower(), body


def bearer(token, word='Bearer'):
    return '-H', f'Authorization: {word} {token}'


LOOK = '/v1/should-allow?key=k&route=GET%20/'
BODY = ('-H', 'Content-Type: application/json', '-d', '{"key":"k","route":"GET /"}')
have_curl = subprocess.run(['which', 'curl'], capture_output=True).returncode == 0
for version in ('--http1.1', '--http2-prior-knowledge') if have_curl else ():
    status, head, body = curl(LOOK, version)
    c.that(f'{version} nothing shown', status == 401 and 'www-authenticate: bearer' in head and 'problem+json' in head,
           (status, head, body))
    c.equal(f'{version} wrong', curl(LOOK, version, *bearer('wrong'))[0], 401)
    c.equal(f'{version} other scheme', curl(LOOK, version, *bearer(ASK, 'Basic'))[0], 401)
    c.equal(f'{version} twice', curl(LOOK, version, *bearer(ASK), *bearer(ASK))[0], 401)
    c.equal(f'{version} right', curl(LOOK, version, *bearer(ASK, 'bEARER'))[0], 200)
    c.equal(f'{version} auth', curl('/v1/auth?route=GET%20/', version, '-H', 'X-Sluice-Key: k', *bearer(ASK))[0], 200)
    c.equal(f'{version} refund', curl('/v1/refund', version, *BODY, *bearer(ASK))[0], 403)
    c.equal(f'{version} refund', curl('/v1/refund', version, *BODY, *bearer(REFUND))[0], 200)
    c.equal(f'{version} reset', curl('/v1/reset', version, *BODY)[0], 401)
    c.equal(f'{version} admin may not ask', curl(LOOK, version, *bearer(ADMIN))[0], 403)
    c.equal(f'{version} health', curl('/healthz', version, protocol='admin')[0], 200)
    c.equal(f'{version} metrics', [curl('/metrics', version, *options, protocol='admin')[0]
                                   for options in ((), bearer(ASK), bearer(ADMIN))], [401, 403, 200])

# gRPC.
try:
    import grpc
except ImportError:
    grpc = None
if grpc:
    channel = grpc.insecure_channel('%s:%d' % daemon.addresses['grpc'])

    def call(method, token=None, body=b'\x0a\x01k\x12\x05GET /'):
        ask = channel.unary_unary(method, request_serializer=lambda x: x, response_deserializer=lambda x: x)
        try:
            ask(body, timeout=10, metadata=(('authorization', f'Bearer {token}'),) if token else None)
            return 'OK'
        except grpc.RpcError as error:
            return error.code().name

    for method in ('ShouldAllow', 'Refund', 'Reset'):
        c.equal(f'gRPC {method}', [call(f'/sluice.v1.RateLimiter/{method}', token) for token in
                                   (None, 'wrong', ADMIN, ASK, REFUND)],
                ['UNAUTHENTICATED'] * 2 + ['PERMISSION_DENIED', 'OK' if method == 'ShouldAllow' else 'PERMISSION_DENIED',
                                           'OK'])
    c.equal('health asks for none', call('/grpc.health.v1.Health/Check', body=b''), 'OK')
    c.equal('Envoy is asked', call('/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'), 'UNAUTHENTICATED')


# RESP.
def resp(peer, *lines):
    """The first line of each answer; answers are short."""
    peer.sendall(b''.join(line.encode() + b'\r\n' for line in lines))
    file = peer.makefile('rb')
    answers = []
    for _ in lines:
        first = file.readline().decode().strip()
        answers.append(first)
        if first[:1] in '*%':
            for _ in range(int(first[1:]) * (2 if first[0] == '%' else 1)):
                row = file.readline()
                if row[:1] == b'$':
                    file.readline()
    return answers


with connect(daemon.addresses['resp']) as peer:
    for line in ('PING', 'CL.THROTTLE k 4 1 60', 'SLUICE.ALLOW k "GET /"', 'DEL k', 'NONSENSE', 'HELLO 3'):
        c.that(f'{line} without', resp(peer, line)[0].startswith('-NOAUTH '), line)
    c.that('wrong', resp(peer, 'AUTH wrong')[0].startswith('-WRONGPASS '))
    c.that('wrong in HELLO', resp(peer, 'HELLO 3 AUTH default wrong')[0].startswith('-WRONGPASS '))
    c.equal('right', resp(peer, f'AUTH {ASK}', 'PING', 'CL.THROTTLE k 4 1 60', 'SLUICE.ALLOW k "GET /"'),
            ['+OK', '+PONG', '*5', '*8'])
    c.that('no right', all(a.startswith('-NOPERM ') for a in resp(peer, 'DEL k', 'SLUICE.RESET k "GET /"')))
    c.equal('a user may stand before it', resp(peer, f'AUTH default "{REFUND}"', 'DEL k'), ['+OK', ':1'])
    c.that('an administrator', resp(peer, f'AUTH {ADMIN}', 'SLUICE.ALLOW k "GET /"')[1].startswith('-NOPERM '))
    c.equal('RESET forgets', [a.split()[0] for a in resp(peer, 'RESET', 'PING')], ['+RESET', '-NOAUTH'])
    c.equal('HELLO with it', resp(peer, f'HELLO 2 AUTH default {ASK}', 'PING')[0][:1], '*')

# The file changes: what was taken away is void on connections, too; a bad file changes nothing.
kept, _ = native(ASK)
lost, _ = native(REFUND)
write('tokens', f'gateway: {digest(ASK)} ask\nnewcomer: {digest("fresh")} ask,refund\n')
daemon.reload()
deadline = time.time() + 10
while native('fresh')[1] != [10] and time.time() < deadline:
    time.sleep(0.05)
c.equal('the newcomer', native('fresh')[1], [10])
c.equal('who stays', ask_native(kept)[1], 2)
c.equal('who went', ask_native(lost)[2][:2], UNAUTHENTICATED)
write('tokens', 'gateway: 1234 ask\n')
daemon.reload()
deadline = time.time() + 10
while 'tokens:1: expected the SHA-256' not in daemon.said() and time.time() < deadline:
    time.sleep(0.05)
c.that('a bad file is said', 'tokens:1: expected the SHA-256' in daemon.said(), daemon.said())
c.equal('and not taken', ask_native(kept)[1], 2)
for secret in (ASK, REFUND, ADMIN, 'fresh'):
    c.that('no token in the log', secret not in daemon.said())
c.equal('exit', daemon.stop(), 0)

# A start with a file that cannot be taken.
for text, word in (('x\n', ':1: expected NAME'), (f'a b: {digest("x")} ask', ':1: a name'),
                   (f'a: {digest("x")}', ':1: expected rights'), (f'a: {digest("x")} ask fly', ':1: a right'),
                   (f'a: {digest("x")} ask\na: {digest("y")} ask', ':2: a name stands'),
                   (f'a: {digest("x")} ask\nb: {digest("x")} ask', ':2: a token stands'),
                   (''.join(f'n{i}: {digest(str(i))} ask\n' for i in range(1025)), ':1025: at most 1024')):
    done = subprocess.run([f'{BIN}/sluiced', '--limits', path('limits.yaml'), '--no-state', '--listen',
                           'native=127.0.0.1:0', '--tokens', write('bad', text)], capture_output=True, text=True, timeout=20)
    c.that(word, done.returncode == 1 and word in done.stderr and done.stderr.count('\n') == 1,
           (done.returncode, done.stderr))

# Who listens to other machines is told.
for options, word in (((), 'without --tokens'), (('--tokens', write('good', FILE)), 'without --tls-cert')):
    daemon = Daemon('--listen=native=0.0.0.0:0', *options)
    c.equal('exit', daemon.stop(), 0)
    c.equal('warned once', daemon.said().count(word), 1)
daemon = Daemon()
daemon.stop()
c.that('on loopback nothing is said', 'without --t' not in daemon.said(), daemon.said())
c.done()
