"""A daemon that is stopped and started under load: no call fails."""
import threading
import time

from grpc_client import *  # noqa: F403
from native import SLUICED
import subprocess


def start(daemon, port):
    process = subprocess.Popen([SLUICED, '--limits', daemon.limits, '--no-state', '--listen', f'grpc=127.0.0.1:{port}'],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    while process.stdout.readline() != b'ready\n':
        assert process.poll() is None
    return process


def test_restart_under_load():
    daemon = Daemon(LIMITS, listen=['grpc=127.0.0.1:0'])
    port = daemon.addresses[0][1]
    stop, errors, done = [], [], []

    def load():
        call = unary(grpc.insecure_channel(f'127.0.0.1:{port}', options=(('grpc.initial_reconnect_backoff_ms', 50),
                                                                         ('grpc.max_reconnect_backoff_ms', 200))),
                     SERVICE + 'ShouldAllow')
        count = 0
        while not stop:
            try:
                assert response(call(ask_body('load', 'big'), timeout=10, wait_for_ready=True))['allowed']
                count += 1
            except grpc.RpcError as error:
                errors.append((error.code().name, error.details()))
        done.append(count)
    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    processes = []
    for _ in range(3):
        time.sleep(0.4)
        old = processes[-1] if processes else daemon.process
        began = time.monotonic()
        old.terminate()
        assert old.wait(10) == 0
        assert time.monotonic() - began < 2, 'an idle or answered connection does not hold the server up'
        processes.append(start(daemon, port))
    time.sleep(0.4)
    stop.append(1)
    for thread in threads:
        thread.join()
    processes[-1].kill()
    processes[-1].wait()
    assert not errors, errors[:3]
    assert len(done) == 4 and min(done) > 100, done


def test_an_idle_channel_does_not_hold_the_server_up():
    daemon = Daemon(LIMITS, listen=['grpc=127.0.0.1:0'])
    channel = grpc.insecure_channel(address(daemon.addresses[0]))
    assert response(unary(channel, SERVICE + 'ShouldAllow')(ask_body('idle', 'big')))['allowed']
    code, seconds = daemon.stop()   # grpcio reads nothing while nobody calls
    assert code == 0 and seconds < 2.5, (code, seconds)


def test_an_unfinished_call_holds_up_only_until_the_time_out():
    import socket
    daemon = Daemon(LIMITS, '--shutdown-timeout', '1s', listen=['grpc=127.0.0.1:0'])
    with socket.create_connection(daemon.addresses[0]) as mute:
        mute.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0' b'\0\0\x0b\x01\x04\0\0\0\x01\x83\x86\x04\x01/\x01\x04here')
        time.sleep(0.2)
        code, seconds = daemon.stop()
    assert code == 0 and 0.9 < seconds < 3, (code, seconds)


main(globals())
