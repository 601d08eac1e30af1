"""Stats, Reload and Snapshot frames; who may ask for them; bytes that tell HTTP from frames."""
import os
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
import native  # noqa: E402
from native import INVALID_ARGUMENT, PERMISSION_DENIED, UNIMPLEMENTED, ask, frame, main, text, varint  # noqa: E402
from operate import RELOAD, SNAPSHOT, STATS, Admin, Daemon, samples, total, wait_until  # noqa: E402

LIMITS = '''limits:
  a: {algorithm: token_bucket, limit: 5, window: 365d}
routes:
  "*": [a]
'''


def test_stats_count_what_happened():
    daemon = Daemon(LIMITS)
    peer = daemon.connect()
    before = daemon.metrics()
    allowed = [peer.ask('k', 'r')['allowed'] for _ in range(7)]
    assert allowed == [True] * 5 + [False] * 2
    peer.ask('other', 'r', 0)
    peer.send(frame(1, 4, text(1, 'k') + text(2, 'r')))
    assert peer.answer()[1] == 4
    peer.send(ask(2, '', 'r'))
    assert peer.answer()[1] == 15
    after = daemon.metrics()
    assert total(before, 'sluice_decisions_total') == 0
    assert after['sluice_decisions_total{limit="a",outcome="allowed"}'] == 6, 'looks count, refunds do not'
    assert after['sluice_decisions_total{limit="a",outcome="refused"}'] == 2
    assert after['sluice_requests_total{protocol="native",kind="should_allow"}'] == 9
    assert after['sluice_requests_total{protocol="native",kind="refund"}'] == 1
    assert after['sluice_request_errors_total{protocol="native",code="INVALID_ARGUMENT"}'] == 1
    assert after['sluice_requests_total{protocol="admin",kind="stats"}'] == 2
    assert after['sluice_counters'] == 1
    assert after['sluice_connections{protocol="native"}'] == 1
    assert after['sluice_connections{protocol="admin"}'] == 1
    assert after['sluice_decision_duration_seconds_count{protocol="native"}'] >= 8
    assert after['sluice_memory_bytes{what="counters"}'] > 0
    assert after['sluice_memory_bytes{what="policies"}'] > 0
    assert 0 < after['sluice_memory_bytes{what="connections"}'] < 100000
    assert after['process_resident_memory_bytes'] > 1 << 20
    assert abs(after['process_open_fds'] - len(os.listdir(f'/proc/{daemon.process.pid}/fd'))) <= 1
    assert abs(after['sluice_start_time_seconds'] - time.time()) < 60
    assert abs(after['sluice_reload_last_success_timestamp_seconds'] - time.time()) < 60
    assert 'k' not in ' '.join(after).split('"'), 'no key is a label'
    peer.close()
    assert wait_until(lambda: daemon.metrics()['sluice_connections{protocol="native"}'] == 0)


def test_memory_of_connections_follows_what_they_hold():
    daemon = Daemon(LIMITS)
    admin = daemon.admin()

    def held():
        return samples(admin.stats())['sluice_memory_bytes{what="connections"}']
    before = held()
    peers = [daemon.connect() for _ in range(50)]
    for peer in peers:
        peer.ask('k', 'r', 0)
    idle = held() - before
    assert 50 * 200 < idle < 50 * 8000, idle
    for peer in peers:
        peer.send(varint(200000) + bytes([8, 1]) + bytes(60000))
    assert wait_until(lambda: held() - before > 50 * 60000), held()
    for peer in peers:
        peer.close()
    assert wait_until(lambda: held() == before), (held(), before)


def test_reload_answers_when_in_force():
    daemon = Daemon(LIMITS)
    peer, admin = daemon.connect(), daemon.admin()
    peer.ask('k', 'r')
    for limit in range(6, 40):
        with open(daemon.limits, 'w', encoding='utf-8') as out:
            out.write(LIMITS.replace('limit: 5', f'limit: {limit}'))
        assert admin.reload() == (True, [])
        got = peer.ask('k', 'r', 0)
        assert (got['limit'], got['remaining']) == (limit, limit - 1), got
    assert total(daemon.metrics(), 'sluice_reloads_total', 'ok') >= 34


def test_reload_says_what_is_wrong():
    daemon = Daemon(LIMITS)
    peer, admin = daemon.connect(), daemon.admin()
    with open(daemon.limits, 'w', encoding='utf-8') as out:
        out.write('limits:\n  a: {algorithm: token_bukket, limit: 5, window: 365d}\n'
                  '  b: {algorithm: fixed_window, limit: -1, window: 1s}\nroutes:\n  "*": [a]\n')
    reloaded, errors = admin.reload()
    assert not reloaded and len(errors) >= 2, errors
    assert ':2:' in errors[0] and 'token_bukket' in errors[0] and ':3:' in errors[1], errors
    assert all('\n' not in line for line in errors)
    assert peer.ask('k', 'r', 0)['limit'] == 5
    os.unlink(daemon.limits)
    reloaded, errors = admin.reload()
    assert not reloaded and 'limits.yaml' in errors[0], errors
    metrics = daemon.metrics()
    assert metrics['sluice_reloads_total{result="error"}'] >= 2
    assert abs(metrics['sluice_reload_last_failure_timestamp_seconds'] - time.time()) < 60
    assert peer.ask('k', 'r', 0)['limit'] == 5


