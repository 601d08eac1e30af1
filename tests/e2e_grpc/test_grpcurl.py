"""grpcurl lists, describes and calls without a .proto file. $GRPCURL or grpcurl on the path; else skipped."""
import json
import shutil
import subprocess

from grpc_client import *  # noqa: F403

GRPCURL = os.environ.get('GRPCURL') or shutil.which('grpcurl')
if not GRPCURL:
    print('SKIPPED: grpcurl is not installed')
    raise SystemExit(77)


def run(daemon, *args, data=None):
    more = ['-d', json.dumps(data)] if data is not None else []
    done = subprocess.run([GRPCURL, '-plaintext', *more, address(daemon.addresses[0]), *args], capture_output=True, text=True,
                          timeout=30, check=False)
    return done.returncode, done.stdout, done.stderr


def test_everything_by_reflection():
    daemon = Daemon(LIMITS, listen=['grpc=127.0.0.1:0'])
    _, services, _ = run(daemon, 'list')
    assert services.split() == ['envoy.service.ratelimit.v3.RateLimitService', 'grpc.health.v1.Health',
                                'grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection',
                                'sluice.v1.RateLimiter'], services
    for name in services.split() + ['sluice.v1.RateLimiter.ShouldAllow', 'sluice.v1.ShouldAllowRequest', 'sluice.v1.Reason',
                                    'envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit']:
        code, text_, error = run(daemon, 'describe', name)
        assert code == 0 and name in text_, (name, text_, error)
    for left in ('2', '1', None):
        answer = json.loads(run(daemon, SERVICE[1:] + 'ShouldAllow', data={'key': 'curl', 'route': 'three'})[1])
        assert answer['allowed'] and answer.get('remaining') == left, answer
    answer = json.loads(run(daemon, SERVICE[1:] + 'ShouldAllow', data={'key': 'curl', 'route': 'three'})[1])
    assert 'allowed' not in answer and answer['reason'] == 'REASON_OVER_LIMIT', answer
    code, _, error = run(daemon, SERVICE[1:] + 'ShouldAllow', data={'key': ''})
    assert code != 0 and 'InvalidArgument' in error and 'key' in error, error
    assert json.loads(run(daemon, 'grpc.health.v1.Health/Check', data={'service': 'ratelimit'})[1]) == {'status': 'SERVING'}


main(globals())
