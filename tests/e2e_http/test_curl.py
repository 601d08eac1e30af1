"""curl and wrk as they come."""
import json
import os
import re
import subprocess

from http_peer import ask, daemon, folder, need

curl = need('curl')
sluiced = daemon('--x-ratelimit-headers')
url = 'http://%s:%d' % sluiced.addresses[0]
where = folder()
question = os.path.join(where, 'question.json')
with open(question, 'w', encoding='utf-8') as out:
    out.write('{"key":"alice","route":"many","cost":"9007199254740993"}')


def run(*arguments):
    return subprocess.run([curl, '-sS', '-i', *arguments], capture_output=True, timeout=30, check=True).stdout.decode()


answer = run('--json', '{"key":"alice","route":"POST /login"}', url + '/v1/should-allow')
assert answer.startswith('HTTP/1.1 200 OK'), answer
assert json.loads(answer.split('\r\n\r\n')[1])['remaining'] == 4, answer
assert 'x-ratelimit-limit: 5' in answer and 'x-ratelimit-remaining: 4' in answer, answer
assert re.search(r'^x-ratelimit-reset: (9|10)\r$', answer, re.M), answer
# A cost above 2^53, as a string of digits.
answer = run('-H', 'Content-Type: application/json', '-d', '@' + question, url + '/v1/should-allow')
assert answer.startswith('HTTP/1.1 429') and '"retry_after_ms":null' in answer, answer
answer = run('-d', '{"key":"alice","route":"many"}', url + '/v1/should-allow')
assert answer.startswith('HTTP/1.1 415'), answer
answer = run(url + '/v1/should-allow?key=a%20b%26c&route=POST%20/login')
assert answer.startswith('HTTP/1.1 200') and ask(sluiced.addresses[0], 'a b&c', 'POST /login')[2]['remaining'] == 3
# A plus is a plus, also where a form would mean a blank by it.
answer = run('-G', '--data-urlencode', 'key=a b', '--data-urlencode', 'route=POST /login', url + '/v1/should-allow')
assert 'NO_LIMIT' in answer, answer
answer = run('-H', 'Transfer-Encoding: chunked', '-H', 'Content-Type: application/json', '-H', 'Expect: 100-continue',
             '-d', '{"key":"alice","route":"many"}', url + '/v1/should-allow')
assert answer.startswith('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK') or answer.startswith('HTTP/1.1 200 OK'), answer
answer = run('--http1.0', url + '/v1/should-allow?key=a&route=many')
assert 'connection: close' in answer and '"allowed":true' in answer, answer
answer = run('-I', url + '/v1/should-allow?key=a&route=many')
assert answer.startswith('HTTP/1.1 200') and answer.endswith('\r\n\r\n'), answer
answer = run('-X', 'PURGE', '-H', 'X-Sluice-Key: a', '-H', 'X-Sluice-Route: many', url + '/v1/auth')
assert answer.startswith('HTTP/1.1 200') and 'content-length: 0' in answer, answer
# Two questions, one connection.
twice = ['-o', '/dev/null', url + '/v1/should-allow?key=a&route=many'] * 2
answer = subprocess.run([curl, '-sS', '-w', '%{num_connects} ', *twice], capture_output=True, text=True, timeout=30,
                        check=True).stdout
assert answer == '1 0 ', answer

wrk = need('wrk')
load = subprocess.run([wrk, '-t1', '-c20', '-d2', url + '/v1/should-allow?key=w&route=many'], capture_output=True,
                      text=True, timeout=60, check=True).stdout
assert 'Non-2xx' not in load and 'Socket errors' not in load, load
asked = int(re.search(r'(\d+) requests in', load).group(1))
left = ask(sluiced.addresses[0], 'w', 'many', cost=0)[2]['remaining']
assert asked > 1000, load
# Each answer was a unit; up to one in flight on each connection when time was up.
assert 1000000000 - asked - 20 - 1 <= left, (left, asked)
print('ok')
