"""The middleware of deploy/gateways/express, under node's own server: what Express calls is what is called here."""
import os

from http_peer import GATEWAYS, Process, app, check_gateway, daemon, folder, free_port, get, need

SERVER = '''
const sluice = require(%r)({ url: 'http://127.0.0.1:%d', key: (req) => req.socket.remoteAddress });
require('http').createServer((req, res) => sluice(req, res, async () => {
  const answer = await fetch('http://127.0.0.1:%d/');
  res.end(await answer.text());
})).listen(%d, '127.0.0.1');
'''

node = need('node')
sluiced = daemon()
behind = app()
where = folder()
port = free_port()
server = os.path.join(where, 'server.js')
with open(server, 'w', encoding='utf-8') as out:
    out.write(SERVER % (os.path.join(os.path.abspath(GATEWAYS), 'express', 'sluice.js'), sluiced.addresses[0][1],
                        behind.server_address[1], port))
Process([node, server], port)
check_gateway(port, behind, sluiced)
print('ok')
