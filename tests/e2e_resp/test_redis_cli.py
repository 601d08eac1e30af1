"""redis-cli and redis-benchmark, with their defaults and in both versions of the protocol."""
import re
import shutil
import subprocess

import resp
from native import main

if not shutil.which('redis-cli') or not shutil.which('redis-benchmark'):
    resp.skip('redis-cli and redis-benchmark are not installed')

DAEMON = resp.daemon()
PORT = str(DAEMON.addresses[0][1])


def run(program, *options, stdin=None):
    return subprocess.run([program, '-p', PORT, *options], capture_output=True, text=True, timeout=60, input=stdin,
                          check=False)


def test_one_command_in_both_versions():
    for key, options in (('two', ()), ('three', ('-3',))):
        done = run('redis-cli', *options, 'CL.THROTTLE', key, '4', '10', '50')
        assert done.stdout.split() == ['0', '5', '4', '-1', '5'] and done.stderr == '', (options, done)


def test_a_password_and_a_database():
    done = run('redis-cli', '-a', 'secret', '--no-auth-warning', '-n', '0', 'PING')
    assert done.stdout == 'PONG\n' and done.stderr == '', done


def test_a_session():
    lines = ['PING', 'CL.THROTTLE s 4 10 50', 'FLY', 'SLUICE.ALLOW alice "GET /once"',
             'SLUICE.ALLOW alice "GET /once"', 'DEL s', 'INFO', 'QUIT']
    done = run('redis-cli', stdin='\n'.join(lines) + '\n')
    assert done.stdout.startswith('PONG\n0\n5\n4\n-1\n5\n'), done
    assert "ERR unknown command 'FLY'" in done.stdout, done
    assert 'UNDER_LIMIT' in done.stdout and 'OVER_LIMIT' in done.stdout and 'loading:0' in done.stdout, done


def test_benchmark():
    for options in (('-c', '1'), ('-c', '10', '-P', '32'), ('-3', '-c', '4', '-P', '16')):
        done = run('redis-benchmark', '-n', '3200', '-q', '-r', '100', *options, 'CL.THROTTLE', 'key__rand_int__', '9',
                   '1', '1')
        said = done.stdout + done.stderr
        assert done.returncode == 0 and 'rror' not in said and 'WARNING' not in said, said
        assert re.search(r'requests per second', said), said
    counted = run('redis-cli', 'CL.THROTTLE', 'key000000000001', '9', '1', '1', '0').stdout.split()
    assert counted[1] == '10', counted


main(globals())
