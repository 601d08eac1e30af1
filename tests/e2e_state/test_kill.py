"""kill -9 at random moments under load: what is lost is younger than the interval and the latest write. ROUNDS says
how many (8; 200 in CI; 1000 by hand). Prints the losses."""
import os
import random
import signal
import threading
import time

from state import State, ask, main

BIG = 'limits:\n  big: {algorithm: fixed_window, limit: 999999999999999, window: 3000d}\nroutes: {"big": [big]}\n'
LIMIT = 999999999999999
ROUNDS = int(os.environ.get('ROUNDS', '8'))
INTERVAL_S = 0.2
SLACK_S = 0.15  # what a busy machine may add to a write


class Load:
    def __init__(self, daemon):
        self.sent = 0
        self.answered = []  # (when, how many so far)
        self.stopped = False
        self.connection = daemon.connect()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        count = 0
        try:
            while not self.stopped:
                self.connection.send(b''.join(ask(i + 1, 'k', 'big') for i in range(20)))
                self.sent += 20
                for _ in range(20):
                    if self.connection.answer() is None:
                        return
                count += 20
                self.answered.append((time.monotonic(), count))
        except OSError:
            pass

    def count_at(self, when):
        return max((count for at, count in self.answered if at <= when), default=0)


def test_kill():
    losses = []
    base = 0
    with State() as state:
        for number in range(ROUNDS):
            daemon = state.start('--snapshot-interval', f'{int(INTERVAL_S * 1000)}ms', limits=BIG)
            load = Load(daemon)
            time.sleep(random.uniform(0.25, 0.7))
            killed = time.monotonic()
            daemon.stop(signal.SIGKILL)
            load.stopped = True
            load.thread.join()
            daemon.end()
            daemon = state.start(limits=BIG)
            used = LIMIT - daemon.connect().ask('k', 'big', cost=0)['remaining'] - base
            daemon.stop()
            daemon.end()
            base += used
            least = load.count_at(killed - INTERVAL_S - SLACK_S)
            assert least <= used <= load.sent, (number, least, used, load.sent)
            lost = next((killed - at for at, count in load.answered if count > used), 0.0)
            losses.append(max(0.0, lost))
    losses.sort()
    print(f'{ROUNDS} rounds, interval {INTERVAL_S} s: lost at most {losses[-1]:.3f} s, '
          f'median {losses[len(losses) // 2]:.3f} s')


main(globals())
