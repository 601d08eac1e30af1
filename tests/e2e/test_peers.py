"""Peers that misbehave: never read, never finish, stay silent, come in crowds, leave halfway."""
import os
import socket
import time

from native import SANITIZED, UNAVAILABLE, Connection, Daemon, ask, ask_body, frame, main, read_varint, text, varint

LIMITS = '''limits:
  big: {algorithm: fixed_window, limit: 1000, window: year}
  other: {algorithm: fixed_window, limit: 100000, window: year}
routes:
  "big": [big]
  "*": [other]
'''


def test_a_peer_that_never_reads():
    daemon = Daemon(LIMITS, '--workers', '1')
    before = daemon.resident_bytes()
    peers = []
    for _ in range(20):
        peer = Connection(daemon.addresses[0])
        peer.socket.setblocking(False)
        peers.append(peer)
    questions = b''.join(ask(i, 'deaf', 'x', details=True) for i in range(1, 1000))
    sent = 0
    deadline = time.monotonic() + 5
    good = daemon.connect()
    stuck = 0
    while stuck < 200 and time.monotonic() < deadline:
        moved = 0
        for peer in peers:
            try:
                moved += peer.socket.send(questions)
            except BlockingIOError:
                pass
        sent += moved
        stuck = 0 if moved else stuck + 1
        if not moved:
            time.sleep(0.002)
        start = time.monotonic()
        assert 'allowed' in good.ask('good', 'x')
        assert time.monotonic() - start < 2
    grown = daemon.resident_bytes() - before
    assert sent > 2 << 20, sent
    assert SANITIZED or grown < 40 << 20, f'{grown} bytes for 20 deaf peers that sent {sent}'
    for peer in peers:
        peer.close()
    assert daemon.stop()[0] == 0


def idents(peer):
    """Reads once; the ids of the whole answers at hand (all of them shorter than 128 bytes)."""
    peer.data += peer.socket.recv(1 << 20)
    data, at, out = peer.data, 0, []
    while at < len(data) and len(data) >= at + 1 + data[at]:
        assert data[at] < 128 and data[at + 1] == 8
        ident, _ = read_varint(data, at + 2)
        out.append(ident)
        at += 1 + data[at]
    peer.data = data[at:]
    return out


def test_a_deaf_peer_gets_everything_once_it_reads():
    daemon = Daemon(LIMITS, '--workers', '1')
    peer = daemon.connect()
    count = 300000
    questions = b''.join(ask(i, 'k', 'x') for i in range(1, count + 1))
    peer.socket.setblocking(False)
    at = 0
    answers = bytearray()
    time_up = time.monotonic() + 60
    while at < len(questions):
        try:
            at += peer.socket.send(questions[at:at + (1 << 20)])
        except BlockingIOError:
            time.sleep(0.01)
            try:   # read a little only when nothing more can be sent
                answers += peer.socket.recv(1 << 16)
            except BlockingIOError:
                pass
        assert time.monotonic() < time_up
    peer.socket.settimeout(20)
    peer.data = bytes(answers)
    expected = 1
    while expected <= count:
        for ident in idents(peer):
            assert ident == expected, (ident, expected)
            expected += 1
    daemon.stop()


def test_unfinished_frames_are_cut():
    daemon = Daemon(LIMITS, '--request-timeout', '300ms')
    slow, half, quiet, good = (daemon.connect() for _ in range(4))
    start = time.monotonic()
    slow.send(b'\x80')
    half.send(ask(1, 'k', 'x') + ask(2, 'k', 'x')[:7])
    assert half.answer()[0] == 1
    for peer in (slow, half):
        ident, body, got = peer.answer()
        assert ident == 0 and body == 15 and got['code'] == UNAVAILABLE, (ident, body, got)
        assert peer.closed()
    assert 0.25 < time.monotonic() - start < 2
    time.sleep(0.3)
    assert good.ask('k', 'x')['allowed'] and quiet.ask('k', 'x')['allowed'], 'idle connections are kept'
    daemon.stop()


def test_one_byte_at_a_time_does_not_buy_time():
    daemon = Daemon(LIMITS, '--request-timeout', '400ms')
    peer = daemon.connect()
    question = frame(1, 2, ask_body('k' * 500, 'x'))
    start = time.monotonic()
    cut = False
    for byte in question:
        try:
            peer.send(bytes([byte]))
        except OSError:
            cut = True
            break
        time.sleep(0.02)
        if time.monotonic() - start > 5:
            break
    assert cut and time.monotonic() - start < 3
    daemon.stop()


