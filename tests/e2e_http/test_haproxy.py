"""The example of deploy/gateways/haproxy, with a real HAProxy."""
import os

from http_peer import GATEWAYS, Process, app, check_gateway, copy_with, daemon, folder, free_port, need

haproxy = need('haproxy')
sluiced = daemon()
behind = app()
where = folder()
port = free_port()
copy_with(os.path.join(GATEWAYS, 'haproxy', 'haproxy.cfg'), os.path.join(where, 'haproxy.cfg'),
          {'bind 127.0.0.1:8081': f'bind 127.0.0.1:{port}',
           'server one 127.0.0.1:8091': f'server one 127.0.0.1:{behind.server_address[1]}'})
copy_with(os.path.join(GATEWAYS, 'haproxy', 'sluice.lua'), os.path.join(where, 'sluice.lua'),
          {'7080': str(sluiced.addresses[0][1])})
Process([haproxy, '-db', '-f', 'haproxy.cfg'], port, cwd=where)
check_gateway(port, behind, sluiced)
print('ok')
