"""What was used stays used over stops, crashes and changes of the limits file."""
import signal
import time

from state import LIMITS, State, ask_body, frame, main, run

USED = (('token', 5), ('log', 2), ('fixed', 3), ('sliding', 3), ('leaky', 4))
WAITS = (('token', 60), ('log', 100), ('leaky', 3600))


def use_up(connection, key):
    for route, times in USED:
        assert all(connection.ask(key, route)['allowed'] for _ in range(times)), route


def expect_used_up(connection, key, since):
    elapsed = time.monotonic() - since
    for route, _ in USED:
        answer = connection.ask(key, route)
        assert not answer['allowed'] and answer['remaining'] == 0, (route, answer)
    for route, wait in WAITS:
        answer = connection.ask(key, route)
        assert abs(answer['retry_after_ns'] / 1e9 - (wait - elapsed)) < 1.5, (route, answer, elapsed)


def test_stops_and_crashes():
    with State() as state:
        daemon = state.start()
        since = time.monotonic()
        use_up(daemon.connect(), 'u\0x')
        for number, wait in ((signal.SIGTERM, 0), (signal.SIGKILL, 1.5), (signal.SIGTERM, 0), (signal.SIGKILL, 0)):
            time.sleep(wait)
            code, _ = daemon.stop(number)
            assert code == (0 if number == signal.SIGTERM else -signal.SIGKILL)
            daemon = state.start()
            expect_used_up(daemon.connect(), 'u\0x', since)
            assert daemon.connect().ask('u', 'fixed', cost=0)['remaining'] == 3
        daemon.stop()


def test_a_second_signal_does_not_kill_what_writes_its_state():
    for second in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        with State() as state:
            daemon = state.start()
            use_up(daemon.connect(), 'a')
            daemon.process.send_signal(signal.SIGTERM)
            assert daemon.wait_for_log('event=stopping')
            while daemon.process.poll() is None:
                daemon.process.send_signal(second)
                time.sleep(0.005)
            assert daemon.process.returncode == 0, (second, daemon.process.returncode)
            daemon = state.start()
            assert daemon.connect().ask('a', 'fixed', cost=0)['remaining'] == 0
            daemon.stop()


def test_a_reset_and_a_refund_outlive_a_crash():
    with State() as state:
        daemon = state.start()
        connection = daemon.connect()
        use_up(connection, 'a')
        time.sleep(1.3)
        for route, _ in USED:
            connection.send(frame(7, 5, ask_body('a', route)))
            assert connection.answer()[1] == 5, route
        time.sleep(1.6)
        daemon.stop(signal.SIGKILL)
        daemon = state.start()
        connection = daemon.connect()
        for route, times in USED:
            assert connection.ask('a', route, cost=0)['remaining'] == times, route
        daemon.stop()


def test_a_limit_that_is_gone_takes_its_counters_with_it():
    without = LIMITS.replace('"fixed": [fixed], ', '').replace(
        '  fixed: {algorithm: fixed_window, limit: 3, window: 3000d}\n', '')
    with State() as state:
        daemon = state.start()
        use_up(daemon.connect(), 'a')
        time.sleep(1.3)
        for limits in (without, LIMITS):
            before = daemon.logged().count('limits reloaded')
            daemon.write_limits(limits)
            daemon.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 5
            while daemon.logged().count('limits reloaded') == before and time.monotonic() < deadline:
                time.sleep(0.02)
        time.sleep(1.5)
        daemon.stop(signal.SIGKILL)
        daemon = state.start()
        assert daemon.connect().ask('a', 'fixed', cost=0)['remaining'] == 3, 'it came back'
        assert daemon.connect().ask('a', 'token', cost=0)['remaining'] == 0
        daemon.stop()


def test_the_limits_file_changes_while_nobody_runs():
    with State() as state:
        daemon = state.start()
        use_up(daemon.connect(), 'a')
        daemon.stop()
        changed = LIMITS.replace('fixed_window, limit: 3', 'fixed_window, limit: 10').replace(
            'sliding_window_counter, limit: 3', 'fixed_window, limit: 3')
        daemon = state.start(limits=changed)
        connection = daemon.connect()
        assert connection.ask('a', 'fixed', cost=0)['remaining'] == 7
        assert connection.ask('a', 'sliding', cost=0)['remaining'] == 3
        assert 'limit starts fresh' in daemon.logged() and 'sliding' in daemon.logged()
        daemon.stop()


def test_what_a_directory_holds():
    with State() as state:
        daemon = state.start()
        use_up(daemon.connect(), 'a')
        assert daemon.connect().ask('a', 'month')['allowed']
        time.sleep(1.3)
        running = state.show('--key', 'a')
        assert not running['sealed'] and running['counters'] == 6
        daemon.stop()
        stopped = state.show('--key', 'a')
        assert stopped['sealed'] and stopped['counters'] == 6
        limits = {limit['name']: limit for limit in stopped['limits']}
        assert limits['fixed']['key'] == {**limits['fixed']['key'], 'used': True, 'limit': 3, 'remaining': 0}
        assert limits['month']['key']['remaining'] == 999 and limits['big']['counters'] == 0


def test_a_directory_that_cannot_be_had():
    with State() as state:
        limits = state.path + '/limits.yaml'
        with open(limits, 'w', encoding='utf-8') as out:
            out.write(LIMITS)
        for path in (limits, '/proc/nowhere', state.path + '/a/b'):
            code, out, err = run('--limits', limits, '--listen', 'native=127.0.0.1:0', '--state-dir', path)
            assert code == 1 and out == '', (path, code, out)
            assert '--state-dir' in err and '--no-state' in err and path in err, err


def test_bad_state():
    with State() as state:
        daemon = state.start()
        use_up(daemon.connect(), 'a')
        daemon.stop()
        name, path = next((n, p) for n, p in state.files().items() if n.startswith('journal'))
        with open(path, 'r+b') as file:
            file.truncate(100)
        before = {n: open(p, 'rb').read() for n, p in state.files().items()}
        for _ in range(2):
            code, out, err = run('--limits', daemon.limits, '--listen', 'native=127.0.0.1:0', '--state-dir',
                                 state.path)
            assert code == 1 and out == '' and name in err and err.count('\n') == 1, err
            assert {n: open(p, 'rb').read() for n, p in state.files().items()} == before
        daemon = state.start('--on-bad-state', 'empty')
        assert daemon.connect().ask('a', 'fixed', cost=0)['remaining'] == 3
        assert name in daemon.logged() and 'moved aside' in daemon.logged()
        kept = [p for n, p in state.files().items() if n.startswith(name + '.bad-')]
        assert len(kept) == 1 and open(kept[0], 'rb').read() == before[name]
        daemon.stop()


main(globals())
