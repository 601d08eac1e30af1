"""deploy/gateways/express: the middleware in a real Express."""
import os
import shutil
import subprocess
import gateway as g

modules = os.path.join(g.ROOT, '.cache/express')
if not shutil.which('node') or not os.path.exists(f'{modules}/ready'):
    g.skip('node and express are not installed (tests/e2e_gateways/install)')
daemon = g.Daemon()
app = g.example('express/app.js', {})
server = g.start(['node', app], stdout=subprocess.PIPE, text=True,
                 env={**os.environ, 'NODE_PATH': f'{modules}/node_modules', 'PORT': '0', 'SLUICE_URL': f'http://127.0.0.1:{daemon.http}'})
edge = int(server.stdout.readline().split()[1])

answers = g.edge_scenario(lambda who: g.get(edge, user=who))
g.check('RateLimit on 200', answers[0][1].get('ratelimit') == '"login";r=4;t=4', answers[0][1])
g.check('RateLimit on 429', answers[5][1].get('ratelimit', '').startswith('"login";r=0;t='), answers[5][1])
g.check('a key is a key', g.get(edge, user='ann&cost=0')[1].get('ratelimit') == '"login";r=4;t=4')
daemon.kill()
g.check('limiter away: requests pass', g.get(edge, user='alice')[0] == 200)
g.done()
