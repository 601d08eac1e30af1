#!/usr/bin/env python3
"""Plays the HTTP examples of PROTOCOLS.md against a daemon. Usage: http_examples.py BIN PROTOCOLS.md"""
import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from native import Daemon  # noqa: E402  (the path comes first)


def blocks(text, kind):
    return re.findall(rf'^```{kind}\n(.*?)^```', text, flags=re.M | re.S)


def pattern(lines):
    return re.compile('.*'.join(re.escape(piece) for piece in '\r\n'.join(lines).split('*')).encode())


def play(daemon, example):
    sent, expected = [], []
    for line in example.rstrip('\n').split('\n'):
        (sent if line[0] == '>' else expected).append(line[2:])
    closed = expected[-1] == 'closed'
    expected = expected[:-1] if closed else expected
    # The last line of a body ends without CR LF; that of a head is empty, and the empty line is there.
    want = pattern(expected + ([''] if expected[-1] == '' else []))
    data = '\r\n'.join(sent) + ('\r\n' if sent[-1] == '' else '')
    peer = socket.create_connection(daemon.addresses[0], timeout=5)
    peer.sendall(data.encode())
    got = b''
    while not want.fullmatch(got):
        try:
            more = peer.recv(65536)
        except TimeoutError:
            more = b''
        if not more:
            raise SystemExit(f'in\n{example}\nexpected\n{want.pattern.decode()}\ngot\n{got.decode()}')
        got += more
    if closed and peer.recv(1) != b'':
        raise SystemExit(f'in\n{example}\nthe connection was to end')
    peer.close()


def main():
    with open(sys.argv[2], encoding='utf-8') as text:
        text = text.read()
    daemon = Daemon(blocks(text, 'yaml')[0], listen=('http=127.0.0.1:0',))
    examples = blocks(text, 'http')
    if len(examples) < 5:
        raise SystemExit(f'only {len(examples)} examples found')
    for example in examples:
        play(daemon, example)
    daemon.stop()
    print(f'{len(examples)} examples hold')


main()
