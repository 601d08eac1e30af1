"""A daemon and the tool, for the client's end-to-end tests. Standard library only."""
import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BIN = os.path.abspath(sys.argv[1])
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, True)
LIMITS = '''
limits:
  login: {algorithm: sliding_window_log, limit: 5, window: 1h}
  shadow: {algorithm: fixed_window, limit: 3, window: 3650d, shadow: true}
  paced: {algorithm: leaky_bucket, limit: 1, window: 10s, burst: 3}
  thousand: {algorithm: fixed_window, limit: 1000, window: 3650d}
  once: {algorithm: fixed_window, limit: 1, window: 3650d}
  wide: {algorithm: token_bucket, limit: 999999999999999, window: 1s}
  address: {algorithm: fixed_window, limit: 2, window: 3650d, count_by: [ip]}
  closed: {algorithm: fixed_window, limit: 0, window: 1m}
routes:
  "POST /login": [login, shadow]
  "GET /paced": [paced]
  "GET /thousand": [thousand]
  "GET /once": [once]
  "GET /address": [address]
  "GET /closed": [closed]
  "GET /dear": {limits: [thousand], cost: 10}
  "GET /": [wide]
'''


class Daemon:
    def __init__(self, limits=LIMITS, address='127.0.0.1:0'):
        self.limits = tempfile.mktemp('.yaml', dir=FOLDER)
        with open(self.limits, 'w') as file:
            file.write(limits)
        self.socket = tempfile.mktemp('.sock', dir=FOLDER)
        self.process = subprocess.Popen(
            [f'{BIN}/sluiced', '--limits', self.limits, '--no-state', '--listen', f'native={address}',
             '--listen', f'native=unix:{self.socket}'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        atexit.register(self.kill)
        self.address = self.process.stdout.readline().split()[2]
        assert self.process.stdout.readline() == f'listening native unix:{self.socket}\n'
        assert self.process.stdout.readline() == 'ready\n'
        self.url = f'native://{self.address}'

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(10) == 0
        self.process.stdout.close()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def pause(self):
        """Returns when every thread of it has stopped."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)


def run(*args, server=None, env=None, stdin=None, timeout=60):
    """exit code, stdout, stderr of the tool"""
    environment = {**os.environ, **(env or {})}
    environment.pop('SLUICE_SERVER', None)
    if server:
        environment['SLUICE_SERVER'] = server
    done = subprocess.run([f'{BIN}/sluice', *args], capture_output=True, env=environment, input=stdin, timeout=timeout)
    return done.returncode, done.stdout.decode('utf-8'), done.stderr.decode('utf-8')


class Checks:
    """Counts; every test ends with done()."""

    def __init__(self):
        self.count = self.wrong = 0

    def that(self, what, ok, seen=''):
        self.count += 1
        if not ok:
            self.wrong += 1
            print(f'WRONG {what}: {seen!r}', flush=True)

    def equal(self, what, got, want):
        self.that(what, got == want, (got, 'instead of', want))

    def done(self):
        print(f'{self.wrong} wrong of {self.count}')
        sys.exit(1 if self.wrong or not self.count else 0)
