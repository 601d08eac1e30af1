#!/usr/bin/env python3
"""Plays the rate limit service's examples of PROTOCOLS.md against a daemon. Usage: envoy_examples.py BIN PROTOCOLS.md"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import Daemon  # noqa: E402  (the path comes first)
try:
    import grpc
except ImportError:
    print('SKIPPED: python3-grpcio is not installed')
    raise SystemExit(77)

METHOD = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'


def blocks(text, kind):
    return re.findall(rf'^```{kind}\n(.*?)^```', text, flags=re.M | re.S)


def main():
    text = open(sys.argv[2], encoding='utf-8').read()
    with tempfile.NamedTemporaryFile('w', suffix='.yaml') as rules:
        rules.write(blocks(text, 'envoy')[0])
        rules.flush()
        daemon = Daemon(blocks(text, 'yaml')[0], '--envoy-config', rules.name, listen=('grpc=127.0.0.1:0',))
    channel = grpc.insecure_channel('%s:%d' % daemon.addresses[0])
    call = channel.unary_unary(METHOD, request_serializer=bytes, response_deserializer=bytes)
    count = 0
    for line in '\n'.join(blocks(text, 'rls')).split('\n'):
        if line[:2] == '> ':
            try:
                got = call(bytes.fromhex(line[2:]), timeout=20).hex()
            except grpc.RpcError as error:
                got = f'code {error.code().value[0]}: {error.details()}'
        elif line[:2] == '< ':
            count += 1
            if got != line[2:]:
                raise SystemExit(f'expected {line[2:]}\ngot      {got}')
    channel.close()
    daemon.stop()
    if count < 6:
        raise SystemExit(f'only {count} examples found')
    print(f'{count} examples hold')


main()
