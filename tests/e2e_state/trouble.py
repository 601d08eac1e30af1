"""What the tests of disk trouble share."""
import time

from state import metrics

BIG = 'limits:\n  big: {algorithm: fixed_window, limit: 999999999999999, window: 3000d}\nroutes: {"big": [big]}\n'
LISTEN = ('native=127.0.0.1:0', 'admin=127.0.0.1:0')
FAILED, LAST = 'sluice_snapshot_failures_total', 'sluice_snapshot_last_success_timestamp_seconds'


def expect_failures(daemon):
    before = metrics(daemon, 1)[FAILED]
    time.sleep(0.6)
    after = metrics(daemon, 1)[FAILED]
    assert after >= before + 3, (before, after)
    assert daemon.logged().count('state cannot be written') == 1, 'once a change of condition'


def wait_until_written(daemon):
    since = time.time()
    deadline = time.monotonic() + 15
    while metrics(daemon, 1)[LAST] < since:
        assert time.monotonic() < deadline, 'not written again'
        time.sleep(0.05)
