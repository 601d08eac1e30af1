"""deploy/gateways/envoy: Envoy's own rate limit filter over gRPC, domain sluice."""
import glob
import os
import subprocess
import gateway as g

found = glob.glob(os.path.join(g.ROOT, '.cache/envoy-*/**/envoy/_bin/envoy'), recursive=True)
if not found:
    g.skip('Envoy is not installed (tests/e2e_envoy/install)')
daemon, edge = g.Daemon(), g.free_port()
conf = g.example('envoy/envoy.yaml', {'8080': edge, '7081': daemon.grpc, '8090': g.app()})
envoy = g.start([found[0], '-c', conf, '--disable-hot-restart', '--concurrency', '1', '-l', 'error'], stderr=subprocess.DEVNULL)
g.until_up(edge, envoy, 30)

answers = g.edge_scenario(lambda who: g.get(edge, user=who), 'x-ratelimit-reset')
g.check('x-ratelimit-limit', answers[0][1].get('x-ratelimit-limit', '').startswith('5, 5;w=4;name="login"'), answers[0][1])
g.check('x-ratelimit-remaining', answers[0][1].get('x-ratelimit-remaining') == '4', answers[0][1])
g.check('x-envoy-ratelimited', answers[5][1].get('x-envoy-ratelimited') == 'true', answers[5][1])
daemon.kill()
g.check('limiter away: requests pass', g.get(edge, user='alice')[0] == 200)
g.done()
