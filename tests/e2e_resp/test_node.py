"""ioredis and node-redis with their defaults, of two generations each."""
import json
import os
import shutil
import subprocess

import resp
from native import main

MODULES = os.path.abspath(os.path.join(resp.CACHE, 'redis-node', 'node_modules'))

IOREDIS = r'''
const Redis = require(process.argv[2]);
const client = new Redis({port: +process.argv[3], maxRetriesPerRequest: 1});
client.on('error', (error) => { console.error(error); process.exit(1); });
client.on('ready', async () => {
  const out = {};
  out.throttle = await client.call('CL.THROTTLE', 'io', 4, 10, 50);
  out.allow = await client.call('SLUICE.ALLOW', 'io', 'GET /once');
  const pipe = client.pipeline();
  for (let i = 0; i < 100; i++) pipe.call('CL.THROTTLE', 'pipe', 999, 1, 3600);
  out.pipeline = (await pipe.exec()).map(([error, reply]) => reply[2]);
  out.error = await client.call('CL.THROTTLE', 'io', 4, 0, 50).catch((error) => error.message);
  out.deleted = await client.del('io');
  out.quit = await client.quit();
  console.log(JSON.stringify(out));
});
'''

NODE_REDIS = r'''
const {createClient} = require(process.argv[2]);
(async () => {
  const client = createClient({socket: {port: +process.argv[3], reconnectStrategy: false}});
  client.on('error', (error) => { console.error(error); process.exit(1); });
  await client.connect();
  const out = {};
  out.throttle = await client.sendCommand(['CL.THROTTLE', 'io', '4', '10', '50']);
  out.allow = await client.sendCommand(['SLUICE.ALLOW', 'io', 'GET /once']);
  const sent = [];
  for (let i = 0; i < 100; i++) sent.push(client.sendCommand(['CL.THROTTLE', 'pipe', '999', '1', '3600']));
  out.pipeline = (await Promise.all(sent)).map((reply) => reply[2]);
  out.error = await client.sendCommand(['CL.THROTTLE', 'io', '4', '0', '50']).catch((error) => error.message);
  out.deleted = await client.del('io');
  out.quit = client.close ? (await client.close(), 'OK') : await client.quit();
  console.log(JSON.stringify(out));
})();
'''


def check(script, module):
    daemon = resp.daemon()
    file = os.path.join(daemon.folder, 'client.js')
    with open(file, 'w', encoding='utf-8') as out:
        out.write(script)
    done = subprocess.run(['node', file, os.path.join(MODULES, module), str(daemon.addresses[0][1])],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert got['throttle'] == [0, 5, 4, -1, 5], got
    assert got['allow'][:3] == [1, 1, 0] and got['allow'][5:] == [0, 'once', 'UNDER_LIMIT'], got
    assert got['pipeline'] == list(range(999, 899, -1)), got
    assert 'count: a whole number' in got['error'], got
    assert got['deleted'] == 1 and got['quit'] == 'OK', got


def test_ioredis_6():
    check(IOREDIS, 'ioredis')


def test_ioredis_5():
    check(IOREDIS, 'ioredis-5')


def test_node_redis_6():
    check(NODE_REDIS, 'redis')


def test_node_redis_4():
    check(NODE_REDIS, 'redis-4')


if not shutil.which('node') or not os.path.exists(os.path.join(MODULES, '..', 'ready')):
    resp.skip('ioredis and node-redis are not installed (tests/e2e_resp/install)')
main(globals())
