"""A second daemon takes over while clients go on asking: no refused connection, no lost count."""
import os
import signal
import subprocess
import threading
import time

from state import SLUICED, Connection, State, main, run

BIG = 'limits:\n  big: {algorithm: fixed_window, limit: 999999999999999, window: 3000d}\nroutes: {"big": [big]}\n'


class Clients:
    """Each connects anew for every request."""
    def __init__(self, addresses):
        self.stopped = False
        self.allowed = 0
        self.wrong = []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(address,)) for address in addresses]
        for thread in self.threads:
            thread.start()

    def run(self, address):
        while not self.stopped:
            try:
                connection = Connection(address)
                answer = connection.ask('k', 'big')
                connection.close()
                with self.lock:
                    self.allowed += answer['allowed']
            except Exception as error:  # whatever it is, no client may see it
                self.wrong.append(repr(error))

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()



def wait_for_ready(process):
    while True:
        line = process.stdout.readline()
        assert line, 'ended before it was ready'
        if line == b'ready\n':
            return


def test_one_after_another():
    with State() as state:
        first = state.start(limits=BIG, listen=('native=127.0.0.1:0', 'native=unix:@/socket'))
        port = first.addresses[0]
        socket = first.addresses[1]
        command = [SLUICED, '--limits', first.limits, '--listen', f'native={port[0]}:{port[1]}', '--listen',
                   f'native=unix:{socket}', '--state-dir', state.path]
        clients = Clients([port, port, socket, socket])
        current = first.process
        for _ in range(4):
            time.sleep(0.3)
            following = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            time.sleep(0.3)
            assert following.poll() is None
            current.send_signal(signal.SIGTERM)
            assert current.wait(20) == 0
            wait_for_ready(following)
            if current is not first.process:
                current.stdout.close()
            current = following
        time.sleep(0.3)
        clients.stop()
        used = 999999999999999 - Connection(port).ask('k', 'big', cost=0)['remaining']
        current.send_signal(signal.SIGTERM)
        assert current.wait(20) == 0
        current.stdout.close()
        assert not clients.wrong, clients.wrong[:3]
        assert used == clients.allowed > 100, (used, clients.allowed)
        assert not os.path.exists(socket), 'the last one removes the socket'


def test_a_busy_port_is_told():
    with State() as state, State() as other:
        daemon = state.start(limits=BIG)
        host, port = daemon.addresses[0]
        code, out, err = run('--limits', daemon.limits, '--listen', f'native={host}:{port}', '--state-dir',
                             other.path)
        assert code == 1 and out == '' and 'port in use' in err, err
        daemon.stop()


def test_a_third_does_not_wait():
    with State() as state:
        daemon = state.start(limits=BIG)
        command = [SLUICED, '--limits', daemon.limits, '--listen', 'native=127.0.0.1:0', '--state-dir', state.path]
        second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        code, _, err = run(*command[1:])
        assert code == 1 and 'already waits' in err, err
        second.send_signal(signal.SIGTERM)
        assert second.wait(10) == 0, 'told to stop while waiting'
        assert second.stdout.read() == b''
        second.stdout.close()
        assert daemon.connect().ask('k', 'big')['allowed']
        daemon.stop()


def test_one_that_waits_outlives_what_says_reload_and_snapshot():
    with State() as state:
        daemon = state.start(limits=BIG)
        second = subprocess.Popen([SLUICED, '--limits', daemon.limits, '--listen', 'native=127.0.0.1:0', '--state-dir',
                                   state.path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        for number in (signal.SIGHUP, signal.SIGUSR1):
            second.send_signal(number)
            time.sleep(0.1)
            assert second.poll() is None, (number, second.returncode)
        daemon.stop()
        wait_for_ready(second)
        second.send_signal(signal.SIGHUP)
        second.send_signal(signal.SIGTERM)
        assert second.wait(10) == 0
        second.stdout.close()


def test_one_that_gives_up_waiting_leaves_the_socket_to_the_first():
    with State() as state:
        daemon = state.start(limits=BIG, listen=('native=unix:@/socket',))
        path = daemon.addresses[0]
        second = subprocess.Popen([SLUICED, '--limits', daemon.limits, '--listen', f'native=unix:{path}', '--state-dir',
                                   state.path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        second.send_signal(signal.SIGTERM)
        assert second.wait(10) == 0
        second.stdout.close()
        assert daemon.connect().ask('k', 'big')['allowed']
        assert os.listdir(daemon.folder).count('socket.before') == 0
        daemon.stop()
        assert not os.path.exists(path)


def test_bad_limits_are_told_before_waiting():
    with State() as state:
        daemon = state.start(limits=BIG)
        bad = state.path + '/bad.yaml'
        with open(bad, 'w', encoding='utf-8') as out:
            out.write('limits: [')
        code, _, err = run('--limits', bad, '--listen', 'native=127.0.0.1:0', '--state-dir', state.path)
        assert code == 1 and 'bad.yaml:1' in err, err
        daemon.stop()


main(globals())
