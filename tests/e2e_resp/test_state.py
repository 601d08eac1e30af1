"""CL.THROTTLE keys over restarts: stopped cleanly, killed, and with other limits in the file."""
import shutil
import signal
import tempfile
import time

import resp
from native import main

MORE_LIMITS = '''limits:
  first: {algorithm: fixed_window, limit: 3, window: 1h}
  login: {algorithm: sliding_window_log, limit: 5, window: 1h}
  last: {algorithm: token_bucket, limit: 3, window: 1h}
routes: {"POST /login": [first, login, last]}
'''
KEYS = (('whole', 9, 1, 3600), ('fraction', 9, 7, 3600), ('wide', 999999999999998, 999999999999937, 315619200))


def ask(daemon, quantity):
    peer = resp.Connection(daemon.addresses[0])
    return [peer.ask('CL.THROTTLE', *key, quantity) for key in KEYS]


def check(first, later, seconds):
    for before, now in zip(first, later):
        assert now[:2] == [0, before[1]], (before, now)
        assert before[4] - seconds <= now[4] <= before[4], (before, now)
    assert later[0][2] == first[0][2] and later[1][2] in (first[1][2], first[1][2] + 1), later
    assert later[2][2] >= first[2][2], later


def test_stopped_and_started_with_other_limits():
    folder = tempfile.mkdtemp()
    try:
        daemon = resp.daemon('--state-dir', folder, no_state=False)
        first = ask(daemon, 3)
        assert [answer[2] for answer in first] == [7, 7, 999999999999996], first
        assert daemon.stop()[0] == 0
        for limits in (MORE_LIMITS, 'limits: {}\nroutes: {}\n', resp.LIMITS):
            daemon = resp.daemon('--state-dir', folder, no_state=False, limits=limits)
            check(first, ask(daemon, 0), 60)
            assert daemon.stop()[0] == 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_killed():
    folder = tempfile.mkdtemp()
    try:
        daemon = resp.daemon('--state-dir', folder, '--snapshot-interval', '200ms', no_state=False)
        first = ask(daemon, 3)
        time.sleep(2)
        daemon.stop(signal.SIGKILL)
        daemon = resp.daemon('--state-dir', folder, no_state=False)
        check(first, ask(daemon, 0), 60)
        peer = resp.Connection(daemon.addresses[0])
        assert peer.ask('DEL', *(key[0] for key in KEYS)) >= 2
        assert daemon.stop()[0] == 0
        daemon = resp.daemon('--state-dir', folder, no_state=False)
        assert [answer[2] for answer in ask(daemon, 0)] == [10, 10, 999999999999999]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main(globals())
