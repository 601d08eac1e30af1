"""A disk that is full, or read-only: decisions go on, and writing resumes by itself. Needs a file system of its own,
which only root can mount: skipped elsewhere."""
import os
import signal
import subprocess
import sys
import time

from state import State, main
from trouble import BIG, LISTEN, expect_failures, wait_until_written


class Disk(State):
    """A state directory on a disk of 2 MiB."""
    def __init__(self):
        super().__init__()
        self.mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'sluice-test', self.path],
                                      capture_output=True, check=False).returncode == 0

    def fill(self):
        """Leaves no byte free; returns the file that takes them."""
        filler = self.path + '/filler'
        file = os.open(filler, os.O_WRONLY | os.O_CREAT)
        try:
            while os.write(file, bytes(4096)) > 0:
                pass
        except OSError:
            pass
        os.close(file)
        return filler

    def remount(self, how):
        subprocess.run(['mount', '-o', f'remount,{how}', self.path], check=True)

    def __exit__(self, *what):
        if self.mounted:
            subprocess.run(['umount', '-l', self.path], check=False)
        super().__exit__(*what)


def ask_many(daemon, keys, route='big'):
    connection = daemon.connect()
    for key in keys:
        assert connection.ask(key, route, cost=2)['allowed']


def expect_after_crash(disk, daemon, keys):
    daemon.stop(signal.SIGKILL)
    again = disk.start('--snapshot-interval', '100ms', limits=BIG, listen=LISTEN)
    connection = again.connect()
    for key in keys:
        assert connection.ask(key, 'big', cost=0)['remaining'] == 999999999999997, key
    again.stop()


def test_full():
    with Disk() as disk:
        daemon = disk.start('--snapshot-interval', '100ms', limits=BIG, listen=LISTEN)
        ask_many(daemon, [f'a{i}' for i in range(200)])
        time.sleep(0.4)
        good = {name for name in disk.files()}
        filler = disk.fill()
        ask_many(daemon, [f'b{i}' for i in range(3000)])
        expect_failures(daemon)
        assert good <= {name for name in disk.files()}, 'a good file is gone'
        start = time.monotonic()
        ask_many(daemon, [f'c{i}' for i in range(500)])
        assert time.monotonic() - start < 5, 'requests wait for the disk'
        os.unlink(filler)
        wait_until_written(daemon)
        time.sleep(0.4)
        expect_after_crash(disk, daemon, ['a0', 'a199', 'b0', 'b2999', 'c0', 'c499'])


def test_full_at_the_stop_is_told():
    with Disk() as disk:
        daemon = disk.start(limits=BIG, listen=LISTEN)
        ask_many(daemon, [f'a{i}' for i in range(100)])
        time.sleep(1.4)
        filler = disk.fill()
        ask_many(daemon, [f'b{i}' for i in range(3000)])
        code, _ = daemon.stop()
        assert code == 1 and 'state is not complete' in daemon.logged()
        os.unlink(filler)
        again = disk.start(limits=BIG, listen=LISTEN)
        assert again.connect().ask('a99', 'big', cost=0)['remaining'] == 999999999999997
        again.stop()


def test_read_only():
    with Disk() as disk:
        daemon = disk.start('--snapshot-interval', '100ms', limits=BIG, listen=LISTEN)
        ask_many(daemon, ['a'])
        time.sleep(0.4)
        daemon.stop()
        disk.remount('ro')
        code = subprocess.run([sys.argv[1] + '/sluiced', '--limits', daemon.limits, '--listen', 'native=127.0.0.1:0',
                               '--state-dir', disk.path], capture_output=True, text=True, timeout=30, check=False)
        assert code.returncode == 1 and '--no-state' in code.stderr, code.stderr
        disk.remount('rw')
        again = disk.start(limits=BIG, listen=LISTEN)
        assert again.connect().ask('a', 'big', cost=0)['remaining'] == 999999999999997
        again.stop()


def mountable():
    with Disk() as disk:
        return disk.mounted


if not mountable():
    print('skipped: no file system can be mounted here')
    sys.exit(77)
main(globals())
