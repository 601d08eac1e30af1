"""The native protocol over real sockets: every error rule, split and glued frames, batches, changes, identities."""
import time

from native import (INVALID_ARGUMENT, PERMISSION_DENIED, SANITIZED, UNIMPLEMENTED, Daemon, ask, ask_body, fields,
                    frame, main, number, response, text, varint)

LIMITS = '''limits:
  tb: {algorithm: token_bucket, limit: 5, window: 1h}
  one: {algorithm: fixed_window, limit: 1, window: year}
  big: {algorithm: fixed_window, limit: 1000, window: year}
  ip: {algorithm: fixed_window, limit: 3, window: year, count_by: [ip]}
routes:
  "tb": [tb]
  "one": [one]
  "big": [big]
  "ip": [ip]
  "two": [tb, big]
'''
DAEMON = Daemon(LIMITS)


def expect_error(data, code, ident, field=None, usable=True):
    peer = DAEMON.connect()
    peer.send(data)
    got_ident, body, got = peer.answer()
    assert body == 15 and got['code'] == code and got_ident == ident and got['message'], (got_ident, body, got)
    assert field is None or got['field'] == field, got
    if usable:
        assert peer.ask('usable', 'tb', 0)['allowed']
    else:
        assert peer.closed()
    peer.close()


def test_one_after_another():
    peer = DAEMON.connect()
    answers = [peer.ask('alice', 'tb') for _ in range(6)]
    assert [a['allowed'] for a in answers] == [True] * 5 + [False]
    assert [a['remaining'] for a in answers] == [4, 3, 2, 1, 0, 0]
    assert 700 * 10**9 < answers[5]['retry_after_ns'] <= 720 * 10**9
    assert answers[5]['reason'] == 'OVER_LIMIT' and answers[5]['limit_name'] == 'tb'
    assert answers[0]['retry_after_ns'] is None and answers[0]['reason'] == 'UNDER_LIMIT'


def test_cost_absent_zero_and_too_large():
    peer = DAEMON.connect()
    assert peer.ask('bob', 'tb', 0)['remaining'] == 5
    assert peer.ask('bob', 'tb')['remaining'] == 4
    assert peer.ask('bob', 'tb', 2**63 - 1)['reason'] == 'COST_EXCEEDS_LIMIT'
    expect_error(ask(3, 'k', 'tb', 2**63), INVALID_ARGUMENT, 3, 'cost')
    expect_error(ask(3, 'k', 'tb', 2**64 - 1), INVALID_ARGUMENT, 3, 'cost')


def test_nothing_limits():
    got = DAEMON.connect().ask('x', 'no such route')
    assert got['reason'] == 'NO_LIMIT' and got['limit'] == got['remaining'] == 999999999999999
    assert got['limit_name'] == '' and got['reset_after_ns'] is None


def test_details():
    assert DAEMON.connect().ask('d', 'two', details=True)['rows'] == 2


def test_field_errors():
    expect_error(ask(3, b'\xff\xfe', 'tb'), INVALID_ARGUMENT, 3, 'key')
    expect_error(ask(3, '', 'tb'), INVALID_ARGUMENT, 3, 'key')
    expect_error(frame(3, 2, text(2, 'tb')), INVALID_ARGUMENT, 3, 'key')
    expect_error(ask(3, 'k' * 1025, 'tb'), INVALID_ARGUMENT, 3, 'key')
    expect_error(ask(3, 'k', ''), INVALID_ARGUMENT, 3, 'route')
    expect_error(ask(3, 'k', 'r' * 1025), INVALID_ARGUMENT, 3, 'route')
    expect_error(ask(3, 'k', 'ip'), INVALID_ARGUMENT, 3, 'attributes.ip')
    expect_error(ask(3, 'k', 'tb', None, {f'a{i}': '' for i in range(17)}), INVALID_ARGUMENT, 3, 'attributes')
    expect_error(ask(3, 'k', 'tb', None, {'ip': 'x' * 1025}), INVALID_ARGUMENT, 3, 'attributes.ip')
    twice = text(4, text(1, 'ip') + text(2, '1'))
    expect_error(frame(3, 2, ask_body('k', 'tb') + twice + twice), INVALID_ARGUMENT, 3)
    assert DAEMON.connect().ask('k' * 1024, 'r' * 1024)['allowed']


def test_frames_that_end_the_connection():
    expect_error(varint(5) + b'\x0f\xff\xff\xff\xff', INVALID_ARGUMENT, 0, usable=False)
    expect_error(varint(4) + number(1, 42) + b'\x12\x7f', INVALID_ARGUMENT, 42, usable=False)
    expect_error(varint(4) + number(1, 42) + b'\x10\x01', INVALID_ARGUMENT, 42, usable=False)
    expect_error(varint(2**31), INVALID_ARGUMENT, 0, usable=False)
    expect_error(varint(256 * 1024 + 1), INVALID_ARGUMENT, 0, usable=False)
    expect_error(b'\xff' * 10 + b'\x01', INVALID_ARGUMENT, 0, usable=False)
    expect_error(b'\x80' * 3, INVALID_ARGUMENT, 0, usable=False)
    expect_error(b'GET / HTTP/1.1\r\nUser-Agent: ' + b'y' * 99 + b'\r\n\r\n', INVALID_ARGUMENT, 0, usable=False)


def test_an_error_is_read_even_with_more_sent_behind_it():
    peer = DAEMON.connect()
    peer.send(varint(2**31) + bytes(300000))
    assert peer.answer()[1] == 15
    peer.close()


