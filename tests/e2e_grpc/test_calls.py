"""The native service, health and reflection, asked by a real gRPC client."""
import subprocess

from grpc_client import *  # noqa: F403


def test_five_pass_and_three_do_not():
    daemon = Daemon(LIMITS, listen=['grpc=127.0.0.1:0', 'native=127.0.0.1:0'])
    channel = grpc.insecure_channel(address(daemon.addresses[0]))
    call = unary(channel, SERVICE + 'ShouldAllow')
    answers = [response(call(ask_body('alice', 'five'))) for _ in range(8)]
    assert [a['allowed'] for a in answers] == [True] * 5 + [False] * 3, answers
    assert [a['remaining'] for a in answers] == [4, 3, 2, 1, 0, 0, 0, 0]
    assert 3590 * 10**9 < answers[5]['retry_after_ns'] <= 3600 * 10**9
    assert response(call(ask_body('bob', 'five')))['remaining'] == 4
    # The count is the one that every protocol shares.
    assert daemon.connect(1).ask('alice', 'five')['reason'] == 'OVER_LIMIT'
    assert daemon.stop()[0] == 0


def test_batch_refund_reset():
    daemon = Daemon(LIMITS, listen=['grpc=127.0.0.1:0'])
    channel = grpc.insecure_channel(address(daemon.addresses[0]))
    batch = b''.join(text(1, ask_body('b', 'three')) for _ in range(5))
    results = [fields(r) for r in fields(unary(channel, SERVICE + 'ShouldAllowBatch')(batch))[1]]
    assert [response(r[1][0])['allowed'] for r in results] == [True] * 3 + [False] * 2
    change = text(1, 'b') + text(2, 'three')
    assert response(unary(channel, SERVICE + 'Refund')(change))['remaining'] == 1
    assert fields(unary(channel, SERVICE + 'Reset')(change)) == {1: [1]}
    assert response(unary(channel, SERVICE + 'ShouldAllow')(ask_body('b', 'three')))['remaining'] == 2
    big = b''.join(text(1, ask_body('b', 'big')) for _ in range(1001))
    code, details = failure(unary(channel, SERVICE + 'ShouldAllowBatch'), big)
    assert code == 'INVALID_ARGUMENT' and 'requests' in details, (code, details)


def test_errors():
    daemon = Daemon(LIMITS, '--allow-changes', 'none', listen=['grpc=127.0.0.1:0'])
    channel = grpc.insecure_channel(address(daemon.addresses[0]))
    call = unary(channel, SERVICE + 'ShouldAllow')
    for message, code, words in ((ask_body('', 'five'), 'INVALID_ARGUMENT', 'key'), (ask_body('k', ''), 'INVALID_ARGUMENT', 'route'),
                                 (ask_body('k', 'five', 2**64 - 1), 'INVALID_ARGUMENT', 'cost'),
                                 (ask_body('k' * 1025, 'five'), 'INVALID_ARGUMENT', 'key'),
                                 (b'\x0a\xff\xff', 'INVALID_ARGUMENT', 'ShouldAllowRequest'),
                                 (ask_body('k' * 300000, 'five'), 'RESOURCE_EXHAUSTED', '262144'),
                                 (ask_body('k' * 3000000, 'five'), 'RESOURCE_EXHAUSTED', '262144')):
        got = failure(call, message)
        assert got[0] == code and words in got[1], got
    assert failure(unary(channel, SERVICE + 'Refund'), ask_body('k', 'five'))[0] == 'PERMISSION_DENIED'
    assert failure(unary(channel, SERVICE + 'Fly'), b'')[0] == 'UNIMPLEMENTED'
    assert failure(unary(channel, '/no.Such/Service'), b'')[0] == 'UNIMPLEMENTED'
    got = failure(call, ask_body('k' * 1000, 'five'), compression=grpc.Compression.Gzip)
    assert got[0] == 'UNIMPLEMENTED' and 'compressed' in got[1], got
    assert response(call(ask_body('k', 'five')))['remaining'] == 4, 'nothing was charged'


def test_thousands_at_once():
    daemon = Daemon(LIMITS, '--workers', '2', listen=['grpc=127.0.0.1:0'])
    call = unary(grpc.insecure_channel(address(daemon.addresses[0])), SERVICE + 'ShouldAllow')
    futures = [call.future(ask_body('many', 'big')) for _ in range(5000)]
    left = sorted(response(f.result())['remaining'] for f in futures)
    assert left == list(range(999999999999999 - 5000, 999999999999999)), left[:3]


