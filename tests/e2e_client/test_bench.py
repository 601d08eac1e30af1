"""bench: every question is accounted for, and what is wrong is said."""
import json
import os
import socket
import struct
import subprocess
import threading
import time
import xml.etree.ElementTree

from daemon import BIN, FOLDER, Checks, Daemon, run

checks = Checks()
daemon = Daemon()


def bench(*args, server=None, stdin=None):
    code, out, err = run('bench', '--json', *args, server=server or daemon.url, stdin=stdin)
    return code, json.loads(out) if out else None, err


def accounted(what, result, total):
    code, seen, err = result
    checks.that(what, code == 0 and seen['requests'] == total and seen['wrong'] == seen['missing'] == 0
                and seen['allowed'] + seen['refused'] + seen['errors'] == total, result)
    return seen or {}


# The daemon counts, too: of one key a thousand pass.
seen = accounted('one key', bench('--requests', '5000', '--warmup', '0s', '--key-choice', 'one', '--route', 'GET /thousand'), 5000)
checks.equal('one key: split', (seen['allowed'], seen['refused']), (1000, 4000))
# Keys that are never the same twice: each may pass once, and all do.
for name, args in (('singly', ()), ('in batches', ('--batch', '7')), ('pipelined', ('--in-flight', '9')),
                   ('by threads', ('--threads', '3', '--batch', '3', '--in-flight', '2'))):
    run('reset', 'x', 'GET /once', server=daemon.url)
    fresh = Daemon()
    seen = accounted(f'unique {name}', bench('--requests', '20011', '--warmup', '0s', '--key-choice', 'unique', '--route',
                                             'GET /once', '--connections', '7', *args, server=fresh.url), 20011)
    checks.equal(f'unique {name}: all pass', seen['allowed'], 20011)
    fresh.stop()
# A hundred keys, one of each: uniform reaches all of them.
fresh = Daemon()
seen = accounted('uniform', bench('--requests', '5000', '--warmup', '0s', '--keys', '100', '--route', 'GET /once', server=fresh.url), 5000)
checks.equal('uniform: every key once', seen['allowed'], 100)
fresh.stop()
seen = accounted('zipf', bench('--requests', '3000', '--warmup', '50ms', '--key-choice', 'zipf', '--batch', '10'), 3000)
seen = accounted('a Unix socket', bench('--requests', '3000', '--warmup', '0s', server=f'unix:{daemon.socket}'), 3000)
seen = accounted('errors', bench('--requests', '300', '--warmup', '0s', '--route', 'GET /address'), 300)
checks.equal('errors: by code', (seen['errors'], seen['error_codes']), (300, {'INVALID_ARGUMENT': 300}))
seen = accounted('errors in a batch', bench('--requests', '300', '--warmup', '0s', '--route', 'GET /address', '--batch', '9'), 300)
checks.equal('errors in a batch: counted', seen['errors'], 300)
fresh = Daemon()
seen = accounted('a cost', bench('--requests', '200', '--warmup', '0s', '--key-choice', 'one', '--cost', '10', '--route',
                                 'GET /thousand', '--batch', '1', server=fresh.url), 200)
checks.equal('a cost: split', (seen['allowed'], seen['refused']), (100, 100))
fresh.stop()

# By time; the numbers agree with each other.
code, seen, err = bench('--duration', '700ms', '--warmup', '100ms', '--in-flight', '4')
latency = seen['latency_us']
checks.that('by time', code == 0 and .5 < seen['seconds'] < 3 and seen['requests'] > 100, seen)
checks.that('rate', abs(seen['requests_per_second'] * seen['seconds'] / seen['requests'] - 1) < .001, seen)
checks.that('percentiles rise', 0 < latency['p50'] <= latency['p90'] <= latency['p99'] <= latency['p99_9'] <= latency['max'], latency)
checks.that('client CPU', 0 < seen['client_cpu'] <= 1.1 and seen['bottleneck'] in (None, 'client'), seen)

