"""A bound on the counters holds over crashes too: nothing exhausted is forgotten where newcomers are refused, and what was
evicted does not come back beyond the bound."""
import signal
import time

from state import State, ask_body, frame, main, metrics

LISTEN = ('native=127.0.0.1:0', 'admin=127.0.0.1:0')
ONE = """limits:
  one: {algorithm: fixed_window, limit: 1, window: 3000d}
  ten: {algorithm: token_bucket, limit: 10, window: 3000d}
  short: {algorithm: token_bucket, limit: 1, window: 50ms}
routes: {"one": [one], "ten": [ten], "short": [short]}
"""


def start(state, *options):
    return state.start('--snapshot-interval', '100ms', '--max-counters', '1000', *options, limits=ONE, listen=LISTEN)


def counters(daemon):
    return metrics(daemon, 1)['sluice_counters']


def test_refuse():
    with State() as state:
        daemon = start(state)
        connection = daemon.connect()
        for i in range(1000):
            assert connection.ask(f'k{i}', 'one')['allowed']
        assert connection.ask('newcomer', 'one')['reason'] == 'STORE_FULL'
        time.sleep(0.5)
        daemon.stop(signal.SIGKILL)
        daemon = start(state)
        connection = daemon.connect()
        assert counters(daemon) == 1000
        assert all(connection.ask(f'k{i}', 'one')['reason'] == 'OVER_LIMIT' for i in range(1000))
        assert connection.ask('newcomer', 'one')['reason'] == 'STORE_FULL'
        daemon.stop()


def test_evict():
    with State() as state:
        daemon = start(state, '--when-full', 'evict')
        connection = daemon.connect()
        for i in range(500):
            assert connection.ask(f'used-up-{i}', 'one')['allowed']
        for i in range(5000):
            assert connection.ask(f'k{i}', 'ten')['allowed']
        time.sleep(0.5)
        daemon.stop(signal.SIGKILL)
        daemon = start(state, '--when-full', 'evict')
        connection = daemon.connect()
        assert counters(daemon) <= 1000, counters(daemon)
        assert not any(connection.ask(f'used-up-{i}', 'one')['allowed'] for i in range(500))
        daemon.stop()


def test_what_is_idle_makes_room_at_once():
    with State() as state:
        daemon = start(state)
        connection = daemon.connect()
        for i in range(1000):
            assert connection.ask(f'k{i}', 'short')['allowed']
        time.sleep(0.06)
        for i in range(1000):
            assert connection.ask(f'n{i}', 'one')['allowed'], i
        time.sleep(0.5)
        daemon.stop(signal.SIGKILL)
        daemon = start(state)
        assert counters(daemon) == 1000
        assert not daemon.connect().ask('n999', 'one')['allowed']
        daemon.stop()


def test_what_was_reset_makes_room_at_once_and_stays_reset():
    with State() as state:
        daemon = start(state)
        connection = daemon.connect()
        for i in range(1000):
            assert connection.ask(f'k{i}', 'one')['allowed']
        time.sleep(0.5)
        for i in range(10):
            connection.send(frame(7, 5, ask_body(f'k{i}', 'one')))
            connection.answer()
            assert connection.ask(f'n{i}', 'one')['allowed'], i
        time.sleep(1.5)
        daemon.stop(signal.SIGKILL)
        daemon = start(state)
        connection = daemon.connect()
        assert all(connection.ask(f'k{i}', 'one', cost=0)['remaining'] == 1 for i in range(10))
        assert not any(connection.ask(f'n{i}', 'one')['allowed'] for i in range(10))
        daemon.stop()


main(globals())
