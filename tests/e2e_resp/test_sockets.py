"""The Redis protocol over real sockets: pieces, pipelines, back-pressure, hostile and silent peers."""
import os
import socket
import threading
import time

import resp
from native import SANITIZED, main

THROTTLE = resp.command('CL.THROTTLE', 'k', 4, 10, 50)


def test_a_byte_at_a_time():
    daemon = resp.daemon()
    peer = resp.Connection(daemon.addresses[0])
    for byte in THROTTLE:
        peer.send(bytes([byte]))
        time.sleep(0.002)
    assert peer.reply() == [0, 5, 4, -1, 5]


def test_three_and_a_half_then_the_rest():
    daemon = resp.daemon()
    peer = resp.Connection(daemon.addresses[0])
    peer.send(THROTTLE * 3 + THROTTLE[:20])
    assert [peer.reply()[2] for _ in range(3)] == [4, 3, 2]
    time.sleep(0.5)
    peer.send(THROTTLE[20:])
    assert peer.reply() == [0, 5, 1, -1, 20]


def test_ten_thousand_are_read_only_afterwards():
    daemon = resp.daemon()
    peer = resp.Connection(daemon.addresses[0])
    asked = resp.command('CL.THROTTLE', 'many', 99999, 1, 1) * 10000
    sender = threading.Thread(target=peer.send, args=(asked,))
    sender.start()
    time.sleep(1)
    got = [peer.reply()[2] for _ in range(10000)]
    sender.join()
    # One drains each second meanwhile.
    assert all(99999 - i <= remaining <= 99999 - i + 30 for i, remaining in enumerate(got)), got[:5]


def test_a_peer_that_reads_nothing_takes_no_memory():
    daemon = resp.daemon()
    good = resp.Connection(daemon.addresses[0])
    assert good.ask('PING') == 'PONG'
    before = daemon.resident_bytes()
    asked = resp.command('ECHO', b'x' * 60000) * 20
    deaf = []
    for _ in range(20):
        peer = resp.Connection(daemon.addresses[0])
        peer.socket.settimeout(0.2)
        try:
            for _ in range(50):
                peer.send(asked)
        except socket.timeout:
            pass
        deaf.append(peer)
    assert good.ask('PING') == 'PONG'
    if not SANITIZED:
        assert daemon.resident_bytes() - before < 32 << 20, daemon.resident_bytes() - before
    for peer in deaf:
        peer.close()


def test_hostile_bytes_are_answered_and_closed():
    daemon = resp.daemon()
    good = resp.Connection(daemon.addresses[0])
    assert good.ask('PING') == 'PONG'
    before = daemon.resident_bytes()
    for data in (b'*2000000000\r\n', b'*1\r\n$2000000000\r\n', b'*1\r\n' * 100000, b'*1\r\n:5\r\n', b'*1\r\n$-1\r\n',
                 b'*5\r\n$11\r\ncl.throttle\r\n$5\r\nkey1\r\n$1\r\n4\r\n', b'*1\r\n$3\r\nabcd\r\n',
                 b'GET / HTTP/1.1\r\nHost: x\r\n\r\n', b'\x16\x03\x01\x02\x00\x01', b'x' * 70000,
                 b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'):
        peer = resp.Connection(daemon.addresses[0])
        try:
            peer.send(data)
        except OSError:
            pass  # closed while it was still being sent
        got = peer.reply()
        assert isinstance(got, resp.Error) and str(got).startswith('ERR Protocol error: '), (data[:20], got)
        assert peer.closed(), data[:20]
    if not SANITIZED:
        assert daemon.resident_bytes() - before < 8 << 20
    assert good.ask('PING') == 'PONG'


def test_the_same_error_in_two_pieces():
    daemon = resp.daemon()
    peer = resp.Connection(daemon.addresses[0])
    peer.send(b'*2\r\n$4\r\nECHO\r\n$5\r\nkey1\r')
    time.sleep(0.1)
    peer.send(b'\n$1\r\n')
    assert 'Protocol error' in str(peer.reply())
    assert peer.closed()


def test_an_unfinished_command_is_cut():
    daemon = resp.daemon('--request-timeout', '500ms')
    peer, silent = (resp.Connection(daemon.addresses[0]) for _ in range(2))
    peer.send(THROTTLE[:-1])
    start = time.monotonic()
    assert 'was not finished within the request time-out' in str(peer.reply())
    assert peer.closed()
    assert time.monotonic() - start < 5
    assert silent.ask('PING') == 'PONG'


def test_quit_and_shutdown():
    daemon = resp.daemon()
    leaving, staying = (resp.Connection(daemon.addresses[0]) for _ in range(2))
    leaving.send(b'QUIT\r\nPING\r\n')
    assert leaving.reply() == 'OK'
    assert leaving.closed()
    assert staying.ask('PING') == 'PONG'
    assert daemon.stop()[0] == 0
    assert staying.closed()  # and nothing that could be taken for a reply


def test_a_unix_socket_and_the_limits_file():
    daemon = resp.daemon(listen=('resp=unix:@/socket',))
    peer = resp.Connection(daemon.addresses[0])
    allow = ('SLUICE.ALLOW', 'alice', 'POST /login')
    assert peer.ask(*allow)[:4] == [1, 5, 4, -1]
    for left in (3, 2, 1, 0):
        assert peer.ask(*allow)[2] == left
    refused = peer.ask(*allow)
    assert refused[:3] == [0, 5, 0] and 3590000 < refused[3] <= 3600000, refused
    assert refused[5:] == [0, b'login', b'OVER_LIMIT'], refused
    assert peer.ask('SLUICE.RESET', 'alice', 'POST /login') == 1
    assert peer.ask(*allow)[2] == 4


def test_changes_only_where_they_are_allowed():
    daemon = resp.daemon('--allow-changes', 'none')
    peer = resp.Connection(daemon.addresses[0])
    peer.ask('CL.THROTTLE', 'k', 4, 10, 50)
    assert str(peer.ask('DEL', 'k')).startswith('NOPERM ')
    assert peer.ask('CL.THROTTLE', 'k', 4, 10, 50)[2] == 3


def test_one_count_on_all_connections_and_workers():
    daemon = resp.daemon('--workers', '4')
    got = []

    def ask():
        peer = resp.Connection(daemon.addresses[0])
        peer.send(resp.command('CL.THROTTLE', 'shared', 999, 1, 86400) * 500)
        got.extend(tuple(peer.reply()) for _ in range(500))
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    allowed = sorted(answer[2] for answer in got if answer[0] == 0)
    assert allowed == list(range(1000)), (len(allowed), allowed[:5])
    assert len(got) == 4000 and all(answer[2] == 0 for answer in got if answer[0] == 1)


def test_throttle_keys_outlive_a_reload():
    daemon = resp.daemon()
    peer = resp.Connection(daemon.addresses[0])
    assert peer.ask('CL.THROTTLE', 'k', 9, 1, 3600, 3)[2] == 7
    daemon.write_limits('limits: {}\nroutes: {}\n')
    os.kill(daemon.process.pid, 1)
    deadline = time.monotonic() + 10
    while peer.ask('SLUICE.ALLOW', 'k', 'POST /login')[7] != b'NO_LIMIT':
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert peer.ask('CL.THROTTLE', 'k', 9, 1, 3600)[2] == 6


main(globals())
