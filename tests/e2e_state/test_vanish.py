"""The state directory goes away and comes back: decisions go on, and writing resumes by itself."""
import os
import shutil
import signal
import time

from state import State, main
from trouble import BIG, LISTEN, expect_failures, wait_until_written

def start(state):
    return state.start('--snapshot-interval', '100ms', limits=BIG, listen=LISTEN)


def used(daemon, key='k'):
    return 999999999999999 - daemon.connect().ask(key, 'big', cost=0)['remaining']


def expect_kept(state, daemon, count):
    daemon.stop(signal.SIGKILL)
    again = start(state)
    assert used(again) == count, (used(again), count)
    again.stop()


def test_moved_away_and_back():
    with State() as state:
        daemon = start(state)
        connection = daemon.connect()
        assert connection.ask('k', 'big', cost=5)['allowed']
        time.sleep(0.3)
        os.rename(state.path, state.path + '.away')
        assert connection.ask('k', 'big', cost=7)['allowed']
        expect_failures(daemon)
        assert connection.ask('k', 'big', cost=9)['allowed']
        os.rename(state.path + '.away', state.path)
        wait_until_written(daemon)
        assert 'state is written again' in daemon.logged()
        expect_kept(state, daemon, 21)


def test_removed_and_made_anew():
    with State() as state:
        daemon = start(state)
        connection = daemon.connect()
        assert connection.ask('k', 'big', cost=5)['allowed']
        time.sleep(0.3)
        shutil.rmtree(state.path)
        assert connection.ask('k', 'big', cost=7)['allowed']
        expect_failures(daemon)
        os.mkdir(state.path)
        wait_until_written(daemon)
        assert connection.ask('k', 'big', cost=9)['allowed']
        time.sleep(0.4)
        expect_kept(state, daemon, 21)


def test_another_state_in_its_place_is_not_touched():
    with State() as state, State() as other:
        daemon = start(other)
        assert daemon.connect().ask('k', 'big', cost=3)['allowed']
        daemon.stop()
        daemon = start(state)
        assert daemon.connect().ask('k', 'big', cost=5)['allowed']
        time.sleep(0.3)
        os.rename(state.path, state.path + '.away')
        shutil.copytree(other.path, state.path)
        before = {name: open(path, 'rb').read() for name, path in state.files().items()}
        expect_failures(daemon)
        assert {name: open(path, 'rb').read() for name, path in state.files().items()} == before
        shutil.rmtree(state.path)
        os.rename(state.path + '.away', state.path)
        wait_until_written(daemon)
        expect_kept(state, daemon, 5)


main(globals())
