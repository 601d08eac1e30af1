"""ask, refund, reset: what they print and how they exit."""
import json
import re
import socket
import time

from daemon import Checks, Daemon, run

checks = Checks()
daemon = Daemon()
server = daemon.url


def ask(*args):
    return run('ask', *args, server=server)


# An answer in words.
code, out, err = ask('alice', 'GET /thousand')
lines = out.splitlines()
checks.equal('allowed: exit', code, 0)
checks.equal('allowed: lines', [line.split(':')[0] for line in lines],
             ['allowed', 'limit', 'remaining', 'reset_after', 'limit_name', 'reason'])
checks.equal('allowed: numbers', lines[1:3] + lines[4:], ['limit: 1000', 'remaining: 999', 'limit_name: thousand',
                                                         'reason: UNDER_LIMIT'])
checks.that('allowed: seconds', re.fullmatch(r'reset_after: \d+(\.\d{1,9})?s', lines[3]), lines[3])
checks.equal('allowed: stderr', err, '')

codes = [ask('alice', 'POST /login')[0] for _ in range(7)]
checks.equal('5 pass', codes, [0, 0, 0, 0, 0, 3, 3])
code, out, err = ask('alice', 'POST /login', '--details')
lines = out.splitlines()
checks.equal('refused: first line', lines[0], 'refused: OVER_LIMIT')
checks.equal('refused: exit', code, 3)
checks.equal('refused: lines', [line.split(':')[0] for line in lines],
             ['refused', 'limit', 'remaining', 'retry_after', 'reset_after', 'limit_name', 'reason', 'details',
              'details'])
checks.that('refused: a row', re.fullmatch(
    r'details: limit_name=login allowed=false limit=5 remaining=0 retry_after=\S+s reset_after=\S+s shadow=false '
    r'window=3600s algorithm=sliding_window_log', lines[7]), lines[7])
checks.that('refused: the shadow row', 'limit_name=shadow allowed=false limit=3 remaining=0' in lines[8]
            and 'shadow=true' in lines[8], lines[8])

code, out, err = ask('alice', 'GET /paced')
code, out, err = ask('alice', 'GET /paced')
checks.that('a delay', re.search(r'^reset_after: \S+\ndelay: (9\.\d+|10)s\nlimit_name: paced$', out, re.M), out)
code, out, err = ask('alice', 'GET /closed')
checks.equal('never', (code, 'retry_after' in out), (3, False))
checks.equal('never: first line', out.splitlines()[0], 'refused: COST_EXCEEDS_LIMIT')
code, out, err = ask('alice', 'GET /nothing')
checks.equal('no limit', out, 'allowed\nlimit: 999999999999999\nremaining: 999999999999999\nreason: NO_LIMIT\n')

# JSON: the HTTP API's members in its order.
code, out, err = ask('alice', 'POST /login', '--details', '--json')
answer = json.loads(out)
checks.equal('json: exit', code, 3)
checks.equal('json: one line', out.count('\n'), 1)
checks.equal('json: members', list(answer), ['allowed', 'limit', 'remaining', 'retry_after_ms', 'reset_after_ms',
                                             'limit_name', 'reason', 'details'])
checks.equal('json: row', list(answer['details'][0]), ['limit_name', 'allowed', 'limit', 'remaining', 'retry_after_ms',
                                                       'reset_after_ms', 'shadow', 'window_ms', 'algorithm'])
checks.equal('json: values', (answer['allowed'], answer['limit'], answer['remaining'], answer['reason']),
             (False, 5, 0, 'OVER_LIMIT'))
checks.that('json: ms', 0 < answer['retry_after_ms'] <= 3600000, answer)
checks.that('json: never is null', json.loads(ask('a', 'GET /closed', '--json')[1])['retry_after_ms'] is None)
answer = json.loads(ask('alice', 'GET /paced', '--json')[1])
checks.equal('json: with a delay', list(answer), ['allowed', 'limit', 'remaining', 'reset_after_ms', 'delay_ms',
                                                  'limit_name', 'reason'])
checks.that('json: delay', 19000 < answer['delay_ms'] <= 20000, answer)
checks.equal('json: no limit', ask('alice', 'GET /nothing', '--json')[1],
             '{"allowed":true,"limit":999999999999999,"remaining":999999999999999,"reason":"NO_LIMIT"}\n')

# Costs, looks, attributes, bytes.
checks.equal('the route\'s cost', json.loads(ask('dear', 'GET /dear', '--json')[1])['remaining'], 990)
checks.equal('a cost', json.loads(ask('dear', 'GET /dear', '--cost', '7', '--json')[1])['remaining'], 983)
for _ in range(2):
    checks.equal('a look', json.loads(ask('dear', 'GET /dear', '--cost=0', '--json')[1])['remaining'], 983)
