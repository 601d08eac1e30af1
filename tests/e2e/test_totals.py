"""Exact totals under parallel calls: 200 connections ask for one key at once; as many pass as the limit says, and each
remaining comes up once. With one worker, with several, and with a reload in the middle."""
import select
import time

from native import Connection, Daemon, ask, main, response, fields

LIMITS = '''limits:
  fixed: {algorithm: fixed_window, limit: 1000, window: year}
  slog: {algorithm: sliding_window_log, limit: 1000, window: 1h}
  token: {algorithm: token_bucket, limit: 1, window: 3650d, burst: 1000}
  leaky: {algorithm: leaky_bucket, limit: 1, window: 3650d, burst: 1000}
  few: {algorithm: fixed_window, limit: 600, window: year}
routes:
  "fixed": [fixed]
  "slog": [slog]
  "token": [token]
  "leaky": [leaky]
  "both": [fixed, few]
'''
CONNECTIONS, EACH = 200, 50


def storm(daemon, key, route, meanwhile=None):
    """Every answer to 200 x 50 questions for one key."""
    peers = {}
    for _ in range(CONNECTIONS):
        peer = Connection(daemon.addresses[0])
        peers[peer.socket] = (peer, [])
    questions = b''.join(ask(i + 1, key, route) for i in range(EACH))
    for peer, _ in peers.values():
        peer.send(questions)
    waiting = set(peers)
    while waiting:
        if meanwhile:
            meanwhile()
        ready = select.select(list(waiting), [], [], 20)[0]
        assert ready, 'answers are missing'
        for sock in ready:
            peer, answers = peers[sock]
            answers.append(peer.answer())
            while len(answers) < EACH and has_frame(peer.data):
                answers.append(peer.answer())
            if len(answers) == EACH:
                waiting.discard(sock)
    out = []
    for peer, answers in peers.values():
        assert [a[0] for a in answers] == list(range(1, EACH + 1))
        assert all(a[1] == 2 for a in answers)
        out += [a[2] for a in answers]
        peer.close()
    return out


def has_frame(data):
    return len(data) > 1 and len(data) >= 1 + data[0] and data[0] < 128


def check(daemon, run):
    for route in ('fixed', 'slog', 'token', 'leaky'):
        answers = storm(daemon, f'{route}-{run}', route)
        passed = sorted(a['remaining'] for a in answers if a['allowed'])
        assert passed == list(range(1000)), (route, len(passed))
    answers = storm(daemon, f'both-{run}', 'both')
    assert sum(a['allowed'] for a in answers) == 600
    peer = daemon.connect()
    assert peer.ask(f'both-{run}', 'fixed', 0)['remaining'] == 400
    peer.close()


def test_one_worker():
    daemon = Daemon(LIMITS, '--workers', '1')
    check(daemon, 1)
    assert daemon.stop()[0] == 0


def test_four_workers():
    daemon = Daemon(LIMITS, '--workers', '4')
    for run in range(3):
        check(daemon, run)
    assert daemon.stop()[0] == 0


def test_reloads_meanwhile():
    daemon = Daemon(LIMITS, '--workers', '3')
    last = [0.0, 0]

    def reload():
        if time.monotonic() - last[0] > 0.02:
            last[0] = time.monotonic()
            last[1] += 1
            daemon.write_limits(LIMITS.replace('limit: 600', f'limit: {600 + last[1]}'))
            daemon.process.send_signal(1)
    for route in ('fixed', 'slog', 'token', 'leaky'):
        answers = storm(daemon, f'reload-{route}', route, reload)
        passed = sorted(a['remaining'] for a in answers if a['allowed'])
        assert passed == list(range(1000)), (route, len(passed))
    assert daemon.wait_for_log('limits reloaded')
    assert daemon.stop()[0] == 0


main(globals())
