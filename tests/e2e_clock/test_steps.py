"""The wall clock is set back an hour, then forward two, under load: nobody is refused for longer, nobody gets a free
bucket, nothing is swept early. The monotonic clock stays real (libfaketime)."""
import glob
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import SANITIZED, main  # noqa: E402
from operate import Daemon  # noqa: E402

LIBRARY = (glob.glob('/usr/lib/*/faketime/libfaketimeMT.so.1') + glob.glob('/usr/lib/faketime/libfaketimeMT.so.1'))[:1]
if not LIBRARY or SANITIZED:
    print('SKIPPED: needs libfaketime (Debian package libfaketime), and a daemon without sanitizers')
    raise SystemExit(77)

LIMITS = '''limits:
  tb: {algorithm: token_bucket, limit: 2, window: 10s}
  lb: {algorithm: leaky_bucket, limit: 2, window: 10s}
  slog: {algorithm: sliding_window_log, limit: 2, window: 10s}
  scnt: {algorithm: sliding_window_counter, limit: 2, window: 300s}
  fw: {algorithm: fixed_window, limit: 2, window: 300s}
  year: {algorithm: fixed_window, limit: 2, window: year}
  load: {algorithm: token_bucket, limit: 1000, window: 365d}
routes: {"tb": [tb], "lb": [lb], "slog": [slog], "scnt": [scnt], "fw": [fw], "year": [year], "load": [load]}
'''
SECOND = 10**9


class Stepped:
    """A daemon whose wall clock can be stepped."""
    def __init__(self):
        self.file = os.path.join(tempfile.mkdtemp(prefix='sluice-e2e-clock-'), 'offset')
        self.step('+0')
        self.environment = {'LD_PRELOAD': LIBRARY[0], 'FAKETIME_DONT_FAKE_MONOTONIC': '1',
                            'FAKETIME_TIMESTAMP_FILE': self.file, 'FAKETIME_NO_CACHE': '1'}
        self.daemon = Daemon(LIMITS, environment=self.environment)

    def step(self, offset):
        with open(self.file + '.new', 'w', encoding='ascii') as out:
            out.write(offset)
        os.rename(self.file + '.new', self.file)

    def clocks(self):
        """(wall, boot) as a program under the same clock sees them."""
        code = 'import time; print(time.clock_gettime(time.CLOCK_REALTIME), time.clock_gettime(time.CLOCK_BOOTTIME))'
        out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True,
                             env={**os.environ, **self.environment}).stdout
        return tuple(float(each) for each in out.split())


def test_the_wall_clock_really_steps():
    stepped = Stepped()
    wall, boot = stepped.clocks()
    assert abs(wall - time.time()) < 5
    stepped.step('-3600s')
    wall_after, boot_after = stepped.clocks()
    assert -3610 < wall_after - wall < -3590 and 0 <= boot_after - boot < 30, (wall, wall_after, boot, boot_after)


def test_back_and_forward():
    stepped = Stepped()
    peer = stepped.daemon.connect()
    # Well inside a window of 300 s, so that none ends during the test.
    while time.time() % 300 > 280:
        time.sleep(0.5)
    start = time.monotonic()
    first = {}
    for route in ('tb', 'lb', 'slog', 'scnt', 'fw', 'year'):
        got = [peer.ask('k', route) for _ in range(3)]
        assert [each['allowed'] for each in got] == [True, True, False], (route, got)
        first[route] = got[2]['retry_after_ns']

    def expect(what):
        passed = (time.monotonic() - start) * SECOND
        for route in ('tb', 'lb', 'slog', 'scnt', 'fw', 'year'):
            got = peer.ask('k', route)
            assert not got['allowed'], (what, route, got)
            assert abs(got['retry_after_ns'] - (first[route] - passed)) < SECOND // 2, (what, route, got, first, passed)
    for offset in ('-3600s', '+3600s', '-3600s', '+7200s', '+0'):
        stepped.step(offset)
        time.sleep(0.4)
        expect(offset)
    # And when its time has really come each is served again.
    time.sleep(max(0, 5.05 - (time.monotonic() - start)))
    assert peer.ask('k', 'tb')['allowed'] and peer.ask('k', 'lb')['allowed']
    assert not peer.ask('k', 'slog')['allowed']
    time.sleep(max(0, 10.2 - (time.monotonic() - start)))
    assert peer.ask('k', 'slog')['allowed']


def test_steps_under_load():
    stepped = Stepped()
    wrong, done = [], threading.Event()

    def asker(name):
        peer = stepped.daemon.connect()
        last = 1000
        while not done.is_set():
            got = peer.ask(name, 'load')
            if not got['allowed'] or got['remaining'] != last - 1:
                wrong.append((name, got, last))
                return
            last = got['remaining']
            time.sleep(0.004)
    threads = [threading.Thread(target=asker, args=(f'k{i}',)) for i in range(4)]
    for thread in threads:
        thread.start()
    for offset in ('-3600s', '+7200s', '+0', '-3600s', '+7200s'):
        stepped.step(offset)
        time.sleep(0.5)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:2]
    metrics = stepped.daemon.metrics()
    assert metrics['sluice_counters'] == 4 and metrics['sluice_counters_swept_total'] == 0, metrics


main(globals())
