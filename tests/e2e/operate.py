"""What the tests of operation share: a daemon with an admin listener, its metrics, its tool. Standard library only."""
import os
import subprocess
import sys
import time

import native
from native import fields, frame

SLUICE = os.environ.get('SLUICE') or os.path.join(sys.argv[1], 'sluice')
STATS, RELOAD, SNAPSHOT = 7, 8, 9


class Admin(native.Connection):
    def call(self, field, ident=3):
        """(body number, body) of the answer to an empty Stats-, Reload- or SnapshotRequest."""
        self.send(frame(ident, field, b''))
        got, body, data = self.answer()
        assert got == ident, (got, ident)
        return body, data

    def stats(self):
        body, data = self.call(STATS)
        assert body == STATS, (body, data)
        return fields(data)[1][0].decode()

    def reload(self):
        """(reloaded, error lines)"""
        body, data = self.call(RELOAD)
        assert body == RELOAD, (body, data)
        parts = fields(data)
        return bool(parts.get(1, [0])[0]), [line.decode() for line in parts.get(2, [])]


class Daemon(native.Daemon):
    """Listens for native first and for admin last."""
    def __init__(self, limits, *options, listen=('native=127.0.0.1:0',), **more):
        super().__init__(limits, *options, listen=(*listen, 'admin=127.0.0.1:0'), **more)
        self.connected = None

    def admin(self):
        return Admin(self.addresses[-1])

    def metrics(self):
        """name{labels} -> value"""
        if self.connected is None:
            self.connected = self.admin()
        return samples(self.connected.stats())

    def server(self, which=0):
        return 'native://%s:%d' % self.addresses[which]

    def bench(self, *options):
        return tool('bench', '--server', self.server(), '--warmup', '0s', '--json', *options)


def samples(text):
    lines = [line for line in text.splitlines() if line and line[0] != '#']
    return {line.rpartition(' ')[0]: float(line.rpartition(' ')[2]) for line in lines}


def total(metrics, name, having=''):
    """The sum over the series of a name."""
    return sum(value for key, value in metrics.items() if key.split('{')[0] == name and having in key)


def tool(*options, timeout=120, environment=None):
    return subprocess.run([SLUICE, *options], capture_output=True, text=True, timeout=timeout, check=False,
                          env={**os.environ, **(environment or {})})


def wait_until(condition, seconds=10, pause=0.02):
    """What condition() last said, once it is true or the time is up."""
    deadline = time.monotonic() + seconds
    while True:
        got = condition()
        if got or time.monotonic() > deadline:
            return got
        time.sleep(pause)