# Open loop: the rate is kept, and a stalled daemon cannot hide.
code, seen, err = bench('--rate', '2000', '--duration', '1s', '--warmup', '0s')
checks.that('open loop', code == 0 and seen['requests'] == 2000, (code, seen, err))
timer = threading.Timer(.4, daemon.pause)
timer.start()
threading.Timer(1.2, daemon.resume).start()
code, seen, err = bench('--rate', '2000', '--duration', '1500ms', '--warmup', '0s', '--connections', '4')
checks.that('a stall: all answered', code == 0 and seen['requests'] == 3000, (code, seen, err))
checks.that('a stall: seen by those that were due', seen['latency_us']['max'] > 700e3 and seen['latency_us']['p90'] > 300e3, seen)

# Recorded traffic, in turn.
path = f'{FOLDER}/traffic.ndjson'
with open(path, 'w') as file:
    for i in range(10):
        file.write(json.dumps({'t_ns': i, 'key': f'recorded-{i}', 'route': 'GET /once' if i % 2 else 'GET /address',
                               'attributes': {'ip': '10.0.0.1'}, 'cost': 1}) + '\n')
    file.write('{"t_ns":11,"op":"reset","key":"recorded-1","route":"GET /once"}\nnonsense\n')
for args in (('--connections', '1'), ('--threads', '2', '--batch', '3')):
    fresh = Daemon()
    seen = accounted(f'traffic {args}', bench('--traffic', path, '--requests', '30', '--warmup', '0s', *args, server=fresh.url), 30)
    checks.equal(f'traffic {args}: 5 keys once, one address twice', seen['allowed'], 7)
    fresh.stop()
code, out, err = run('bench', '--traffic', path, '--requests', '10', '--warmup', '0s', server=daemon.url)
checks.that('traffic: what is no question is said', code == 0 and '2 lines' in err and 'traffic.ndjson:12' in err, (code, err))

# In words, and as a picture.
picture = f'{FOLDER}/bench.svg'
code, out, err = run('bench', '--duration', '300ms', '--warmup', '0s', '--plot', picture, server=daemon.url)
names = [line.split(':')[0] for line in out.splitlines()]
checks.equal('in words', names[:12], ['requests', 'allowed', 'refused', 'errors', 'seconds', 'requests/s', 'latency p50', 'latency p90',
                                      'latency p99', 'latency p99.9', 'latency max', 'client CPU'])
checks.equal('no progress where nobody looks', err, '')
text = xml.etree.ElementTree.parse(picture).getroot()
checks.that('the picture', text.tag.endswith('svg') and b'Throughput over time' in open(picture, 'rb').read(), text.tag)
code, out, err = run('bench', '--requests', '10', '--warmup', '0s', '--plot', '/nonexistent/x.svg', server=daemon.url)
checks.that('a picture that cannot be written', code == 1 and 'x.svg' in err, (code, err))

# Used wrongly.
for args in (('--connections', '0'), ('--in-flight', '0'), ('--batch', '1001'), ('--requests', '5', '--duration', '1s'), ('more',),
             ('--key-choice', 'some'), ('--duration', '5'), ('--server', 'resps://x'), ('--threads', '9', '--connections', '8'),
             ('--traffic', path, '--keys', '5'), ('--route', ''), ('--rate', '0'), ('--cost', '-1'), ('--keys', '1e6')):
    code, out, err = run('bench', *args, server=daemon.url)
    checks.that(f'used wrongly {args}', code == 2 and out == '' and err, (code, out, err))
checks.equal('nobody there', bench('--requests', '1', server='native://127.0.0.1:1')[0], 1)
code, out, err = run('bench', '--traffic', '/nonexistent', server=daemon.url)
checks.that('no such traffic', code == 1 and '/nonexistent' in err, (code, err))

