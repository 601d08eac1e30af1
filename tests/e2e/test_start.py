"""Starting and stopping: options from three places, ready lines, exit codes, one sentence for each mistake."""
import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from native import SLUICED, Daemon, frame, main, run, text

LIMITS = '''limits:
  a: {algorithm: token_bucket, limit: 5, window: 1h}
routes:
  "a": [a]
'''
FOLDER = tempfile.mkdtemp(prefix='sluice-e2e-')
FILE = os.path.join(FOLDER, 'limits.yaml')

# A start without --state-dir keeps its state here, not where this machine's own daemon may.
os.environ['STATE_DIRECTORY'] = tempfile.mkdtemp(prefix='sluice-start-')
atexit.register(shutil.rmtree, os.environ['STATE_DIRECTORY'], True)


def write(name, content):
    path = os.path.join(FOLDER, name)
    with open(path, 'w', encoding='utf-8') as out:
        out.write(content)
    return path


write('limits.yaml', LIMITS)


def expect(code, words, *options, environment=None):
    got, out, err = run(*options, environment=environment)
    assert got == code and out == '' and err.count('\n') == 1 and err.endswith('\n'), (got, out, err)
    for word in words:
        assert word in err, (word, err)


def test_ready_lines():
    daemon = Daemon(LIMITS, listen=('native=127.0.0.1:0', 'native=unix:@/s', 'native=[::1]:0'))
    assert [line.rsplit(':', 1)[0] for line in daemon.lines] == [
        'listening native 127.0.0.1', 'listening native unix', 'listening native [::1]', 'ready']
    assert daemon.stop()[0] == 0
    assert daemon.process.stdout.read() == b''


def test_sigint_stops_too():
    daemon = Daemon(LIMITS)
    assert daemon.stop(signal.SIGINT)[0] == 0


def test_sigusr1_does_no_harm():
    daemon = Daemon(LIMITS)
    daemon.process.send_signal(signal.SIGUSR1)
    assert daemon.wait_for_log('no snapshot')
    assert daemon.connect().ask('k', 'a')['allowed']
    assert daemon.stop()[0] == 0


def test_no_state_says_so():
    daemon = Daemon(LIMITS)
    assert daemon.wait_for_log('in memory only')
    daemon.stop()


def test_used_wrongly():
    expect(2, ['--limits'])
    expect(2, ['--wrokers', '--workers'], '--limits', FILE, '--wrokers', '2')
    expect(2, ['--workers', '"0"', '1 to 256'], '--limits', FILE, '--workers', '0')
    expect(2, ['--workers', '"x"'], '--limits', FILE, '--workers', 'x')
    expect(2, ['--limits'], '--limits')
    expect(2, ['extra'], '--limits', FILE, 'extra')
    expect(2, ['PROTOCOL=ADDRESS'], '--limits', FILE, '--listen', 'gopher=127.0.0.1:0')
    expect(2, ['PROTOCOL=ADDRESS'], '--limits', FILE, '--listen', '127.0.0.1:0')
    expect(2, ['HOST:PORT'], '--limits', FILE, '--listen', 'native=127.0.0.1')
    expect(2, ['HOST:PORT'], '--limits', FILE, '--listen', 'native=::1:7070')
    expect(2, ['HOST:PORT'], '--limits', FILE, '--listen', 'native=127.0.0.1:65536')
    expect(2, ['--snapshot-interval', '10s'], '--limits', FILE, '--snapshot-interval', '1')
    expect(2, ['--on-bad-state', 'refuse or empty'], '--limits', FILE, '--on-bad-state', 'panic')
    expect(2, ['--max-memory', '512MiB'], '--limits', FILE, '--max-memory', '12 apples')
    expect(2, ['--when-full', 'refuse or evict'], '--limits', FILE, '--when-full', 'panic')
    expect(2, ['--idle-timeout', '10s'], '--limits', FILE, '--idle-timeout', '10')
    expect(2, ['--allow-changes', 'local, all or none'], '--limits', FILE, '--allow-changes', 'some')
    expect(2, ['--log-level'], '--limits', FILE, '--log-level', 'loud')
    expect(2, ['--log-format'], '--limits', FILE, '--log-format', 'xml')


def test_mistakes_in_the_environment_and_the_file():
    expect(2, ['SLUICED_WORKERS', '"many"'], '--limits', FILE, environment={'SLUICED_WORKERS': 'many'})
    bad = write('bad.yaml', 'limits: x\nworkers: many\n')
    expect(2, [f'{bad}:2', 'workers', '"many"'], '--config', bad)
    unknown = write('unknown.yaml', 'wrokers: 2\n')
    expect(2, [f'{unknown}:1:1', 'wrokers'], '--config', unknown)
    for name in ('config', 'help', 'version'):
        expect(2, [':1:1', f'"{name}"'], '--config', write('no-setting.yaml', f'{name}: x\n'))
    expect(2, [':2:1', 'twice'], '--config', write('twice.yaml', 'workers: 2\nworkers: 3\n'))
    expect(2, [':1:10'], '--config', write('list.yaml', 'workers: [2, 3]\n'))
    expect(2, [':1:'], '--config', write('broken.yaml', 'workers: "2\n'))
    expect(2, ['nowhere.yaml'], '--config', os.path.join(FOLDER, 'nowhere.yaml'))


