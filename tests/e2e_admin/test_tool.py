"""sluice stats: as Prometheus reads it, as JSON, second by second."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import SLUICED, main  # noqa: E402
from operate import SLUICE, Daemon, samples, tool  # noqa: E402

LIMITS = '''limits:
  odd.name-1_x: {algorithm: fixed_window, limit: 5, window: year}
  login: {algorithm: token_bucket, limit: 5, window: 365d}
routes:
  "odd": [odd.name-1_x]
  "*": [login]
'''
DAEMON = Daemon(LIMITS)
ADMIN = 'native://%s:%d' % DAEMON.addresses[-1]


def test_text():
    peer = DAEMON.connect()
    for _ in range(6):
        peer.ask('k', 'odd')
        peer.ask('k', 'x')
    done = tool('stats', '--server', ADMIN)
    assert done.returncode == 0 and done.stderr == '', done
    got = samples(done.stdout)
    assert got['sluice_decisions_total{limit="login",outcome="refused"}'] == 1, got
    assert got['sluice_decisions_total{limit="odd.name-1_x",outcome="allowed"}'] == 5, got
    names = {line.split()[2] for line in done.stdout.splitlines() if line.startswith('# TYPE ')}
    assert {key.split('{')[0] for key in got} - names <= {
        'sluice_decision_duration_seconds_' + end for end in ('bucket', 'sum', 'count')}
    table = subprocess.run([SLUICED, '--describe-metrics'], capture_output=True, text=True, check=True).stdout
    described = {line.split('`')[1] for line in table.splitlines() if line.startswith('| `')}
    assert names <= described and {name for name in described - names if 'snapshot' not in name} == set(), (
        described ^ names)


def test_json():
    done = tool('stats', '--json', '--server', ADMIN)
    rows = json.loads(done.stdout)
    assert done.stdout.count('\n') == 1
    odd = [row for row in rows if row['labels'].get('limit') == 'odd.name-1_x' and row['labels']['outcome'] == 'allowed']
    assert odd == [{'name': 'sluice_decisions_total', 'type': 'counter', 'value': 5,
                    'labels': {'limit': 'odd.name-1_x', 'outcome': 'allowed'}}], odd
    text = samples(tool('stats', '--server', ADMIN).stdout)
    assert len(rows) == len(text)
    assert any(row['type'] == 'histogram' and row['labels']['le'] == '+Inf' for row in rows)


def test_watch():
    watch = subprocess.Popen([SLUICE, 'stats', '--watch', '--server', ADMIN], stdout=subprocess.PIPE, text=True)
    peer = DAEMON.connect()

    def block():
        lines = []
        for line in watch.stdout:
            if line == '\n':
                return lines
            lines.append(line.rstrip('\n'))
        return lines
    first = block()
    assert first and not any(line.startswith('#') for line in first)
    for _ in range(3):
        peer.ask('watched', 'x')
    changes = [line for _ in range(2) for line in block() if 'outcome="allowed"' in line and 'login' in line]
    watch.terminate()
    watch.wait()
    assert any(line.endswith('  +3') for line in changes), changes
    watch = subprocess.Popen([SLUICE, 'stats', '--watch', '--json', '--server', ADMIN], stdout=subprocess.PIPE, text=True)
    assert isinstance(json.loads(watch.stdout.readline()), list)
    assert isinstance(json.loads(watch.stdout.readline()), list)
    watch.terminate()
    watch.wait()


def test_environment_and_mistakes():
    done = tool('stats', environment={'SLUICE_ADMIN': ADMIN})
    assert done.returncode == 0 and 'sluice_counters' in done.stdout
    done = tool('stats', '--server', DAEMON.server())
    assert done.returncode == 1 and 'admin listener' in done.stderr and done.stdout == '', done
    assert tool('stats', '--server', 'native://127.0.0.1:1').returncode == 1
    assert tool('stats', 'extra').returncode == 2
    assert tool('stats', '--server', 'gopher://x').returncode == 2
    assert tool('stats', '--timeout', 'soon').returncode == 2
    assert 'sluice stats --watch' in tool('stats', '--help').stdout


def test_page_stays_small_whatever_the_keys():
    done = DAEMON.bench('--requests', '200000', '--key-choice', 'unique', '--batch', '100', '--route', 'x')
    assert done.returncode == 0, done
    assert len(tool('stats', '--server', ADMIN).stdout) < 20000


main(globals())
