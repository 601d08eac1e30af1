"""RateLimit, RateLimit-Policy, Retry-After and X-RateLimit-* of limits at the edges: closed, blocked, unlimited, of a
calendar, shorter than a second, too large for a structured field."""
from http_peer import ask, daemon

LIMITS = '''
limits:
  closed: {algorithm: fixed_window, limit: 0, window: 1m}
  closed_bucket: {algorithm: token_bucket, limit: 0, window: 1m}
  day: {algorithm: fixed_window, limit: 5, window: day}
  some: {algorithm: fixed_window, limit: 5, window: 365d, overrides: [{match: {key: bad}, blocked: true},
         {match: {key: vip}, unlimited: true}]}
  huge: {algorithm: token_bucket, limit: 1, window: 3653d, burst: 999999999999999}
  burst: {algorithm: token_bucket, limit: 60, window: 1m, burst: 20}
  short: {algorithm: fixed_window, limit: 2, window: 1500ms}
  silent: {algorithm: fixed_window, limit: 1, window: 1m, shadow: true}
routes:
  closed: [closed]
  closed_bucket: [closed_bucket]
  day: [day]
  some: [some, day]
  huge: [huge]
  burst: [burst]
  short: [short]
  vip: [some]
  silent: [silent]
  none: []
'''
# key, route: status, policy, state (t= ends it where the clock decides), has Retry-After, X-RateLimit-Limit
CASES = [
    ('a', 'closed', 429, '"closed";q=0', '"closed";r=0', False, '0'),
    ('a', 'closed_bucket', 429, '"closed_bucket";q=0', '"closed_bucket";r=0', False, '0'),
    ('a', 'day', 200, '"day";q=5', '"day";r=4;t=', False, '5'),
    ('bad', 'some', 429, '"some";q=0, "day";q=5', '"some";r=0, "day";r=5', False, '0'),
    ('vip', 'some', 200, '"day";q=5', '"day";r=4;t=', False, '5'),
    ('vip', 'vip', 200, None, None, False, None),
    ('a', 'huge', 200, '"huge";q=999999999999999;w=999999999999999', '"huge";r=999999999999998;t=315619200', False,
     '999999999999999'),
    ('a', 'burst', 200, '"burst";q=20;w=20', '"burst";r=19;t=1', False, '20'),
    ('a', 'short', 200, '"short";q=2;w=2', '"short";r=1;t=', False, '2'),
    ('a', 'silent', 200, None, None, False, None),
    ('a', 'silent', 200, None, None, False, None),
    ('a', 'none', 200, None, None, False, None),
    ('a', 'nowhere', 200, None, None, False, None),
]
sluiced = daemon('--x-ratelimit-headers', limits=LIMITS)
for key, route, status, policy, state, retry, most in CASES:
    got, fields, body = ask(sluiced.addresses[0], key, route)
    assert got == status, (key, route, got, body)
    assert fields.get('ratelimit-policy') == policy, (key, route, fields)
    shown = fields.get('ratelimit')
    assert shown == state or (state or '').endswith('t=') and shown.startswith(state) and shown[len(state):].isdigit(), \
        (key, route, fields)
    assert ('retry-after' in fields) == retry, (key, route, fields)
    assert fields.get('x-ratelimit-limit') == most, (key, route, fields)
    assert body.get('retry_after_ms', 'absent') == ('absent' if status == 200 else None), body
    assert fields['cache-control'] == 'no-store', fields
_, _, blocked = ask(sluiced.addresses[0], 'bad', 'some', details=True)
assert blocked['reason'] == 'BLOCKED' and blocked['limit'] == blocked['remaining'] == 0, blocked
assert 'reset_after_ms' not in blocked and [list(row) for row in blocked['details']] == [
    ['limit_name', 'allowed', 'limit', 'remaining', 'retry_after_ms', 'shadow', 'window_ms', 'algorithm'],
    ['limit_name', 'allowed', 'limit', 'remaining', 'reset_after_ms', 'shadow', 'window_ms', 'algorithm']], blocked
print('ok')
