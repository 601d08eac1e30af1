"""SIGHUP: good files take effect and keep what was used, bad ones are refused whole, under load too."""
import signal
import threading
import time

from native import Daemon, main

LIMITS = '''limits:
  a: {algorithm: token_bucket, limit: 5, window: 365d}
routes:
  "a": [a]
'''


def hup(daemon, words, times=1):
    daemon.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 10
    while daemon.logged().count(words) < times:
        assert time.monotonic() < deadline, daemon.logged()
        time.sleep(0.01)


def test_good():
    daemon = Daemon(LIMITS)
    peer = daemon.connect()
    for _ in range(3):
        peer.ask('k', 'a')
    daemon.write_limits(LIMITS.replace('limit: 5', 'limit: 10'))
    hup(daemon, 'limits reloaded')
    got = peer.ask('k', 'a', 0)
    assert (got['limit'], got['remaining']) == (10, 7), got
    daemon.write_limits(LIMITS.replace('limit: 5', 'limit: 2'))
    hup(daemon, 'limits reloaded', 2)
    got = peer.ask('k', 'a', 0)
    assert (got['limit'], got['remaining']) == (2, 0), got
    hup(daemon, 'limits reloaded', 3)
    assert daemon.stop()[0] == 0


def test_bad():
    daemon = Daemon(LIMITS)
    peer = daemon.connect()
    assert peer.ask('k', 'a')['remaining'] == 4
    daemon.write_limits(LIMITS.replace('algorithm: token_bucket', 'algorithm: token_bukket'))
    hup(daemon, 'not reloaded')
    assert ':2:' in daemon.logged() and 'token_bukket' in daemon.logged()
    assert peer.ask('k', 'a')['remaining'] == 3, 'the old limits stay'
    daemon.write_limits('')
    hup(daemon, 'not reloaded', 2)
    daemon.write_limits('limits: {}\nroutes: {}\n')
    hup(daemon, 'limits reloaded')
    assert peer.ask('k', 'a')['reason'] == 'NO_LIMIT'
    assert daemon.stop()[0] == 0


def test_gone():
    daemon = Daemon(LIMITS)
    import os
    os.unlink(daemon.limits)
    hup(daemon, 'not reloaded')
    assert daemon.connect().ask('k', 'a')['allowed']
    assert daemon.stop()[0] == 0


def test_many_while_asked():
    daemon = Daemon(LIMITS.replace('limit: 5', 'limit: 1000000'), '--workers', '2')
    wrong, done = [], threading.Event()

    def asker(name):
        peer = daemon.connect()
        last = 1000000
        while not done.is_set():
            got = peer.ask(name, 'a')
            if not got.get('allowed') or got['remaining'] != last - 1:
                wrong.append((name, got, last))
                return
            last = got['remaining']
    threads = [threading.Thread(target=asker, args=(f'k{i}',)) for i in range(4)]
    for thread in threads:
        thread.start()
    for i in range(50):
        daemon.write_limits(LIMITS.replace('limit: 5', 'limit: 1000000') +
                            f'  "other{i}": [a]\n')
        daemon.process.send_signal(signal.SIGHUP)
        time.sleep(0.02)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:2]
    assert daemon.logged().count('limits reloaded') > 10
    assert daemon.stop()[0] == 0


def test_shadow_all():
    daemon = Daemon(LIMITS, '--shadow-all')
    peer = daemon.connect()
    answers = [peer.ask('k', 'a') for _ in range(7)]
    assert all(a['allowed'] for a in answers) and answers[6]['reason'] == 'SHADOWED', answers[6]
    assert 'shadow-all' in daemon.logged()
    hup(daemon, 'limits reloaded')
    assert peer.ask('k', 'a')['reason'] == 'SHADOWED'
    assert daemon.stop()[0] == 0


main(globals())
