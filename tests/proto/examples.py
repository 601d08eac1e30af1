#!/usr/bin/env python3
"""Plays the examples of PROTOCOLS.md against a daemon. Usage: examples.py BIN PROTOCOLS.md"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import Daemon, varint  # noqa: E402  (the path comes first)


def blocks(text, kind):
    return re.findall(rf'^```{kind}\n(.*?)^```', text, flags=re.M | re.S)


def matches(pattern, data):
    for i, want in enumerate(pattern):
        if want == '*':
            return True
        if i >= len(data) or (want != '..' and int(want, 16) != data[i]):
            return False
    return len(pattern) == len(data)


def play(daemon, example, listener):
    peer = daemon.connect(listener)
    for line in example.strip().split('\n'):
        words = line.split()
        if words[0] == '>':
            peer.send(bytes(int(word, 16) for word in words[1:]))
            continue
        payload = peer.frame()
        if words[1:] == ['closed']:
            got = payload is None
        else:
            got = payload is not None and matches(words[1:], varint(len(payload)) + payload)
        if not got:
            raise SystemExit(f'in\n{example}\nexpected {line}\ngot      < {payload and (varint(len(payload)) + payload).hex(" ")}')
    peer.close()


def main():
    text = open(sys.argv[2], encoding='utf-8').read()
    daemon = Daemon(blocks(text, 'yaml')[0], listen=('native=127.0.0.1:0', 'admin=127.0.0.1:0'))
    examples = blocks(text, 'example')
    if len(examples) < 10:
        raise SystemExit(f'only {len(examples)} examples found')
    for example in examples:
        play(daemon, example, 0)
    admin = blocks(text, 'admin')
    if not admin:
        raise SystemExit('no example of an admin listener found')
    for example in admin:
        play(daemon, example, 1)
    daemon.stop()
    print(f'{len(examples) + len(admin)} examples hold')


main()
