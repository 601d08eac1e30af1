"""A daemon whose limits file is changed, and how soon that is in force."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from operate import Daemon, wait_until  # noqa: E402

WITHIN = 2.0


def limits(number):
    return f'limits:\n  a: {{algorithm: fixed_window, limit: {number}, window: year}}\nroutes:\n  "*": [a]\n'


def write(path, text):
    with open(path, 'w', encoding='utf-8') as out:
        out.write(text)


class Watched:
    """A daemon, and how long a change takes to be in force."""
    def __init__(self, number=10, **more):
        self.daemon = Daemon(limits(number), **more)
        self.peer = self.daemon.connect()
        self.path = self.daemon.limits
        self.folder = self.daemon.folder

    def limit(self):
        got = self.peer.ask('fresh', 'r', 0)
        assert got['reason'] != 'NO_LIMIT', 'no rules'
        return got['limit']

    def expect(self, number, within=WITHIN):
        start = time.monotonic()
        assert wait_until(lambda: self.limit() == number, within), (self.limit(), number, self.daemon.logged()[-400:])
        return time.monotonic() - start

    def stays(self, number, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.limit() == number, (self.limit(), number)
            time.sleep(0.02)
