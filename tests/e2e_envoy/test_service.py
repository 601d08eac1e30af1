"""Envoy's service asked directly: over gRPC and as JSON, by both semantics, a directory of files, metrics."""
import http.client
import json
import os
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e_grpc'))
from grpc_client import Daemon, address, failure, fields, grpc, main, number, text, unary  # noqa: E402

METHOD = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'
LIMITS = '''limits:
  n: {algorithm: token_bucket, limit: 3, window: 1h}
routes: {"native": [n]}
'''
RULES = {'a.yaml': 'domain: a\ndescriptors:\n  - {key: k, rate_limit: {unit: year, requests_per_unit: 2}}\n'
                   '  - {key: zero, rate_limit: {unit: year}}\n',
         'b.yaml': 'domain: b\ndescriptors:\n  - {key: k, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}\n'}


def folder(**files):
    path = tempfile.mkdtemp(prefix='sluice-envoy-')
    for name, content in (files or RULES).items():
        with open(os.path.join(path, name), 'w', encoding='utf-8') as out:
            out.write(content)
    return path


def request(domain, *descriptors, hits=None):
    entries = (b''.join(text(1, text(1, key) + text(2, value)) for key, value in pairs) for pairs in descriptors)
    return text(1, domain) + b''.join(text(2, each) for each in entries) + (number(3, hits) if hits else b'')


def test_exact_and_classic():
    for semantics, left in (('exact', 2), ('classic', 1)):
        daemon = Daemon(LIMITS, '--envoy-config', folder(), '--envoy-semantics', semantics, listen=['grpc=127.0.0.1:0'])
        call = unary(grpc.insecure_channel(address(daemon.addresses[0])), METHOD)
        answer = fields(call(request('a', [('k', 'x')], [('zero', 'x')])))
        statuses = [fields(status) for status in answer[2]]
        assert answer[1] == [2] and [status[1] for status in statuses] == [[1], [2]], (answer, statuses)
        assert statuses[0][3] == [left], 'a refusal charges nothing, or it does'
        assert [fields(call(request('b', [('k', 'x')])))[1] for _ in range(3)] == [[1]] * 3, 'shadow'
        assert failure(call, request('', [('k', 'x')]))[0] == 'INVALID_ARGUMENT'
        assert fields(call(request('sluice', [('key', 'x'), ('route', 'native')])))[1] == [1]
        got = failure(call, request('sluice', [('key', 'x')]))
        assert got[0] == 'INVALID_ARGUMENT' and 'descriptors[0].entries' in got[1], got
        assert daemon.stop()[0] == 0


def test_json_over_http():
    daemon = Daemon(LIMITS, '--envoy-config', folder(), listen=['http=127.0.0.1:0'])
    peer = http.client.HTTPConnection(*daemon.addresses[0], timeout=20)

    def post(body):
        peer.request('POST', '/json', body if isinstance(body, str) else json.dumps(body))
        answer = peer.getresponse()
        return answer.status, json.loads(answer.read())
    ask = {'domain': 'a', 'descriptors': [{'entries': [{'key': 'k', 'value': 'js'}]}]}
    status, body = post(ask)
    assert status == 200 and body['overallCode'] == 'OK', body
    assert body['statuses'][0]['currentLimit'] == {'requestsPerUnit': 2, 'unit': 'YEAR'} \
        and body['statuses'][0]['limitRemaining'] == 1, body
    assert post({**ask, 'hitsAddend': 2})[0] == 429
    assert post({**ask, 'x': 1})[0] == 400 and post('{')[0] == 400 and post(ask)[0] == 200
    assert daemon.stop()[0] == 0


def test_a_bad_start_says_where():
    import subprocess
    from native import SLUICED
    daemon = Daemon(LIMITS, listen=['native=127.0.0.1:0'])
    bad = folder(**{'c.yaml': 'domain: c\ndescriptors:\n  - {key: k, rate_limit: {unit: eon}}\n',
                    'd.yaml': 'domain: c\n'})
    run = subprocess.run([SLUICED, '--limits', daemon.limits, '--envoy-config', bad, '--no-state', '--listen', 'native=127.0.0.1:0'],
                         capture_output=True, text=True, timeout=20)
    assert run.returncode == 1, run
    assert 'c.yaml:3:33: unit: "eon" is none' in run.stderr and 'd.yaml:1:9: domain "c" stands' in run.stderr, run.stderr
    run = subprocess.run([SLUICED, '--limits', daemon.limits, '--envoy-semantics', 'loose'], capture_output=True, text=True, timeout=20)
    assert run.returncode == 2 and 'exact or classic' in run.stderr, run


def test_exact_while_files_change():
    """Rules come and go under load; the one that stays lets through exactly what it may, in every mix of descriptors."""
    rules = 'domain: a\ndescriptors:\n  - {key: k, rate_limit: {unit: year, requests_per_unit: 1000}}\n'
    path = os.path.join(folder(), 'one.yaml')

    def write(more):
        with open(path + '.new', 'w', encoding='utf-8') as out:
            out.write(rules + more)
        os.rename(path + '.new', path)
    write('')
    daemon = Daemon(LIMITS, '--envoy-config', path, '--workers', '2', listen=['grpc=127.0.0.1:0'])
    calls = [unary(grpc.insecure_channel(address(daemon.addresses[0]), [('n', i)]), METHOD) for i in range(4)]
    stop = threading.Event()

    def reload():
        while not stop.is_set():
            for number_of_others in (1, 40, 0):
                write(''.join(f'  - {{key: o{i}, rate_limit: {{unit: day, requests_per_unit: 9}}}}\n'
                              for i in range(number_of_others)))
                daemon.process.send_signal(signal.SIGHUP)
                time.sleep(0.01)
    thread = threading.Thread(target=reload)
    thread.start()
    try:
        mixes = [request('a', [('k', 'x')]), request('a', [('k', 'x')], [('o0', 'y')], [('none', 'z')])]
        answers = [f.result() for f in [calls[i % 4].future(mixes[0]) for i in range(1500)]]
        answers += [calls[i % 4](mixes[i % 2]) for i in range(300)]
    finally:
        stop.set()
        thread.join()
    passed = sum(fields(answer)[1] == [1] for answer in answers)
    assert passed == 1000, passed
    assert daemon.logged().count('limits reloaded') > 3
    assert daemon.stop()[0] == 0


main(globals())
