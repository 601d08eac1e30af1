"""Writes a golden state: make_golden.py BIN_FOLDER NAME. Only when the format gets a new version; the old ones stay as
they are for ever (server/persist/format.h)."""
import json
import os
import shutil
import signal
import sys
import time

from state import State, ask_body, frame

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'persist', 'golden', sys.argv[2])
LIMITS = """limits:
  token:
    {algorithm: token_bucket, limit: 5, window: 3000d, burst: 9, plans: {by: plan, values: {pro: {limit: 50}}},
     overrides: [{match: {key: "vip-*"}, limit: 500}]}
  wide: {algorithm: token_bucket, limit: 900000000000000, window: 3000d}
  leaky: {algorithm: leaky_bucket, limit: 4, window: 3000d}
  fixed: {algorithm: fixed_window, limit: 3, window: 3000d, count_by: [key, route]}
  year: {algorithm: fixed_window, limit: 1000, window: year, timezone: Europe/Berlin}
  sliding: {algorithm: sliding_window_counter, limit: 3, window: 3000d}
  log: {algorithm: sliding_window_log, limit: 9000, window: 3000d}
  address: {algorithm: sliding_window_log, limit: 9, window: 3000d, count_by: [ip], ip_prefix: {v4: 24}}
routes:
  "one": [token, wide, leaky, fixed, year, sliding, log]
  "log": [log]
  "address": [address]
"""


def traffic(daemon, keys):
    connection = daemon.connect()
    for key in keys:
        connection.ask(key, 'one', attributes={'plan': 'pro'} if key.endswith('3') else None)
        connection.ask(key, 'address', attributes={'ip': f'10.0.{len(key)}.7'})


def main():
    with State() as state:
        daemon = state.start('--snapshot-interval', '100ms', limits=LIMITS)
        traffic(daemon, [f'k{i}' for i in range(20)] + ['vip-1'])
        for _ in range(30):
            daemon.connect().ask('k1', 'log')
        daemon.process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        traffic(daemon, [f'k{i}' for i in range(15, 30)])
        connection = daemon.connect()
        connection.send(frame(7, 5, ask_body('k2', 'one')))
        connection.answer()
        connection.send(frame(7, 4, ask_body('k4', 'one')))
        connection.answer()
        daemon.stop()
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)
        for name, path in state.files().items():
            shutil.copy(path, os.path.join(FOLDER, name))
        shown = state.show('--key', 'k1')
        kept = {'counters': shown['counters'], 'format': shown['format'], 'limits': [
            {name: limit.get(name) for name in ('name', 'algorithm', 'counters', 'oldest_change_ns',
                                                'newest_change_ns')} for limit in shown['limits']]}
        with open(os.path.join(FOLDER, 'expected.json'), 'w', encoding='utf-8') as out:
            json.dump(kept, out, indent=1)
            out.write('\n')
        with open(os.path.join(FOLDER, 'limits.yaml'), 'w', encoding='utf-8') as out:
            out.write(LIMITS)


main()