def test_failed_starts():
    expect(1, ['nowhere.yaml'], '--limits', os.path.join(FOLDER, 'nowhere.yaml'))
    bad = write('bad-limits.yaml', LIMITS.replace('limit: 5', 'limt: 5'))
    got, out, err = run('--limits', bad, '--listen', 'native=127.0.0.1:0')
    assert got == 1 and out == '' and err.startswith(f'{bad}:2:') and 'limt' in err, (got, out, err)
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        where = f'native=127.0.0.1:{taken.getsockname()[1]}'
        expect(1, [f'{where}: port in use'], '--limits', FILE, '--listen', where)
    plain = write('plain-file', '')
    expect(1, ['not a socket'], '--limits', FILE, '--listen', f'native=unix:{plain}')
    assert os.path.exists(plain)
    path = os.path.join(FOLDER, 'taken.sock')
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(path)
        taken.listen()
        expect(1, ['in use'], '--limits', FILE, '--listen', f'native=unix:{path}')


def test_a_stale_socket_file_is_taken_over():
    path = os.path.join(FOLDER, 'stale.sock')
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(path)
        stale.listen()
    daemon = Daemon(LIMITS, listen=(f'native=unix:{path}',))
    assert daemon.connect().ask('k', 'a')['allowed']
    daemon.stop()


def test_command_line_then_environment_then_file():
    listens = 'listen: ["native=127.0.0.1:0", "native=127.0.0.1:0", "native=127.0.0.1:0"]\n'
    config = write('config.yaml', listens + 'allow-changes: none\nworkers: 2\nshadow-all: true\n')
    daemon = Daemon(LIMITS, '--config', config, listen=())
    assert len(daemon.addresses) == 3
    peer = daemon.connect(2)
    assert [peer.ask('k', 'a')['reason'] for _ in range(6)][5] == 'SHADOWED'
    peer.send(frame(1, 5, text(1, 'k') + text(2, 'a')))
    assert peer.answer()[2]['code'] == 7
    daemon.stop()
    environment = {'SLUICED_CONFIG': config, 'SLUICED_LISTEN': 'native=127.0.0.1:0,native=127.0.0.1:0',
                   'SLUICED_ALLOW_CHANGES': 'all', 'SLUICED_SHADOW_ALL': 'false'}
    daemon = Daemon(LIMITS, listen=(), environment=environment)
    assert len(daemon.addresses) == 2
    peer = daemon.connect(1)
    assert [peer.ask('k', 'a')['reason'] for _ in range(6)][5] == 'OVER_LIMIT'
    peer.send(frame(1, 5, text(1, 'k') + text(2, 'a')))
    assert peer.answer()[1] == 5
    daemon.stop()
    daemon = Daemon(LIMITS, '--allow-changes', 'none', environment=environment)
    assert len(daemon.addresses) == 1
    peer = daemon.connect()
    peer.send(frame(1, 5, text(1, 'k') + text(2, 'a')))
    assert peer.answer()[2]['code'] == 7
    daemon.stop()


def test_what_it_prints_about_itself():
    code, out, err = run('--version')
    assert code == 0 and out.startswith('sluiced ') and err == ''
    code, out, err = run('--help')
    assert code == 0 and '--limits FILE' in out and '--max-memory SIZE' in out and err == ''
    code, out, err = run('--man')
    assert code == 0 and out.startswith('.') and err == ''
    code, out, err = run('--completion', 'bash')
    assert code == 0 and 'complete' in out and err == ''
    assert run('--completion', 'fish')[0] == 2


def test_socket_activation_and_notify():
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(os.path.join(FOLDER, 'notify'))
    notify.settimeout(20)
    listening = socket.socket()
    listening.bind(('127.0.0.1', 0))
    listening.listen()
    port = listening.getsockname()[1]
    script = 'import os,sys; os.dup2(int(sys.argv[1]), 3); os.environ["LISTEN_PID"] = str(os.getpid()); ' \
             'os.execv(sys.argv[2], sys.argv[2:])'
    process = subprocess.Popen(
        ['python3', '-c', script, str(listening.fileno()), SLUICED, '--limits', FILE, '--listen',
         f'native=127.0.0.1:{port}'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        pass_fds=(listening.fileno(),),
        env={**os.environ, 'LISTEN_FDS': '1', 'NOTIFY_SOCKET': os.path.join(FOLDER, 'notify')})
    try:
        assert process.stdout.readline() == f'listening native 127.0.0.1:{port}\n'.encode()
        assert notify.recv(100) == b'READY=1'
        with socket.create_connection(('127.0.0.1', port), 20) as peer:
            peer.sendall(frame(1, 6, b''))
            assert peer.recv(100) == b'\x04\x08\x01\x32\x00'
        process.send_signal(signal.SIGHUP)
        assert notify.recv(100).startswith(b'RELOADING=1\nMONOTONIC_USEC=')
        assert notify.recv(100) == b'READY=1'
        process.send_signal(signal.SIGTERM)
        assert notify.recv(100) == b'STOPPING=1'
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        listening.close()
        notify.close()


main(globals())
