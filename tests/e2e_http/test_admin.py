"""The admin listener over HTTP: metrics, health, what is counted, reloading."""
import http.client
import json

from http_peer import LIMITS, ask, daemon, get

sluiced = daemon(listen=('http=127.0.0.1:0', 'admin=127.0.0.1:0'))
http_address, admin = sluiced.addresses[0], sluiced.addresses[1][1]
assert ask(http_address, 'alice', 'POST /login', cost=2)[0] == 200


def post(path, body=None):
    peer = http.client.HTTPConnection('127.0.0.1', admin, timeout=10)
    peer.request('POST', path, body)
    answer = peer.getresponse()
    return answer.status, json.loads(answer.read())


assert get(admin, '/healthz')[::2] == (200, b'ok\n')
assert get(admin, '/readyz')[::2] == (200, b'ready\n')
status, fields, body = get(admin, '/metrics')
assert status == 200 and fields['content-type'].startswith('text/plain; version=0.0.4'), fields
assert b'sluice_decisions_total{limit="login",outcome="allowed"} 1\n' in body, body
assert b'sluice_requests_total{protocol="http",kind="should_allow"} 1\n' in body, body
status, _, body = get(admin, '/v1/counters?key=alice&route=POST%20/login')
rows = json.loads(body)['details']
assert status == 200 and [(row['limit_name'], row['remaining']) for row in rows] == [('login', 3)], rows
assert get(admin, '/v1/counters?key=alice')[0] == 400
assert get(admin, '/v1/reload')[0] == 405
for path in ('/metrics', '/healthz', '/readyz', '/v1/counters?key=a&route=b'):
    assert get(http_address[1], path)[0] == 403, path

sluiced.write_limits(LIMITS.replace('limit: 5, window: 10s', 'limit: 7, window: 10s'))
assert post('/v1/reload') == (200, {'reloaded': True})
assert ask(http_address, 'alice', 'POST /login', cost=0)[2]['remaining'] == 5
sluiced.write_limits('limits: {login: {algorithm: nonsense}}\nroutes: {}\n')
status, body = post('/v1/reload')
assert status == 422 and body['status'] == 422 and len(body['errors']) >= 1, body
assert 'limits.yaml:1:' in body['errors'][0], body
assert ask(http_address, 'alice', 'POST /login', cost=0)[2]['remaining'] == 5
assert sluiced.stop()[0] == 0
print('ok')
