"""Every way in which a limits file can change is noticed within 2 s; a half-written, empty or missing one changes
nothing."""
import os
import re
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import main  # noqa: E402
from operate import Daemon, samples, total, wait_until  # noqa: E402
from watched import WITHIN, Watched, limits, write  # noqa: E402


def test_in_place_and_renamed_over():
    w = Watched()
    w.peer.ask('used', 'r', 4)
    write(w.path, limits(11))
    w.expect(11)
    for number in (12, 13, 14):
        write(w.path + '.tmp', limits(number))
        os.rename(w.path + '.tmp', w.path)
        w.expect(number)
    assert w.peer.ask('used', 'r', 0)['remaining'] == 10
    shutil.copyfile(w.path, w.path + '~')
    write(w.path + '~', limits(15))
    os.utime(w.path + '~', (1, 1))
    os.replace(w.path + '~', w.path)
    w.expect(15)


def test_same_size_and_time():
    w = Watched(41)
    about = os.stat(w.path)
    write(w.path, limits(42))
    os.utime(w.path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert os.stat(w.path).st_size == about.st_size and os.stat(w.path).st_mtime_ns == about.st_mtime_ns
    w.expect(42)


def test_links_as_kubernetes_swaps_them():
    w = Watched()

    def version(name, number):
        os.makedirs(f'{w.folder}/..{name}')
        write(f'{w.folder}/..{name}/limits.yaml', limits(number))
        os.symlink(f'..{name}', f'{w.folder}/..data_tmp')
        os.rename(f'{w.folder}/..data_tmp', f'{w.folder}/..data')
    version('v1', 20)
    os.symlink('..data/limits.yaml', w.path + '.l')
    os.rename(w.path + '.l', w.path)
    w.expect(20)
    for number in range(21, 25):
        version(f'v{number}', number)
        shutil.rmtree(f'{w.folder}/..v{number - 1 if number > 21 else 1}')
        w.expect(number)
    write(f'{w.folder}/..data/limits.yaml', limits(30))
    w.expect(30)


def test_link_elsewhere():
    w = Watched()
    away = tempfile.mkdtemp(prefix='sluice-e2e-away-')
    os.makedirs(f'{away}/one/deep')
    os.makedirs(f'{away}/two/deep')
    write(f'{away}/one/deep/l.yaml', limits(31))
    write(f'{away}/two/deep/l.yaml', limits(32))
    os.symlink(f'{away}/one', f'{away}/current')
    os.symlink(f'{away}/current/deep/../deep/l.yaml', w.path + '.l')
    os.rename(w.path + '.l', w.path)
    w.expect(31)
    os.symlink('two', f'{away}/next')
    os.rename(f'{away}/next', f'{away}/current')
    w.expect(32)
    write(f'{away}/two/deep/l.yaml', limits(33))
    w.expect(33)
    shutil.rmtree(away)
    w.stays(33, 1.5)


def test_directory_replaced():
    w = Watched()
    home = f'{w.folder}/home'
    os.makedirs(home)
    write(f'{home}/limits.yaml', limits(40))
    link = f'{w.folder}/by-directory'
    os.symlink(f'{home}/limits.yaml', link)
    os.rename(link, w.path)
    w.expect(40)
    os.makedirs(f'{w.folder}/home.new')
    write(f'{w.folder}/home.new/limits.yaml', limits(41))
    os.rename(home, f'{w.folder}/home.old')
    os.rename(f'{w.folder}/home.new', home)
    w.expect(41)
    shutil.rmtree(home)
    w.stays(41, 0.3)
    os.makedirs(home)
    write(f'{home}/limits.yaml', limits(42))
    w.expect(42)


def test_gone_and_back():
    w = Watched(16)
    os.rename(w.path, w.path + '~')
    time.sleep(0.3)
    assert w.limit() == 16
    write(w.path, limits(17))
    w.expect(17)
    os.unlink(w.path)
    w.stays(17, 2)
    assert 'No such file' in w.daemon.logged() and 'old ones stay' in w.daemon.logged()
    write(w.path, limits(18))
    w.expect(18)


def test_truncated_then_written():
    w = Watched(18)
    with open(w.path, 'w', encoding='utf-8') as out:
        out.flush()
        w.stays(18, 0.5)
        half = limits(19)
        out.write(half[:half.index('routes')] + 'routes:\n')
        out.flush()
        w.stays(18, 0.5)
        out.write('  "*": [a]\n')
    w.expect(19)
    assert 'limits refused' not in w.daemon.logged(), 'a file that is being written is not read'


def test_a_writer_that_never_closes():
    w = Watched(18)
    with open(w.path, 'w', encoding='utf-8') as out:
        out.write(limits(19))
        out.flush()
        w.expect(19, 3)


def test_bad_files():
    w = Watched(19)
    w.peer.ask('used', 'r', 4)
    for count, bad in enumerate(('', 'limits: [', limits(-1), limits(20)[:40], '\0\0\0', 'a' * 100000), 1):
        write(w.path, bad)
        assert wait_until(lambda: w.daemon.metrics()['sluice_reloads_total{result="error"}'] == count, WITHIN), bad[:20]
        assert w.limit() == 19
    metrics = w.daemon.metrics()
    assert metrics['sluice_reloads_total{result="ok"}'] == 0
    assert abs(metrics['sluice_reload_last_failure_timestamp_seconds'] - time.time()) < 5
    assert re.search(r'limits\.yaml:\d+:\d+: ', w.daemon.logged())
    write(w.path, limits(21))
    w.expect(21)
    assert w.daemon.metrics()['sluice_reloads_total{result="ok"}'] == 1
    assert w.peer.ask('used', 'r', 0)['remaining'] == 17


def test_hangup():
    w = Watched(21)
    write(w.path, limits(22))
    w.daemon.process.send_signal(signal.SIGHUP)
    assert w.expect(22) < 0.5
    w.daemon.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: w.daemon.metrics()['sluice_reloads_total{result="ok"}'] == 2)
    w.stays(22, 1)
    assert w.daemon.metrics()['sluice_reloads_total{result="ok"}'] == 2, 'what SIGHUP has read is no change'