# A daemon that goes away: what is missing is counted.
for how in ('kill', 'stop'):
    fresh = Daemon()
    threading.Timer(.5, getattr(fresh, how)).start()
    code, seen, err = bench('--requests', '100000000', '--warmup', '0s', '--in-flight', '8', server=fresh.url)
    checks.that(f'daemon {how}', code == 1 and seen['missing'] > 0 and seen['wrong'] == 0 and 'missing' in err
                and seen['requests'] + seen['missing'] == 100000000, (code, seen, err))
# So it is between two questions of an open loop, when none is on its way.
for how, *much in (('kill', '--duration', '1s'), ('stop', '--duration', '1s'), ('kill', '--requests', '10')):
    fresh = Daemon()
    threading.Timer(.35, getattr(fresh, how)).start()
    code, seen, err = bench('--rate', '10', '--warmup', '0s', '--connections', '2', *much, server=fresh.url)
    checks.that(f'daemon {how}, open loop, {much}', code == 1 and seen['missing'] > 0 and 'missing' in err
                and (much[0] == '--duration' or seen['requests'] + seen['missing'] == 10), (code, seen, err))


def varint(number):
    return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])


class Liar:
    """Answers every question of a single bench connection with what `reply(id, count)` makes; ids have four bytes."""

    def __init__(self, reply):
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.reply = reply
        self.url = 'native://127.0.0.1:%d' % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        peer, _ = self.listener.accept()
        data, count = b'', 0
        while True:
            more = peer.recv(65536)
            if not more:
                return
            data += more
            while data and len(data) > data[0]:
                frame, data = data[1:data[0] + 1], data[data[0] + 1:]
                count += 1
                answer = self.reply(frame[1:5], count)
                if answer is None:
                    peer.close()
                    return
                peer.sendall(answer)


def frame(question_id, body, field=2):
    inner = b'\x08' + question_id + varint(field << 3 | 2) + varint(len(body)) + body
    return varint(len(inner)) + inner


OK = b'\x08\x01\x10\x05\x18\x04\x40\x01'
for what, reply in (
        ('an answer twice', lambda i, n: frame(i, OK) * (2 if n == 50 else 1)),
        ('another id', lambda i, n: frame(b'\xff\xff\xff\x01' if n == 50 else i, OK)),
        ('another kind', lambda i, n: frame(i, b'\x08\x01', 5) if n == 50 else frame(i, OK)),
        ('cut', lambda i, n: frame(i, OK[:-1]) if n == 50 else frame(i, OK)),
        ('allowed and OVER_LIMIT', lambda i, n: frame(i, b'\x08\x01\x10\x05\x18\x04\x40\x05') if n == 50 else frame(i, OK)),
        ('refused and UNDER_LIMIT', lambda i, n: frame(i, b'\x10\x05\x18\x04\x40\x01') if n == 50 else frame(i, OK)),
        ('more left than the limit', lambda i, n: frame(i, b'\x08\x01\x10\x05\x18\x06\x40\x01') if n == 50 else frame(i, OK)),
        ('an empty answer', lambda i, n: frame(i, b'') if n == 50 else frame(i, OK)),
        ('text', lambda i, n: b'HTTP/1.1 400\r\n\r\n' if n == 50 else frame(i, OK)),
        ('a closed connection', lambda i, n: None if n == 50 else frame(i, OK))):
    liar = Liar(reply)
    code, seen, err = bench('--requests', '100', '--warmup', '0s', '--connections', '1', server=liar.url)
    checks.that(f'a liar: {what}', code == 1 and seen['wrong'] + seen['missing'] > 0
                and ('wrong' if what != 'a closed connection' else 'missing') in err and seen['requests'] < 101, (code, seen, err))
honest = Liar(lambda i, n: frame(i, OK))
accounted('an honest one', bench('--requests', '100', '--warmup', '0s', '--connections', '1', server=honest.url), 100)
daemon.stop()
checks.done()
