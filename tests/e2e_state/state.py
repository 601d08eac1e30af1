"""Daemons with a state directory, for the tests beside this file."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import *  # noqa: E402,F401,F403  (the client and the daemon of the other tests)
from native import Daemon, SLUICED  # noqa: E402

SLUICE = os.path.join(os.path.dirname(SLUICED), 'sluice')

LIMITS = """limits:
  token: {algorithm: token_bucket, limit: 5, window: 300s}
  log: {algorithm: sliding_window_log, limit: 2, window: 100s}
  fixed: {algorithm: fixed_window, limit: 3, window: 3000d}
  sliding: {algorithm: sliding_window_counter, limit: 3, window: 3000d}
  leaky: {algorithm: leaky_bucket, limit: 4, window: 4h}
  big: {algorithm: fixed_window, limit: 999999999999999, window: 3000d}
  month: {algorithm: fixed_window, limit: 1000, window: year, timezone: Europe/Berlin}
routes: {"token": [token], "log": [log], "fixed": [fixed], "sliding": [sliding], "leaky": [leaky], "big": [big], "month": [month]}
"""


class State:
    """A state directory that goes at the end."""
    def __init__(self):
        self.path = tempfile.mkdtemp(prefix='sluice-state-')

    def __enter__(self):
        return self

    def __exit__(self, *what):
        shutil.rmtree(self.path, ignore_errors=True)

    def start(self, *options, limits=LIMITS, **more):
        return Daemon(limits, '--state-dir', self.path, *options, no_state=False, **more)

    def files(self):
        """The state's files with something in them, by name."""
        return {os.path.basename(name): name for name in sorted(glob.glob(self.path + '/*'))
                if os.path.isfile(name) and os.path.getsize(name) > 0}

    def show(self, *options):
        done = subprocess.run([SLUICE, 'state', self.path, '--json', *options], capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def metrics(daemon, which):
    host, port = daemon.addresses[which]
    done = subprocess.run([SLUICE, 'stats', '--server', f'native://{host}:{port}'], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return {line.rsplit(' ', 1)[0]: float(line.rsplit(' ', 1)[1]) for line in done.stdout.splitlines()
            if line and line[0] != '#'}
