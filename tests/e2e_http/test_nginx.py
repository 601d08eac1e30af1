"""The example of deploy/gateways/nginx, with a real nginx."""
import os
import time

from http_peer import GATEWAYS, Process, app, check_gateway, copy_with, daemon, folder, free_port, get, need

nginx = need('nginx')
sluiced = daemon()
behind = app()
where = folder()
port = free_port()
copy_with(os.path.join(GATEWAYS, 'nginx', 'nginx.conf'), os.path.join(where, 'nginx.conf'),
          {'listen 127.0.0.1:8080;': f'listen 127.0.0.1:{port};',
           'server 127.0.0.1:7080;': f'server 127.0.0.1:{sluiced.addresses[0][1]};',
           'server 127.0.0.1:8090;': f'server 127.0.0.1:{behind.server_address[1]};'})
Process([nginx, '-p', where, '-c', os.path.join(where, 'nginx.conf')], port)

# What a client says of itself is nobody's business.
for _ in range(3):
    assert get(port, '/page', {'X-Sluice-Key': 'somebody', 'X-Sluice-Cost': '0', 'X-Forwarded-Uri': '/other'})[0] == 200
status, fields, _ = get(port, '/page')
assert status == 200 and fields['ratelimit'].startswith('"edge";r=1;'), fields
time.sleep(3.1)
behind.asked = 0
check_gateway(port, behind, sluiced)
print('ok')
