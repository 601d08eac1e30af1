"""The tool over every protocol: the same answers, errors and exit codes, over TLS, with tokens."""
import json
import os
import subprocess

from secure import BIN, Checks, Daemon, digest, need, path, self_signed, signed, write

need('openssl')
c = Checks()


def run(*args, token=None):
    environment = {k: v for k, v in os.environ.items() if not k.startswith('SLUICE_')}
    environment.update({'http_proxy': 'http://127.0.0.1:1', 'SLUICE_TOKEN': token or ''})
    done = subprocess.run([f'{BIN}/sluice', *args], capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, done.stdout, done.stderr


def url(daemon, scheme):
    protocol = {'https': 'http', 'grpcs': 'grpc'}.get(scheme, scheme)
    return '%s://localhost:%d' % (scheme, daemon.addresses[protocol][1])


daemon = Daemon()
for scheme in ('native', 'http', 'grpc', 'resp'):
    server = ('--server', url(daemon, scheme))
    key = f'{scheme} kéy'
    for remaining in (4, 3):
        code, out, err = run('ask', key, 'POST /login', *server)
        c.that(f'{scheme} allowed', (code, err) == (0, '') and out.startswith(f'allowed\nlimit: 5\nremaining: {remaining}\n')
               and 'reset_after: ' in out and out.endswith('limit_name: five\nreason: UNDER_LIMIT\n'), (code, out, err))
    code, out, err = run('ask', key, 'POST /login', '--cost', '4', '--json', *server)
    answer = json.loads(out)
    c.that(f'{scheme} refused', code == 3 and answer['allowed'] is False and answer['remaining'] == 3 and
           answer['reason'] == 'OVER_LIMIT' and answer['retry_after_ms'] > 10 ** 10, (code, out, err))
    code, out, err = run('ask', key, 'POST /login', '--cost', '9', *server)
    c.that(f'{scheme} never', code == 3 and out.startswith('refused: COST_EXCEEDS_LIMIT\n') and 'retry_after' not in out,
           (code, out, err))
    code, out, err = run('refund', key, 'POST /login', '--cost', '1', *server)
    c.that(f'{scheme} refund', code == 0 and 'remaining: 4\n' in out, (code, out, err))
    c.equal(f'{scheme} reset', run('reset', key, 'POST /login', *server), (0, 'counters: 1\n', ''))
    c.equal(f'{scheme} reset again', run('reset', key, 'POST /login', '--json', *server), (0, '{"counters":0}\n', ''))
    code, out, err = run('ask', key, 'GET /none', '--attribute', 'ip=192.0.2.7', *server)
    c.that(f'{scheme} no limit', code == 0 and out == 'allowed\nlimit: 999999999999999\nremaining: 999999999999999\n'
           'reason: NO_LIMIT\n', (code, out, err))
    code, out, err = run('ask', '', 'GET /', *server)
    c.that(f'{scheme} error', code == 1 and out == '' and 'INVALID_ARGUMENT' in err and 'key' in err, (code, out, err))
    code, out, err = run('ask', 'k' * 1025, 'GET /', *server)
    c.that(f'{scheme} long', code == 1 and 'INVALID_ARGUMENT' in err and 'key' in err, (code, out, err))
    code, out, err = run('ask', key, 'POST /login', '--details', *server)
    if scheme == 'resp':
        c.that('RESP has no details', code == 1 and 'no such question' in err, (code, out, err))
    else:
        c.that(f'{scheme} details', 'details: limit_name=five allowed=true limit=5 ' in out and
               ' algorithm=fixed_window\n' in out, (code, out, err))
    code, out, err = run('ask', key, 'GET /', '--server', f'{scheme}://127.0.0.1:1')
    c.that(f'{scheme} nobody', code == 1 and out == '' and '127.0.0.1' in err, (code, out, err))

# A bench counts what the daemon counted.
for scheme in ('native', 'http', 'grpc', 'resp'):
    code, out, err = run('bench', '--server', url(daemon, scheme), '--requests', '3000', '--warmup', '1ms', '--key-choice',
                         'one', '--route', 'POST /login', '--connections', '7', '--threads', '2', '--json')
    seen = json.loads(out or '{}')
    c.that(f'{scheme} bench', code == 0 and seen['requests'] == 3000 and seen['wrong'] == seen['missing'] == 0 and
           seen['allowed'] + seen['refused'] == 3000 and seen['allowed'] <= 5, (code, out, err))
    run('reset', 'key-0', 'POST /login', '--server', url(daemon, scheme))
    code, out, err = run('bench', '--server', url(daemon, scheme), '--rate', '1000', '--duration', '500ms', '--warmup', '1ms',
                         '--connections', '5', '--json')
    seen = json.loads(out or '{}')
    c.that(f'{scheme} bench at a rate', code == 0 and seen['allowed'] == seen['requests'] and 450 < seen['requests'] <= 501,
           (code, out, err))
    code, out, err = run('bench', '--server', f'{scheme}://127.0.0.1:1', '--duration', '300ms')
    c.that(f'{scheme} bench nobody', code == 1 and '127.0.0.1:1' in err, (code, out, err))
code, out, err = run('bench', '--server', url(daemon, 'resp'), '--requests', '20000', '--in-flight', '64', '--json')
c.that('resp bench of many', code == 0 and json.loads(out)['allowed'] == 20000, (code, out, err))
code, out, err = run('bench', '--server', url(daemon, 'grpc'), '--requests', '1000', '--batch', '10', '--json')
c.that('grpc bench of batches', code == 0 and json.loads(out)['allowed'] == 1000, (code, out, err))
for options in (('--server', url(daemon, 'http'), '--in-flight', '2'), ('--server', url(daemon, 'http'), '--batch', '2')):
    c.equal(f'bench {options[2]}', run('bench', *options)[0], 2)

# One protocol's client at another's listener says so and does not hang.
for scheme, listener in (('http', 'native'), ('grpc', 'resp'), ('resp', 'http'), ('native', 'http'), ('grpc', 'native')):
    code, out, err = run('ask', 'k', 'GET /', '--timeout', '2s', '--server',
                         '%s://127.0.0.1:%d' % (scheme, daemon.addresses[listener][1]))
    c.that(f'{scheme} at {listener}', code == 1 and out == '' and err.count('\n') == 1, (code, out, err))
for bad in ('resps://h:1', 'natives://h:1', 'ftp://h', 'http://', 'grpc://h:0'):
    code, out, err = run('ask', 'k', 'GET /', '--server', bad)
    c.that(bad, code == 2 and err.startswith('sluice ask: --server: '), (code, out, err))
daemon.stop()

# TLS, mutual, with tokens.
self_signed('ca.pem', 'ca-key.pem', 'a root')
self_signed('cert.pem', 'key.pem')
signed('peer.pem', 'peer-key.pem', 'ca.pem', 'ca-key.pem', 'gateway')
write('tokens', f'gateway: {digest("open sesame")} ask\n')
write('token', 'open sesame\n')
daemon = Daemon('--tls-cert', path('cert.pem'), '--tls-key', path('key.pem'), '--tls-client-ca', path('ca.pem'),
                '--tokens', path('tokens'))
trust, own = ('--cacert', path('cert.pem')), ('--cert', path('peer.pem'), '--key', path('peer-key.pem'))
for scheme in ('https', 'grpcs'):
    server = ('--server', url(daemon, scheme))
    c.equal(f'{scheme}', run('ask', 'k', 'GET /', *server, *trust, *own, '--token-file', path('token'))[0], 0)
    c.equal(f'{scheme} environment', run('ask', 'k', 'GET /', *server, *trust, *own, token='open sesame')[0], 0)
    code, out, err = run('ask', 'k', 'GET /', *server, *trust, *own)
    c.that(f'{scheme} no token', code == 1 and 'UNAUTHENTICATED' in err, (code, out, err))
    code, out, err = run('refund', 'k', 'GET /', *server, *trust, *own, token='open sesame')
    c.that(f'{scheme} no right', code == 1 and 'PERMISSION_DENIED' in err, (code, out, err))
    code, out, err = run('ask', 'k', 'GET /', *server, *trust)
    c.that(f'{scheme} no certificate', code == 1 and out == '', (code, out, err))
    code, out, err = run('ask', 'k', 'GET /', *server, *own)
    c.that(f'{scheme} not trusted', code == 1 and 'certificate' in err, (code, out, err))
daemon.stop()
daemon = Daemon('--tokens', path('tokens'))
for scheme in ('native', 'http', 'grpc', 'resp'):
    server = ('--server', url(daemon, scheme))
    c.equal(f'{scheme} token', run('ask', 'k', 'GET /', *server, token='open sesame')[0], 0)
    code, out, err = run('ask', 'k', 'GET /', *server)
    c.that(f'{scheme} without', code == 1 and 'UNAUTHENTICATED' in err, (code, out, err))
    code, out, err = run('ask', 'k', 'GET /', *server, token='wrong')
    c.that(f'{scheme} wrong', code == 1 and 'UNAUTHENTICATED' in err, (code, out, err))
code, out, err = run('ask', 'k', 'GET /', '--token-file', path('nowhere'))
c.that('no token file', code == 2 and 'nowhere' in err, (code, out, err))
daemon.stop()
c.done()
