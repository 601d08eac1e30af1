#!/usr/bin/env python3
"""Plays the Redis protocol's examples of PROTOCOLS.md against a daemon. Usage: resp_examples.py BIN PROTOCOLS.md"""
import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import Daemon  # noqa: E402  (the path comes first)


def blocks(text, kind):
    return re.findall(rf'^```{kind}\n(.*?)^```', text, flags=re.M | re.S)


def raw(line):
    return line[2:].encode('latin1').decode('unicode_escape').encode('latin1')


def expect(peer, want, example):
    got = b''
    while len(got) < len(want):
        more = peer.recv(len(want) - len(got))
        if not more:
            break
        got += more
    if got != want:
        raise SystemExit(f'in\n{example}\nexpected {want}\ngot      {got}')


def play(daemon, example):
    lines = example.strip().split('\n')
    with socket.create_connection(daemon.addresses[0], timeout=20) as peer:
        peer.sendall(b''.join(raw(line) for line in lines if line[0] == '>'))
        for line in lines:
            if line == '< closed':
                if peer.recv(1) != b'':
                    raise SystemExit(f'in\n{example}\nexpected the end of the connection')
            elif line[0] == '<':
                expect(peer, raw(line), example)


def main():
    text = open(sys.argv[2], encoding='utf-8').read()
    daemon = Daemon(blocks(text, 'yaml')[0], listen=('resp=127.0.0.1:0',))
    examples = blocks(text, 'resp')
    if len(examples) < 7:
        raise SystemExit(f'only {len(examples)} examples found')
    for example in examples:
        play(daemon, example)
    daemon.stop()
    print(f'{len(examples)} examples hold')


main()
