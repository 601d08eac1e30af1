"""README's table of metrics is the one that the program prints."""
import os
import subprocess
import sys

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'README.md')
SLUICED = os.environ.get('SLUICED') or os.path.join(sys.argv[1], 'sluiced')
with open(README, encoding='utf-8') as file:
    shown = [line for line in file.read().splitlines() if line.startswith(('| `sluice_', '| `process_'))]
if not shown:
    print('SKIPPED: README has no table of metrics')
    raise SystemExit(77)
printed = subprocess.run([SLUICED, '--describe-metrics'], capture_output=True, text=True, check=True).stdout
rows = [line for line in printed.splitlines() if line.startswith('| `')]
assert rows and shown == rows, [row for row in rows if row not in shown] + [row for row in shown if row not in rows]
