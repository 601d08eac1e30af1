"""Through a real Envoy: 200s, then 429s with its headers; the service gone, replaced, reloaded."""
from envoy_program import Envoy, free_port

import os
import signal
import tempfile
import threading
import time

from native import Daemon, main

LIMITS = '''limits:
  n: {algorithm: token_bucket, limit: 3, window: 1h}
routes: {"native": [n]}
'''
RULES = '''domain: edge
descriptors:
  - key: user
    rate_limit: {name: per-user, unit: hour, requests_per_unit: %d}
  - key: user
    value: load
    rate_limit: {unit: hour, requests_per_unit: 1000000}
'''


def start(port, *options, **more):
    rules = os.path.join(tempfile.mkdtemp(prefix='sluice-envoy-'), 'edge.yaml')
    with open(rules, 'w', encoding='utf-8') as out:
        out.write(RULES % 5)
    daemon = Daemon(LIMITS, '--envoy-config', rules, *options, listen=[f'grpc=127.0.0.1:{port}'], **more)
    return daemon, rules


def test_limited_reloaded_gone():
    port = free_port()
    daemon, rules = start(port)
    envoy = Envoy(port, deny=True)
    try:
        answers = [envoy.get(user='alice') for _ in range(8)]
        assert [status for status, _ in answers] == [200] * 5 + [429] * 3, answers
        for left, (_, headers) in zip([4, 3, 2, 1, 0, 0, 0, 0], answers):
            assert headers['x-ratelimit-limit'] == '5, 5;w=3600;name="per-user"', headers
            assert headers['x-ratelimit-remaining'] == str(left), headers
            assert 0 < int(headers['x-ratelimit-reset']) <= 3600, headers
        assert answers[7][1]['x-envoy-ratelimited'] == 'true'
        assert envoy.get(user='bob')[0] == 200, 'bob is not alice'
        assert [envoy.get('/native', 'carl')[0] for _ in range(4)] == [200] * 3 + [429]
        assert [envoy.get('/cost', 'dora', x_cost=cost)[0] for cost in (3, 0, 3, 2, 0)] == [200, 200, 429, 200, 200]

        with open(rules + '.new', 'w', encoding='utf-8') as out:
            out.write(RULES % 7)
        os.rename(rules + '.new', rules)
        daemon.wait_for_log('limits reloaded')
        assert [envoy.get(user='alice')[0] for _ in range(3)] == [200, 200, 429], 'used stays used'
        with open(rules, 'w', encoding='utf-8') as out:
            out.write('domain: edge\ndescriptors:\n  - kay: user\n')
        daemon.wait_for_log('edge.yaml:3:5: unknown field')
        assert envoy.get(user='alice')[0] == 429, 'a bad file changes nothing'

        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
        assert envoy.get(user='zoe')[0] == 500, 'failure_mode_deny'
    finally:
        envoy.stop()
    envoy = Envoy(port, deny=False)
    try:
        assert envoy.get(user='alice')[0] == 200, 'fail open'
    finally:
        envoy.stop()


def test_replaced_under_load():
    """A second daemon takes over the address and the counts; no request fails."""
    port, state = free_port(), tempfile.mkdtemp(prefix='sluice-state-')
    first, _ = start(port, '--state-dir', state, no_state=False)
    envoy = Envoy(port, deny=True)
    done, statuses = threading.Event(), []

    def ask():
        while not done.is_set():
            statuses.append(envoy.get(user='load')[0])
    threads = [threading.Thread(target=ask) for _ in range(4)]
    try:
        assert [envoy.get(user='alice')[0] for _ in range(6)] == [200] * 5 + [429]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        # The second has the address and waits for the state; told to go, the first answers what it has, writes and leaves.
        leave = threading.Timer(1, first.process.send_signal, [signal.SIGTERM])
        leave.start()
        second, _ = start(port, '--state-dir', state, no_state=False)
        assert first.process.wait(20) == 0
        time.sleep(0.5)
        done.set()
        for thread in threads:
            thread.join()
        assert len(statuses) > 20 and set(statuses) == {200}, (len(statuses), [s for s in statuses if s != 200][:5])
        assert envoy.get(user='alice')[0] == 429, 'no count is lost'
        left = int(envoy.get(user='load')[1]['x-ratelimit-remaining'])
        assert left == 1000000 - len(statuses) - 1, (left, len(statuses))
        assert second.stop()[0] == 0
    finally:
        done.set()
        envoy.stop()


main(globals())