def test_a_directory_of_files():
    folder = tempfile.mkdtemp(prefix='sluice-e2e-dir-')
    first = 'limits:\n  a: {algorithm: fixed_window, limit: 10, window: year}\nroutes:\n  "a": [a]\n'
    write(f'{folder}/a.yaml', first)
    daemon = Daemon(limits(1), '--limits', folder)
    peer = daemon.connect()
    assert peer.ask('k', 'a', 0)['limit'] == 10

    def now(route, want):
        assert wait_until(lambda: peer.ask('k', route, 0)['limit'] == want, WITHIN), (route, want, daemon.logged()[-300:])
    write(f'{folder}/b.yaml', first.replace('"a": [a]', '"b": [b]').replace('  a:', '  b:').replace('10', '11'))
    now('b', 11)
    write(f'{folder}/b.yaml', first.replace('"a": [a]', '"b": [b]').replace('  a:', '  b:').replace('10', '12'))
    now('b', 12)
    os.makedirs(f'{folder}/..one')
    write(f'{folder}/..one/c.yaml', first.replace('"a": [a]', '"c": [c]').replace('  a:', '  c:').replace('10', '13'))
    os.symlink('..one', f'{folder}/..data')
    os.symlink('..data/c.yaml', f'{folder}/c.yaml')
    now('c', 13)
    os.makedirs(f'{folder}/..two')
    write(f'{folder}/..two/c.yaml', first.replace('"a": [a]', '"c": [c]').replace('  a:', '  c:').replace('10', '14'))
    os.symlink('..two', f'{folder}/..tmp')
    os.rename(f'{folder}/..tmp', f'{folder}/..data')
    now('c', 14)
    os.unlink(f'{folder}/b.yaml')
    assert wait_until(lambda: peer.ask('k', 'b', 0)['reason'] == 'NO_LIMIT', WITHIN)
    assert peer.ask('k', 'a', 0)['limit'] == 10
    write(f'{folder}/notes.txt', 'limits: [')
    write(f'{folder}/.hidden.yaml', 'limits: [')
    reloads = total(daemon.metrics(), 'sluice_reloads_total')
    time.sleep(1.2)
    assert total(daemon.metrics(), 'sluice_reloads_total') == reloads, 'other files are none of its business'


def test_nothing_changes_nothing_happens():
    w = Watched()
    write(f'{w.folder}/other', 'x')
    time.sleep(0.2)
    before = cpu_seconds(w.daemon.process.pid)
    for i in range(40):
        write(f'{w.folder}/other', str(i))
        time.sleep(0.05)
    spent = cpu_seconds(w.daemon.process.pid) - before
    assert spent < 0.2, spent
    assert total(w.daemon.metrics(), 'sluice_reloads_total') == 0
    names = samples(w.daemon.admin().stats())
    assert names['process_open_fds'] < 60


def cpu_seconds(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
        parts = stat.read().rpartition(')')[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf('SC_CLK_TCK')


main(globals())