def test_unix_socket_and_metadata():
    daemon = Daemon(LIMITS, listen=['grpc=unix:@/grpc.sock'])
    call = unary(grpc.insecure_channel(address(daemon.addresses[0])), SERVICE + 'ShouldAllow')
    assert response(call(ask_body('u', 'five'), metadata=(('x-request-id', 'a' * 2000),)))['allowed']
    code, details = failure(call, ask_body('u', 'five'), metadata=tuple(('x-%d' % i, 'v' * 1000) for i in range(20)))
    assert code == 'RESOURCE_EXHAUSTED', (code, details)
    assert response(call(ask_body('u', 'five')))['remaining'] == 3


def test_health():
    daemon = Daemon(LIMITS, listen=['grpc=127.0.0.1:0'])
    channel = grpc.insecure_channel(address(daemon.addresses[0]))
    check = unary(channel, '/grpc.health.v1.Health/Check')
    for name in ('', 'ratelimit', 'sluice.v1.RateLimiter', 'envoy.service.ratelimit.v3.RateLimitService'):
        assert check(text(1, name)) == b'\x08\x01', name
    assert failure(check, text(1, 'nope'))[0] == 'NOT_FOUND'
    watch = channel.unary_stream('/grpc.health.v1.Health/Watch', request_serializer=bytes, response_deserializer=bytes)
    stream = watch(text(1, 'ratelimit'))
    assert next(stream) == b'\x08\x01'
    daemon.process.terminate()
    assert next(stream) == b'\x08\x02'
    try:
        next(stream)
        assert False, 'the watch ends'
    except grpc.RpcError as error:
        assert error.code().name == 'UNAVAILABLE'
    assert daemon.process.wait(10) == 0


def test_reflection_describes_everything_that_is_listed():
    from google.protobuf import descriptor_pb2, descriptor_pool
    daemon = Daemon(LIMITS, listen=['grpc=127.0.0.1:0'])
    channel = grpc.insecure_channel(address(daemon.addresses[0]))
    for version in ('v1', 'v1alpha'):
        call = channel.stream_stream(f'/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo',
                                     request_serializer=bytes, response_deserializer=bytes)
        listed = fields(next(call(iter([text(7, '')]))))
        services = [fields(s)[1][0].decode() for s in fields(listed[6][0])[1]]
        assert 'sluice.v1.RateLimiter' in services and 'grpc.health.v1.Health' in services, services
        for service in services:
            answer = fields(next(call(iter([text(4, service)]))))
            pool = descriptor_pool.DescriptorPool()
            files = [descriptor_pb2.FileDescriptorProto.FromString(f) for f in fields(answer[4][0])[1]]
            waiting = {f.name: f for f in files}
            while waiting:   # each file after those it imports
                ready = [f for f in waiting.values() if not any(d in waiting for d in f.dependency)]
                assert ready, waiting.keys()
                for f in ready:
                    pool.Add(f)
                    del waiting[f.name]
            described = pool.FindServiceByName(service)
            for method in described.methods:
                by_method = fields(next(call(iter([text(4, method.full_name)]))))
                assert 4 in by_method, method.full_name
        missing = fields(next(call(iter([text(4, 'no.Such')]))))
        assert fields(missing[7][0])[1] == [5]


def test_deadlines_are_honoured():
    daemon = Daemon(LIMITS, listen=['grpc=127.0.0.1:0'])
    call = unary(grpc.insecure_channel(address(daemon.addresses[0])), SERVICE + 'ShouldAllow')
    assert response(call(ask_body('d', 'five'), timeout=30))['remaining'] == 4
    raw = subprocess.run(['curl', '-s', '-i', '--http2-prior-knowledge', '-H', 'content-type: application/grpc',
                          '-H', 'te: trailers', '-H', 'grpc-timeout: 0m', '--data-binary', '@-',
                          'http://%s:%d%sShouldAllow' % (*daemon.addresses[0], SERVICE)],
                         input=b'\0\0\0\0' + bytes([len(ask_body('d', 'five'))]) + ask_body('d', 'five'),
                         capture_output=True, check=False).stdout
    assert b'grpc-status: 4' in raw, raw
    assert response(call(ask_body('d', 'five')))['remaining'] == 3


main(globals())
