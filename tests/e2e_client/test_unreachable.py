"""RB-47 (f): the client library with the daemon stopped, paused, and back."""
import subprocess
import time

from daemon import BIN, Checks, Daemon

checks = Checks()
TIMEOUT_US = 50_000
SLACK_US = 200_000  # what a busy machine may add


class Gate:
    def __init__(self, url, on_error):
        self.process = subprocess.Popen([f'{BIN}/client_gate', url, on_error], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line='alice GET /', answers=1):
        self.process.stdin.write(line + '\n')
        self.process.stdin.flush()
        seen = [self.process.stdout.readline().rstrip('\n').split(' ', 3) for _ in range(answers)]
        return [(allowed, decided, int(us), why) for allowed, decided, us, why in seen]

    def end(self):
        self.process.stdin.close()
        return self.process.wait(5)


daemon = Daemon()
address = daemon.address
gates = {name: Gate(daemon.url, name) for name in ('allow', 'deny')}
gates['allow, unix'] = Gate(f'unix:{daemon.socket}', 'allow')


def expect(when, decided):
    for name, gate in gates.items():
        want = 'allowed' if decided or name.startswith('allow') else 'refused'
        answers = gate.ask() + gate.ask('batch alice GET /', 3)
        for _ in range(20):  # on a busy machine even a daemon that runs may need more than 50 ms
            if decided and any('no answer within' in answer[3] for answer in answers):
                answers = gate.ask() + gate.ask('batch alice GET /', 3)
        for answer in answers:
            allowed, said, us, why = answer
            checks.that(f'{when}, {name}', allowed == want and said == ('decided' if decided else 'undecided')
                        and us < TIMEOUT_US + SLACK_US and (decided or why), answer)


def expect_back(when):
    start = time.monotonic()
    for name, gate in gates.items():
        while gate.ask()[0][1] != 'decided':
            if time.monotonic() - start > 1:
                break
        checks.that(f'{when}: {name} is back within a second', time.monotonic() - start < 1)


expect('running', True)
checks.equal('a refusal is decided, whatever on_error', [gates['allow'].ask('once GET /once')[0][:2] for _ in range(2)],
             [('allowed', 'decided'), ('refused', 'decided')])
checks.equal('an error is not decided', gates['allow'].ask('once GET /address')[0][:2], ('allowed', 'undecided'))
for how in ('stop', 'kill'):
    getattr(daemon, how)()
    for _ in range(3):
        expect(f'after {how}', False)
    del gates['allow, unix']
    daemon = Daemon(address=address)
    gates['allow, unix'] = Gate(f'unix:{daemon.socket}', 'allow')
    expect_back(f'after {how}')
    expect('running again', True)

daemon.pause()
for _ in range(3):
    expect('paused', False)
daemon.resume()
expect_back('resumed')
expect('running after a pause', True)

for name, gate in gates.items():
    checks.equal(f'{name}: ends well', gate.end(), 0)


def gate_async(on_error, count, timeout_ms=50, url=f'native://{address}'):
    done = subprocess.run([f'{BIN}/client_gate', url, on_error, 'async', str(timeout_ms)], input='alice GET /\n' * count,
                          capture_output=True, text=True, timeout=10)
    return done.returncode, [line.split(' ', 3) for line in done.stdout.splitlines()]


code, answers = gate_async('deny', 5000, 5000)
checks.that('pipelined: all decided', code == 0 and len(answers) == 5000 and {a[1] for a in answers} == {'decided'}, answers[:3])
code, answers = gate_async('deny', 100, 5000, f'unix:{daemon.socket}')
checks.that('pipelined, a Unix socket', code == 0 and len(answers) == 100 and {a[1] for a in answers} == {'decided'}, answers[:3])
code, answers = gate_async('deny', 100, 5000, 'native://localhost:' + address.rsplit(':')[1])
checks.that('pipelined, by name', code == 0 and len(answers) == 100 and {a[1] for a in answers} == {'decided'}, answers[:3])
daemon.pause()
code, answers = gate_async('allow', 2000)
daemon.resume()
checks.that('pipelined, paused', code == 0 and len(answers) == 2000 and {tuple(a[:2]) for a in answers} == {('allowed', 'undecided')}
            and max(int(a[2]) for a in answers) < TIMEOUT_US + 2 * SLACK_US, answers[-1])
daemon.stop()
code, answers = gate_async('deny', 2000)
checks.that('pipelined, stopped', code == 0 and len(answers) == 2000 and {tuple(a[:2]) for a in answers} == {('refused', 'undecided')}
            and all(a[3] for a in answers), answers[-1])
checks.done()
