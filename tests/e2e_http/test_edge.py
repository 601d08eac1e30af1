"""An edge worker's day: alice is let through five times and then told when to come again, bob is nobody's concern, and
alice comes back after the window. Every form of the question counts the same."""
import http.client
import json
import time

from http_peer import ask, daemon, get

sluiced = daemon()
address = sluiced.addresses[0]
start = time.monotonic()
answers = [ask(address, 'alice', 'POST /login') for _ in range(8)]
assert [each[0] for each in answers] == [200] * 5 + [429] * 3, answers
for number, (status, fields, body) in enumerate(answers):
    assert fields['ratelimit-policy'] == '"login";q=5;w=10', fields
    assert fields['cache-control'] == 'no-store', fields
    assert body['remaining'] == max(0, 4 - number), (number, body)
    assert body['allowed'] == (status == 200) and body['limit'] == 5 and body['limit_name'] == 'login', body
    if status == 429:
        wait = int(fields['retry-after'])
        assert 1 <= wait <= 10 and fields['ratelimit'] == f'"login";r=0;t={wait}', fields
        assert (wait - 1) * 1000 < body['retry_after_ms'] <= wait * 1000, (wait, body)
        assert body['reason'] == 'OVER_LIMIT', body
    else:
        assert 'retry-after' not in fields and 'retry_after_ms' not in body, (fields, body)
assert ask(address, 'bob', 'POST /login')[0] == 200

# The same counter by every way of asking.
port = address[1]
assert get(port, '/v1/should-allow?key=alice&route=POST%20/login')[0] == 429
status, fields, body = get(port, '/v1/auth', {'X-Sluice-Key': 'alice', 'X-Sluice-Route': 'POST /login'})
assert status == 429 and body == b'' and 'retry-after' in fields, (status, fields, body)
status, fields, body = get(port, '/v1/auth?deny=401', {'X-Sluice-Key': 'alice', 'X-Forwarded-Method': 'POST',
                                                       'X-Forwarded-Uri': '/login?next=/'})
assert status == 401 and fields['content-length'] == '0', (status, fields)
peer = http.client.HTTPConnection(*address)
peer.request('POST', '/v1/should-allow-batch', json.dumps(
    {'requests': [{'key': name, 'route': 'POST /login'} for name in ('alice', 'carol', '')]}))
results = json.loads(peer.getresponse().read())['results']
assert results[0]['response']['allowed'] is False and results[1]['response']['allowed'] is True, results
assert results[2]['error']['field'] == 'key', results
assert ask(address, 'alice', 'POST /login', cost=0)[0] == 200
wait = ask(address, 'alice', 'POST /login')[2]['retry_after_ms']
time.sleep(wait / 1000 + 0.001)
assert ask(address, 'alice', 'POST /login')[0] == 200
assert 9.9 < time.monotonic() - start < 12

# Taking back, and forgetting.
peer.request('POST', '/v1/refund', json.dumps({'key': 'bob', 'route': 'POST /login'}))
answer = peer.getresponse()
assert answer.status == 200 and json.loads(answer.read())['remaining'] == 5
peer.request('POST', '/v1/reset', json.dumps({'key': 'alice', 'route': 'POST /login'}))
answer = peer.getresponse()
assert answer.status == 200 and json.loads(answer.read()) == {'counters': 1}
assert ask(address, 'alice', 'POST /login')[2]['remaining'] == 4
assert sluiced.stop()[0] == 0
print('ok')
