"""promtool check metrics (Debian's prometheus) accepts the page: names, units, HELP and TYPE."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import ask, frame, main, text  # noqa: E402
from operate import Daemon, tool  # noqa: E402

if shutil.which('promtool') is None:
    print('SKIPPED: promtool is not installed (Debian package prometheus)')
    raise SystemExit(77)

LIMITS = '''limits:
  a: {algorithm: token_bucket, limit: 5, window: 365d}
  s: {algorithm: fixed_window, limit: 1, window: year, shadow: true}
  ip: {algorithm: fixed_window, limit: 1, window: year, count_by: [ip], ip_prefix: {of: ip, v4: 24, v6: 64}, shadow: true}
routes:
  "none": []
  "*": [a, s, ip]
'''


def check(page):
    done = subprocess.run(['promtool', 'check', 'metrics'], input=page, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_page_with_everything():
    daemon = Daemon(LIMITS, '--max-counters', '3', '--when-full', 'evict')
    peer = daemon.connect()
    for i in range(20):
        peer.ask(f'k{i % 5}', 'r', 1 + i % 9, {'ip': '192.0.2.7' if i % 2 else 'bad'})
    peer.ask('k', 'elsewhere')
    peer.ask('k', 'none')
    for data in (ask(2, '', 'r'), frame(3, 4, text(1, 'k0') + text(2, 'r')), frame(4, 5, text(1, 'k0') + text(2, 'r'))):
        peer.send(data)
        peer.answer()
    daemon.write_limits('limits: [')
    assert not daemon.admin().reload()[0]
    page = tool('stats', '--server', 'native://%s:%d' % daemon.addresses[-1]).stdout
    assert 'would_refuse' in page and 'shadow_error' in page and 'evicted_total{' in page, page
    assert check(page) == (0, ''), (check(page), page)


def test_it_complains_where_it_has_to():
    assert check('# TYPE x counter\nx 1\n')[0] != 0
    assert check('# TYPE x_total counter\nx_total{a="b} 1\n')[0] != 0


main(globals())