def test_bodies():
    expect_error(b'\0', UNIMPLEMENTED, 0)
    expect_error(frame(5, 0, b''), UNIMPLEMENTED, 5)
    for field in (11, 15, 19, 20, 29, 1000):
        expect_error(frame(5, field, b''), UNIMPLEMENTED, 5)
    for field in (7, 8, 9):
        expect_error(frame(5, field, b''), PERMISSION_DENIED, 5)
    peer = DAEMON.connect()
    peer.send(frame(1, 6, b'') + frame(2, 10, text(1, 'token')))
    assert peer.answer() == (1, 6, b'') and peer.answer() == (2, 10, b'')


def test_unknown_fields_are_skipped():
    peer = DAEMON.connect()
    peer.send(frame(8, 2, ask_body('z', 'tb') + text(77, b'new') + number(78, 9)))
    assert peer.answer()[2]['allowed']
    before = DAEMON.resident_bytes()
    for _ in range(20):
        peer.send(frame(9, 2, ask_body('z', 'tb') + number(15, 1) * 131000))
        assert peer.answer()[1] == 2
    assert SANITIZED or DAEMON.resident_bytes() - before < 20 << 20


def test_byte_by_byte_and_glued():
    peer = DAEMON.connect()
    for byte in ask(99, 'slow', 'tb'):
        peer.send(bytes([byte]))
        time.sleep(0.001)
    assert peer.answer()[2]['remaining'] == 4
    half = ask(4, 'slow', 'tb')
    peer.send(ask(1, 'slow', 'tb') + ask(2, 'slow', 'tb') + ask(3, 'slow', 'tb') + half[:5])
    assert [peer.answer()[0] for _ in range(3)] == [1, 2, 3]
    time.sleep(0.2)
    peer.send(half[5:])
    assert peer.answer()[0] == 4
    large = ask_body('large', 'tb') + text(77, bytes(250000))
    peer.send(frame(5, 2, large))
    assert peer.answer()[2]['remaining'] == 4


def test_ten_thousand_before_reading():
    peer = DAEMON.connect()
    peer.send(b''.join(ask(i, f'p{i % 7}', 'big') for i in range(1, 10001)))
    answers = [peer.answer() for _ in range(10000)]
    assert [a[0] for a in answers] == list(range(1, 10001))
    assert sum(a[2]['allowed'] for a in answers) == 7 * 1000
    peer.send(ask(0, 'x', 'tb'))
    assert peer.answer()[0] == 0


def test_odd_keys():
    peer = DAEMON.connect()
    odd = [b'a', b'a ', b' a', b'A', b'a\t', b'a\r\n', b'a\0', b'\0', '\u00e9'.encode(), b'e\xcc\x81',
           '\u200b'.encode(), '\U0001f600'.encode(), b'null', b'undefined', b'*', b'-', b'unlimited']
    assert all(peer.ask(key, 'one')['allowed'] for key in odd)
    assert not any(peer.ask(key, 'one')['allowed'] for key in odd)


def test_batches():
    peer = DAEMON.connect()
    member = text(1, ask_body('batch', 'tb'))
    peer.send(frame(4, 3, member * 3 + text(1, ask_body('', 'tb')) + member * 4))
    ident, body, data = peer.answer()
    results = [fields(x) for x in fields(data)[1]]
    assert (ident, body) == (4, 3) and len(results) == 8
    assert fields(results[3][2][0])[2] == [b'key']
    allowed = [response(x[1][0])['allowed'] for x in results if 1 in x]
    assert allowed == [True] * 5 + [False] * 2
    peer.send(frame(5, 3, b''))
    assert peer.answer() == (5, 3, b'')
    peer.send(frame(6, 3, text(1, ask_body('large', 'two', details=True)) * 1000))
    assert len(fields(peer.answer()[2])[1]) == 1000
    expect_error(frame(7, 3, member * 1001), INVALID_ARGUMENT, 7, 'requests')


def test_refund_and_reset():
    peer = DAEMON.connect()
    for _ in range(5):
        peer.ask('r', 'tb')
    peer.send(frame(1, 4, text(1, 'r') + text(2, 'tb') + number(3, 2)))
    assert peer.answer()[2]['remaining'] == 2
    peer.send(frame(2, 4, text(1, 'r') + text(2, 'tb') + number(3, 2**63 - 1)))
    assert peer.answer()[2]['remaining'] == 5
    peer.ask('r', 'tb')
    peer.send(frame(3, 5, text(1, 'r') + text(2, 'tb')) + frame(4, 5, text(1, 'r') + text(2, 'tb')))
    assert peer.answer()[2] == number(1, 1) and peer.answer()[2] == b''
    expect_error(frame(5, 4, text(1, '') + text(2, 'tb')), INVALID_ARGUMENT, 5, 'key')


def test_no_key_forges_a_log_line():
    DAEMON.connect().ask('evil\ntime=1 level=error event="forged"', 'one')
    assert 'forged' not in DAEMON.logged()


def test_last_sigterm():
    peer = DAEMON.connect()
    assert peer.ask('t', 'tb')['allowed']
    code, seconds = DAEMON.stop()
    assert code == 0 and seconds < 5, (code, seconds)
    ident, body, got = peer.answer()
    assert ident == 0 and body == 15 and got['code'] == 14 and peer.closed()


main(globals())
