"""redis-py with its defaults, of two generations: 8.1 insists on RESP3, 5.3 speaks RESP2."""
import json
import os
import subprocess

import resp
from native import main

SCRIPT = r'''
import json, sys, redis
port = int(sys.argv[1])
out = {'version': redis.__version__}
client = redis.Redis(port=port)
out['throttle'] = client.execute_command('CL.THROTTLE', 'py' + redis.__version__, 4, 10, 50)
out['ping'] = client.ping()
pipe = client.pipeline(transaction=False)
for _ in range(100):
    pipe.execute_command('CL.THROTTLE', 'pipe' + redis.__version__, 999, 1, 3600)
out['pipeline'] = [reply[2] for reply in pipe.execute()]
out['allow'] = [str(x, 'utf-8') if isinstance(x, bytes) else x
                for x in client.execute_command('SLUICE.ALLOW', redis.__version__, 'GET /once')]
out['refused'] = client.execute_command('SLUICE.ALLOW', redis.__version__, 'GET /once')[0]
try:
    client.execute_command('CL.THROTTLE', 'k', 4, 0, 50)
except redis.ResponseError as error:
    out['error'] = str(error)
out['deleted'] = client.delete('py' + redis.__version__)
both = {}
for protocol in (2, 3):
    other = redis.Redis(port=port, protocol=protocol, client_name='tester', decode_responses=True)
    both[protocol] = [other.client_getname(), other.echo('x'), other.execute_command('CL.THROTTLE', 'p%d' % protocol, 0, 1, 9)]
out['both'] = both
print(json.dumps(out))
'''


def check(version):
    python = os.path.join(resp.CACHE, f'redis-py-{version}', 'bin', 'python')
    daemon = resp.daemon()
    done = subprocess.run([python, '-c', SCRIPT, str(daemon.addresses[0][1])], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert got['version'] == version
    assert got['throttle'] == [0, 5, 4, -1, 5], got
    assert got['ping'] is True
    assert got['pipeline'] == list(range(999, 899, -1)), got
    assert got['allow'][:3] == [1, 1, 0] and got['allow'][5:] == [0, 'once', 'UNDER_LIMIT'], got
    assert got['refused'] == 0
    assert got['error'].startswith('count: '), got
    assert got['deleted'] == 1
    assert got['both'] == {'2': ['tester', 'x', [0, 1, 0, -1, 9]], '3': ['tester', 'x', [0, 1, 0, -1, 9]]}, got


def test_redis_py_8():
    check('8.1.0')


def test_redis_py_5():
    check('5.3.0')


if not all(os.path.exists(os.path.join(resp.CACHE, f'redis-py-{version}', 'ready')) for version in ('8.1.0', '5.3.0')):
    resp.skip('redis-py is not installed (tests/e2e_resp/install)')
main(globals())
