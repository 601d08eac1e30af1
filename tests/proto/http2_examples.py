#!/usr/bin/env python3
"""Plays the HTTP/2 examples of PROTOCOLS.md against a daemon. Usage: http2_examples.py BIN PROTOCOLS.md"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import Daemon  # noqa: E402  (the path comes first)


def blocks(text, kind):
    return re.findall(rf'^```{kind}\n(.*?)^```', text, flags=re.M | re.S)


def matches(pattern, data):
    for i, want in enumerate(pattern):
        if want == '*':
            return True
        if i >= len(data) or (want != '..' and int(want, 16) != data[i]):
            return False
    return len(pattern) == len(data)


def read(peer, size):
    data = b''
    while len(data) < size:
        more = peer.socket.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def play(daemon, example):
    peer = daemon.connect()
    for line in example.strip().split('\n'):
        words = line.split()
        if words[0] == '>':
            peer.send(bytes(int(word, 16) for word in words[1:]))
            continue
        head = read(peer, 9)
        frame = head + read(peer, int.from_bytes(head[:3], 'big'))
        if not matches(words[1:], frame):
            raise SystemExit(f'in\n{example}\nexpected {line}\ngot      < {frame.hex(" ")}')
    peer.close()


def main():
    text = open(sys.argv[2], encoding='utf-8').read()
    daemon = Daemon(blocks(text, 'yaml')[0], listen=('grpc=127.0.0.1:0',))
    examples = blocks(text, 'http2')
    if len(examples) < 4:
        raise SystemExit(f'only {len(examples)} examples found')
    for example in examples:
        play(daemon, example)
    daemon.stop()
    print(f'{len(examples)} examples hold')


main()
