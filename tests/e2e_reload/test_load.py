"""Reloads under load: no request waits, none is decided by a mix, what was used stays used; the next file waits for the
one before to be applied, and the last one wins."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import SANITIZED, main  # noqa: E402
from operate import Daemon, total, wait_until  # noqa: E402

COUNTERS = 100000 if SANITIZED else 2000000


def limits(number, other='other: {algorithm: fixed_window, limit: 9, window: year}'):
    return (f'limits:\n  a: {{algorithm: token_bucket, limit: {number}, window: 365d}}\n'
            f'  b: {{algorithm: fixed_window, limit: {number}, window: year}}\n  {other}\n'
            'routes:\n  "a": [a]\n  "*": [a, b]\n')


def test_never_a_mix():
    """Limits a and b always carry the same number: so does every answer that shows both."""
    daemon = Daemon(limits(1000), '--workers', '2')
    wrong, done = [], threading.Event()

    def asker(name):
        from native import ask, fields
        peer = daemon.connect()
        while not done.is_set():
            peer.send(b''.join(ask(i, f'{name}{i % 7}', 'r', 0, details=True) for i in range(1, 33)))
            for _ in range(32):
                rows = [fields(row) for row in fields(fields(peer.frame())[2][0])[9]]
                numbers = {row[3][0] for row in rows}
                if len(rows) != 2 or len(numbers) != 1:
                    wrong.append(rows)
    threads = [threading.Thread(target=asker, args=(f'k{i}',)) for i in range(4)]
    for thread in threads:
        thread.start()
    admin = daemon.admin()
    for number in range(1001, 1101):
        with open(daemon.limits, 'w', encoding='utf-8') as out:
            out.write(limits(number))
        assert admin.reload() == (True, [])
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:2]


def test_many_counters():
    daemon = Daemon(limits(10), '--workers', '1')
    peer = daemon.connect()
    peer.ask('used', 'a', 3)
    done = daemon.bench('--requests', str(COUNTERS), '--key-choice', 'unique', '--route', 'a', '--batch', '100',
                        '--connections', '2', '--in-flight', '4')
    assert done.returncode == 0, done
    assert daemon.metrics()['sluice_counters'] >= COUNTERS
    waits, stop = [], threading.Event()

    def asker():
        mine = daemon.connect()
        while not stop.is_set():
            start = time.monotonic()
            mine.ask('probe', 'a', 0)
            waits.append(time.monotonic() - start)
            time.sleep(0.0005)
    thread = threading.Thread(target=asker)
    thread.start()
    memory = daemon.metrics()['sluice_memory_bytes{what="counters"}']
    for number in (11, 12, 13):
        daemon.write_limits(limits(number))
        assert wait_until(lambda: peer.ask('used', 'a', 0)['limit'] == number, 10)
        assert peer.ask('used', 'a', 0)['remaining'] == number - 3
    admin = daemon.admin()
    daemon.write_limits(limits(14))
    assert admin.reload() == (True, [])
    assert peer.ask('used', 'a', 0)['limit'] == 14
    stop.set()
    thread.join()
    metrics = daemon.metrics()
    assert metrics['sluice_counters'] >= COUNTERS, 'none was lost'
    assert metrics['sluice_memory_bytes{what="counters"}'] <= 1.01 * memory, 'and none copied'
    waits.sort()
    print(f'  {COUNTERS} counters, 4 reloads: of {len(waits)} answers the median took {1e6 * waits[len(waits) // 2]:.0f}'
          f' us, the slowest {1e3 * waits[-1]:.1f} ms')
    assert waits[len(waits) * 99 // 100] < 0.1, waits[-20:]


def test_a_limit_that_goes_takes_its_counters():
    daemon = Daemon(limits(10))
    daemon.bench('--requests', '20000', '--key-choice', 'unique', '--route', 'x', '--batch', '100')
    held = daemon.metrics()['sluice_counters']
    assert held >= 40000
    admin = daemon.admin()
    daemon.write_limits(limits(10).replace('  b:', '  c:').replace('[a, b]', '[a]'))
    assert admin.reload() == (True, [])
    assert wait_until(lambda: daemon.metrics()['sluice_counters'] == held / 2), daemon.metrics()['sluice_counters']
    daemon.write_limits(limits(10))
    assert admin.reload() == (True, [])
    assert daemon.connect().ask('any', 'x', 0)['remaining'] == 10
    assert total(daemon.metrics(), 'sluice_counters') == held / 2


def test_policies_do_not_pile_up():
    daemon = Daemon(limits(10))
    admin = daemon.admin()
    name = 'sluice_memory_bytes{what="policies"}'
    alone, peaks = daemon.metrics()[name], []
    for _ in range(50):
        assert admin.reload()[0]
        peaks.append(daemon.metrics()[name])
    assert wait_until(lambda: daemon.metrics()[name] == alone), (daemon.metrics()[name], alone)
    assert max(peaks) <= 3 * alone, (peaks, alone)


main(globals())