def test_snapshot_without_a_state():
    body, data = Daemon(LIMITS).admin().call(SNAPSHOT)
    assert body == 15 and data['code'] == UNIMPLEMENTED and '--no-state' in data['message'], (body, data)


def test_snapshot_is_on_disk_when_answered():
    folder = tempfile.mkdtemp(prefix='sluice-e2e-state-')
    daemon = Daemon(LIMITS, '--state-dir', folder, '--snapshot-interval', '1h', no_state=False)
    peer = daemon.connect()
    for _ in range(3):
        peer.ask('k', 'r')
    body, data = daemon.admin().call(SNAPSHOT)
    assert body == SNAPSHOT, (body, data)
    daemon.stop(signal.SIGKILL)
    again = Daemon(LIMITS, '--state-dir', folder, no_state=False)
    assert again.connect().ask('k', 'r', 0)['remaining'] == 2
    again.stop()


def test_admin_frames_are_refused_elsewhere():
    peer = Daemon(LIMITS).connect()
    for field in (STATS, RELOAD, SNAPSHOT):
        peer.send(frame(5, field, b''))
        ident, body, got = peer.answer()
        assert (ident, body, got['code']) == (5, 15, PERMISSION_DENIED), (ident, body, got)
    assert peer.ask('k', 'r')['allowed']


def test_admin_answers_questions_too():
    daemon = Daemon(LIMITS)
    admin = daemon.admin()
    assert admin.ask('k', 'r')['remaining'] == 4
    assert daemon.connect().ask('k', 'r')['remaining'] == 3
    metrics = daemon.metrics()
    assert metrics['sluice_requests_total{protocol="admin",kind="should_allow"}'] == 1


def test_frames_that_look_like_words():
    daemon = Daemon(LIMITS)
    # An AuthRequest without an id whose lengths are capitals: "DRB", then a byte that is none.
    token = b'A' * 64
    payload = text(10, text(1, token))
    assert varint(len(payload)) + payload[:2] == b'DRB'
    peer = daemon.admin()
    for byte in (varint(len(payload)) + payload)[:6]:
        peer.send(bytes([byte]))
        time.sleep(0.01)
    peer.send((varint(len(payload)) + payload)[6:])
    assert peer.answer() == (0, 10, b'')
    # No word and no frame: told apart by its first bytes, and answered as a frame.
    peer = daemon.admin()
    peer.send(b'GE\x01')
    peer.socket.settimeout(0.3)
    try:
        peer.answer()
        raise AssertionError('a frame of 71 bytes is not complete')
    except TimeoutError:
        pass
    peer.send(bytes(80))
    peer.socket.settimeout(20)
    assert peer.answer()[2]['code'] == INVALID_ARGUMENT
    peer = daemon.admin()
    peer.send(b'GET')
    time.sleep(0.1)
    peer.send(b' /nowhere HTTP/1.1\r\nHost: x\r\n\r\n')
    assert peer.socket.recv(9) == b'HTTP/1.1 '


def test_admin_connections_have_a_bound_of_their_own():
    daemon = Daemon(LIMITS, '--max-connections', '3')
    peers = [daemon.connect() for _ in range(3)]
    assert all(peer.ask('k', 'r', 0)['limit'] == 5 for peer in peers)
    admins = [daemon.admin() for _ in range(32)]
    assert all('sluice_counters' in admin.stats() for admin in admins)
    over = daemon.admin()
    assert over.answer()[1] == 15 and over.closed()
    admins[0].close()
    assert wait_until(lambda: try_stats(daemon)), 'room again'


def try_stats(daemon):
    try:
        return 'sluice_counters' in daemon.admin().stats()
    except (AssertionError, OSError, TypeError):
        return False


def test_requests_go_on_while_an_operator_waits():
    daemon = Daemon(LIMITS, '--workers', '1')
    done, slowest = threading.Event(), [0.0]

    def asker():
        peer = daemon.connect()
        while not done.is_set():
            start = time.monotonic()
            peer.ask('k', 'r', 0)
            slowest[0] = max(slowest[0], time.monotonic() - start)
    thread = threading.Thread(target=asker)
    thread.start()
    # Some megabytes of metrics and a file that takes its time, over and over.
    many = 'limits:\n' + ''.join(f'  l{i}: {{algorithm: fixed_window, limit: 5, window: 1h}}\n' for i in range(4000))
    with open(daemon.limits, 'w', encoding='utf-8') as out:
        out.write(many + '  a: {algorithm: token_bucket, limit: 5, window: 365d}\nroutes:\n  "*": [a]\n')
    admin = daemon.admin()
    for _ in range(5):
        assert admin.reload()[0]
        assert admin.stats().count('\n') > 8000
    done.set()
    thread.join()
    assert slowest[0] < 1, slowest


def test_stopping_answers_who_waits():
    daemon = Daemon(LIMITS)
    admin = daemon.admin()
    assert admin.stats()
    admin.send(b''.join(frame(i, RELOAD, b'') for i in range(1, 200)))
    code, seconds = daemon.stop()
    assert code == 0 and seconds < 5, (code, seconds)
    last = None
    while True:
        got = admin.answer()
        if got is None:
            break
        last = got
    assert last[0] == 0 and last[2]['code'] == 14, last


def test_unix_socket():
    daemon = native.Daemon(LIMITS, listen=('native=127.0.0.1:0', 'admin=unix:@/admin.sock'))
    assert 'sluice_counters 0' in Admin(daemon.addresses[-1]).stats()


main(globals())
