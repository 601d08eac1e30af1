"""--max-counters, --max-memory and --when-full by the real daemon: never above the bound, never unmetered without a
metric, never an exhausted key forgotten."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import SANITIZED, ask, fields, main  # noqa: E402
from operate import Daemon, total  # noqa: E402

LIMITS = '''limits:
  one: {algorithm: fixed_window, limit: 1, window: year}
  many: {algorithm: token_bucket, limit: 10, window: 365d}
  log: {algorithm: sliding_window_log, limit: 1000, window: 30d}
  seen: {algorithm: fixed_window, limit: 1, window: year, shadow: true}
routes: {"one": [one], "many": [many], "log": [log], "seen": [seen], "both": [many, one]}
'''
COUNT = 20000 if SANITIZED else 100000


def ask_many(peer, route, count, prefix='x', cost=None):
    """reason -> how often, over new keys"""
    reasons = {}
    for start in range(0, count, 500):
        peer.send(b''.join(ask(i + 1, f'{prefix}{start + i}', route, cost) for i in range(500)))
        for _ in range(500):
            got = peer.answer()[2]
            reasons[got['reason']] = reasons.get(got['reason'], 0) + 1
    return reasons


def test_refuse():
    daemon = Daemon(LIMITS, '--max-counters', '5000')
    peer = daemon.connect()
    assert peer.ask('victim', 'one')['allowed'] and not peer.ask('victim', 'one')['allowed']
    reasons = ask_many(peer, 'one', COUNT)
    assert reasons == {'UNDER_LIMIT': 4999, 'STORE_FULL': COUNT - 4999}, reasons
    got = peer.ask('newcomer', 'one')
    assert not got['allowed'] and got['reason'] == 'STORE_FULL' and got['limit_name'] == 'one', got
    assert (got['limit'], got['remaining'], got['retry_after_ns']) == (1, 0, 10**9), got
    assert got['reset_after_ns'] is not None
    got = peer.ask('victim', 'one')
    assert not got['allowed'] and got['reason'] == 'OVER_LIMIT', got
    look = peer.ask('newcomer', 'one', 0)
    assert look['allowed'] and look['remaining'] == 1, look
    metrics = daemon.metrics()
    assert metrics['sluice_counters'] == 5000
    assert metrics['sluice_counters_refused_total{limit="one"}'] == COUNT - 4999 + 1
    assert metrics['sluice_decisions_total{limit="one",outcome="store_full"}'] == COUNT - 4999 + 1
    assert total(metrics, 'sluice_counters_evicted_total') == 0
    assert peer.ask('newcomer', 'both')['reason'] == 'STORE_FULL'
    assert daemon.metrics()['sluice_counters'] == 5000, 'nothing of a refused request is charged'


def test_evict():
    daemon = Daemon(LIMITS, '--max-counters', '5000', '--when-full', 'evict')
    peer = daemon.connect()
    victims = [f'victim{i}' for i in range(100)]
    for victim in victims:
        peer.ask(victim, 'one')
    reasons = ask_many(peer, 'many', COUNT)
    assert reasons == {'UNDER_LIMIT': COUNT}, reasons
    assert not any(peer.ask(victim, 'one')['allowed'] for victim in victims), 'exhausted ones stay'
    metrics = daemon.metrics()
    assert metrics['sluice_counters'] <= 5000
    assert metrics['sluice_counters_evicted_total{limit="many"}'] == COUNT + 100 - 5000
    assert 'sluice_counters_evicted_total{limit="one"}' not in metrics
    peer.send(b''.join(ask(i + 1, f'e{i}', 'one') for i in range(6000)))
    got = [peer.answer()[2]['reason'] for _ in range(6000)]
    assert got.count('UNDER_LIMIT') >= 4890 and got[-1] == 'STORE_FULL', 'all exhausted: as refuse'


def test_shadow_limits_are_skipped_and_counted():
    daemon = Daemon(LIMITS, '--max-counters', '100')
    peer = daemon.connect()
    reasons = ask_many(peer, 'seen', 1000)
    assert set(reasons) <= {'UNDER_LIMIT'} and sum(reasons.values()) == 1000, reasons
    metrics = daemon.metrics()
    assert metrics['sluice_counters'] <= 100
    assert metrics['sluice_counters_refused_total{limit="seen"}'] == 900, metrics


def test_memory_bound_holds_for_logs_too():
    bound = 3 << 20
    daemon = Daemon(LIMITS, '--max-memory', '3MiB', '--workers', '1')
    peer = daemon.connect()
    before = daemon.resident_bytes()
    reasons = {}
    for _ in range(COUNT // 2500):
        peer.send(b''.join(ask(i + 1, f'k{i % 50}', 'log', 7) for i in range(500)))
        for _ in range(500):
            got = peer.answer()[2]
            reasons[got['reason']] = reasons.get(got['reason'], 0) + 1
    more = ask_many(peer, 'many', COUNT)
    metrics = daemon.metrics()
    assert metrics['sluice_memory_bytes{what="counters"}'] <= bound, metrics
    assert SANITIZED or daemon.resident_bytes() - before <= bound + (4 << 20), daemon.resident_bytes() - before
    if not SANITIZED:
        assert more.get('STORE_FULL', 0) > 0 and more['UNDER_LIMIT'] > 10000, more
        assert metrics['sluice_counters_refused_total{limit="many"}'] == more['STORE_FULL']
    assert peer.ask('k1', 'log', 0)['remaining'] < 1000


def test_a_full_table_still_refunds_resets_and_reloads():
    daemon = Daemon(LIMITS, '--max-counters', '1000')
    peer = daemon.connect()
    ask_many(peer, 'many', 5000)
    admin = daemon.admin()
    daemon.write_limits(LIMITS.replace('limit: 10,', 'limit: 20,'))
    assert admin.reload() == (True, [])
    got = peer.ask('x1', 'many', 0)
    assert (got['limit'], got['remaining']) == (20, 19), got
    from native import frame, number, text
    peer.send(frame(1, 5, text(1, 'x1') + text(2, 'many')))
    ident, body, data = peer.answer()
    assert (body, fields(data)) == (5, fields(number(1, 1))), (body, data)
    assert peer.ask('newcomer', 'many')['allowed'], 'what was reset has made room'
    assert not peer.ask('another', 'many')['allowed']
    assert daemon.metrics()['sluice_counters'] == 1000


main(globals())