def test_silent_peers_are_closed_when_asked():
    daemon = Daemon(LIMITS, '--idle-timeout', '300ms')
    peer = daemon.connect()
    assert peer.ask('k', 'x')['allowed']
    start = time.monotonic()
    assert peer.closed()
    assert 0.2 < time.monotonic() - start < 2
    busy = daemon.connect()
    for _ in range(10):
        time.sleep(0.1)
        assert busy.ask('k', 'x')['allowed']
    daemon.stop()


def test_the_connection_limit():
    daemon = Daemon(LIMITS, '--max-connections', '5', '--workers', '2')
    peers = [daemon.connect() for _ in range(5)]
    assert all(peer.ask('k', 'x')['allowed'] for peer in peers)
    for _ in range(3):
        over = daemon.connect()
        ident, body, got = over.answer()
        assert ident == 0 and body == 15 and got['code'] == UNAVAILABLE and over.closed()
    peers.pop().close()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        again = daemon.connect()
        again.send(ask(7, 'k', 'x'))
        if again.answer()[0] == 7:
            break
        time.sleep(0.02)
    else:
        raise AssertionError('no room after one has left')
    daemon.stop()


def crowd(daemon, key):
    peers = [daemon.connect() for _ in range(800)]
    for peer in peers:
        peer.send(ask(1, key, 'big'))
    assert sum(peer.answer()[2]['allowed'] for peer in peers) == 800
    for peer in peers:
        peer.close()
    deadline = time.monotonic() + 10
    while daemon.sockets() > 1 and time.monotonic() < deadline:   # the listener stays
        time.sleep(0.05)
    return daemon.sockets()


def test_a_crowd_comes_and_goes():
    daemon = Daemon(LIMITS, '--workers', '2')
    assert crowd(daemon, 'first') == 1
    files, resident = daemon.open_files(), daemon.resident_bytes()
    for i in range(3):
        assert crowd(daemon, f'again{i}') == 1
    assert daemon.open_files() == files, (daemon.open_files(), files)
    grown = daemon.resident_bytes() - resident
    assert SANITIZED or grown < resident / 20 + (1 << 20), (grown, resident)
    daemon.stop()


def test_no_descriptors_left():
    daemon = Daemon(LIMITS, preexec_fn=lambda: __import__('resource').setrlimit(7, (140, 140)))
    peers = []
    for _ in range(200):
        peer = daemon.connect()
        peer.send(ask(1, 'k', 'x'))
        peers.append(peer)
    answers = [peer.answer() for peer in peers]
    served = [a for a in answers if a[1] == 2]
    refused = [a for a in answers if a[1] == 15 and a[2]['code'] == UNAVAILABLE]
    assert len(served) + len(refused) == 200 and len(served) >= 60, (len(served), len(refused))
    daemon.stop()


def test_half_closed_peers_get_their_answers():
    daemon = Daemon(LIMITS)
    peer = daemon.connect()
    peer.send(ask(1, 'k', 'x') + ask(2, 'k', 'x'))
    peer.socket.shutdown(socket.SHUT_WR)
    assert peer.answer()[0] == 1 and peer.answer()[0] == 2 and peer.closed()
    daemon.stop()


def test_peers_that_vanish():
    daemon = Daemon(LIMITS)
    for i in range(50):
        peer = daemon.connect()
        peer.send(ask(1, 'k', 'x') * 50)
        if i % 2:
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
        peer.close()
    assert daemon.connect().ask('k', 'x')['allowed']
    daemon.stop()


def test_unix_socket():
    daemon = Daemon(LIMITS, listen=('native=unix:@/s', 'native=127.0.0.1:0'))
    path = daemon.addresses[0]
    assert daemon.lines[0] == f'listening native unix:{path}' and os.stat(path).st_mode & 0o777 == 0o660
    peer = daemon.connect(0)
    assert peer.ask('k', 'x')['remaining'] == 99999
    peer.send(frame(1, 5, text(1, 'k') + text(2, 'x')))
    assert peer.answer()[1] == 5
    assert daemon.connect(1).ask('k', 'x')['remaining'] == 99999
    peer.send(varint(2**31))
    assert peer.answer()[1] == 15 and peer.closed()
    assert daemon.stop()[0] == 0
    assert not os.path.exists(path)


def test_stop_with_a_deaf_peer():
    daemon = Daemon(LIMITS, '--shutdown-timeout', '1s')
    peer = daemon.connect()
    peer.socket.setblocking(False)
    questions = ask(1, 'k', 'x', details=True) * 1000
    for _ in range(2000):
        try:
            peer.socket.send(questions)
        except BlockingIOError:
            time.sleep(0.001)
    idle = daemon.connect()
    code, seconds = daemon.stop()
    assert code == 0 and seconds < 3, (code, seconds)
    assert idle.answer()[2]['code'] == UNAVAILABLE and idle.closed()


main(globals())