checks.equal('an attribute', [ask('x', 'GET /address', '--attribute', 'ip=192.0.2.7')[0] for _ in range(3)], [0, 0, 3])
checks.equal('another', ask('x', 'GET /address', '--attribute', 'ip=a=b')[0], 0)
checks.equal('an empty value', ask('x', 'GET /address', '--attribute', 'ip=')[0], 0)
checks.equal('a key that begins with a dash', json.loads(
    ask('--json', '--', '-k', 'GET /thousand')[1])['remaining'], 999)
checks.equal('keys are not trimmed', [json.loads(ask(key, 'GET /thousand', '--json')[1])['remaining']
                                      for key in ('k', ' k', 'k ', 'K', 'k')], [999, 999, 999, 999, 998])

# Errors of the daemon: on stderr, exit 1, nothing on stdout.
for args, words in ((('', 'r'), ('INVALID_ARGUMENT', 'key')), (('k', ''), ('INVALID_ARGUMENT', 'route')),
                    (('k' * 1025, 'r'), ('key',)), (('k', 'GET /address'), ('attributes.ip',)),
                    ((b'\xff', 'r'), ('key', 'UTF-8')), (('k', 'r', '--attribute', 'key=x'), ('attributes',))):
    code, out, err = ask(*args)
    checks.that(f'error {args[:2]!r}', code == 1 and out == '' and all(word in err for word in words),
                (code, out, err))

# Used wrongly: exit 2.
for args in ((), ('k',), ('k', 'r', 'more'), ('k', 'r', '--cost', '-1'), ('k', 'r', '--cost', '1.5'),
             ('k', 'r', '--cost', '9223372036854775808'), ('k', 'r', '--attribute', 'ip'), ('k', 'r', '--nothing'),
             ('k', 'r', '--server', 'resps://127.0.0.1:1'), ('k', 'r', '--server', 'nonsense'),
             ('k', 'r', '--timeout', '5'), ('k', 'r', '--timeout', '0s'), ('k', 'r', '--attribute', '=x')):
    code, out, err = ask(*args)
    checks.that(f'used wrongly {args}', code == 2 and out == '' and err.count('\n') >= 1, (code, out, err))
checks.that('a protocol of later', 'resps is not in this build' in ask('k', 'r', '--server', 'resps://x')[2])
checks.equal('the largest cost', ask('k', 'GET /thousand', '--cost', '9223372036854775807')[0], 3)

# Where the daemon is.
unix = f'unix:{daemon.socket}'
checks.equal('--server wins', run('ask', 'u', 'GET /thousand', '--server', server, server='native://127.0.0.1:1')[0], 0)
checks.equal('a Unix socket', run('ask', 'u', 'GET /thousand', '--json', server=unix)[1].split(',')[2],
             '"remaining":998')
checks.equal('unix://', run('ask', 'u', 'GET /thousand', '--server', 'unix://' + daemon.socket)[0], 0)
code, out, err = run('ask', 'u', 'r', '--server', 'native://127.0.0.1:1')
checks.that('nobody there', code == 1 and out == '' and 'refused' in err, (code, out, err))
with socket.socket() as silent:
    silent.bind(('127.0.0.1', 0))
    silent.listen()
    start = time.monotonic()
    code, out, err = run('ask', 'u', 'r', '--timeout', '200ms', '--server', 'native://127.0.0.1:%d' % silent.getsockname()[1])
    took = time.monotonic() - start
checks.that('a silent server', code == 1 and 'no answer within 200 ms' in err and .2 <= took < 2, (code, err, took))

# Refund and reset.
code, out, err = run('refund', 'alice', 'POST /login', '--cost', '2', server=server)
checks.equal('refund', (code, out.splitlines()[0], out.splitlines()[2]), (0, 'allowed', 'remaining: 2'))
checks.equal('refund: json', json.loads(run('refund', 'alice', 'POST /login', '--json', server=server)[1])['remaining'], 3)
checks.equal('refund of a closed route: exit 0 whatever it says', run('refund', 'a', 'GET /closed', server=server)[0], 0)
# The refunds emptied the shadow counter: as if never used.
checks.equal('reset', run('reset', 'alice', 'POST /login', server=server), (0, 'counters: 1\n', ''))
ask('bob', 'POST /login')
checks.equal('reset of two', run('reset', 'bob', 'POST /login', server=server), (0, 'counters: 2\n', ''))
checks.equal('reset again', run('reset', 'alice', 'POST /login', '--json', server=server), (0, '{"counters":0}\n', ''))
checks.equal('after it', json.loads(ask('alice', 'POST /login', '--json')[1])['remaining'], 4)
code, out, err = run('reset', '', 'r', server=server)
checks.that('reset: error', code == 1 and out == '' and 'key' in err, (code, out, err))
checks.equal('reset takes no cost', run('reset', 'k', 'r', '--cost', '1', server=server)[0], 2)

daemon.stop()
code, out, err = ask('alice', 'POST /login')
checks.that('stopped', code == 1 and out == '' and err, (code, out, err))
checks.done()
