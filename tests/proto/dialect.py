#!/usr/bin/env python3
"""The derived dialect has the wire format of the public contract: random messages of every type, written by protoc from
the one, read back by protoc through the other, and the reverse. Usage: dialect.py PROTOC PROTO_DIR DERIVED_DIR"""
import random
import re
import subprocess
import sys

PROTOC, PUBLIC, DERIVED = sys.argv[1:4]
FILE = 'sluice/v1/sluice.proto'
ROUNDS = 12


def protoc(mode, folder, message, data):
    done = subprocess.run([PROTOC, f'--proto_path={folder}', f'--{mode}=sluice.v1.{message}', FILE], input=data,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f'{message}: {done.stderr.decode()}')
    return done.stdout


def descriptors(path):
    """{message: [(label, type, name)]} of a .proto file, as far as this contract goes."""
    text = re.sub(r'//[^\n]*', '', open(path, encoding='utf-8').read())
    out = {}
    for name, body in messages(text):
        fields = []
        for label, kind, field in re.findall(
                r'(optional |repeated |)(map<string, string>|[\w.]+) (\w+) = \d+;', body):
            if kind not in ('reserved', 'option'):
                fields.append((label.strip(), kind, field))
        out[name] = fields
    return out


def messages(text):
    for match in re.finditer(r'message (\w+) \{', text):
        depth, at = 1, match.end()
        while depth:
            depth += {'{': 1, '}': -1}.get(text[at], 0)
            at += 1
        yield match.group(1), text[match.end():at - 1]


def value(rng, types, kind, indent):
    if kind in ('string', 'bytes'):
        word = rng.choice(['', 'alice', 'POST /login', '\u00e9\u4e16', 'a\0b', 'x' * 200])
        return '"' + ''.join(f'\\{b:03o}' for b in word.encode()) + '"'
    if kind == 'bool':
        return rng.choice(['true', 'false'])
    if kind in ('uint64', 'uint32', 'int64', 'int32'):
        top = {'uint64': 64, 'uint32': 32, 'int64': 63, 'int32': 31}[kind]
        return str(rng.getrandbits(rng.randrange(1, top + 1)))
    if kind == 'Reason':
        return str(rng.randrange(9))
    if kind == 'Code':
        return str(rng.choice([0, 3, 5, 7, 8, 12, 13, 14, 16]))
    if kind == 'google.protobuf.Duration':
        return f'{{ seconds: {rng.getrandbits(33)} nanos: {rng.randrange(10**9)} }}'
    return '{ ' + message_text(rng, types, kind, indent + 1) + ' }'


def message_text(rng, types, name, depth=0):
    """A random message in text format; of a oneof at most one member."""
    parts = []
    fields = types[name]
    oneof = {'ShouldAllowResult', 'ClientFrame', 'ServerFrame'}
    if name in oneof:
        members = [f for f in fields if f[2] != 'id']
        fields = [f for f in fields if f[2] == 'id'] + [rng.choice(members)]
    for label, kind, field in fields:
        if name not in oneof and rng.random() < 0.25:
            continue
        for _ in range(rng.randrange(4) if label == 'repeated' or kind.startswith('map') else 1):
            if kind.startswith('map'):
                # Not empty: of an empty value a map's entry is free to write 12 00 or nothing.
                parts.append(f'{field} {{ key: "{rng.getrandbits(40):x}" value: "{rng.getrandbits(40):x}" }}')
            else:
                parts.append(f'{field}: {value(rng, types, kind, depth)}' if not value_is_message(types, kind)
                             else f'{field} {value(rng, types, kind, depth)}')
    return ' '.join(parts)


def value_is_message(types, kind):
    return kind in types or kind == 'google.protobuf.Duration'


def main():
    types = descriptors(f'{PUBLIC}/{FILE}')
    derived = descriptors(f'{DERIVED}/{FILE}')
    missing = set(types) - set(derived)
    if missing:
        raise SystemExit(f'not in the dialect: {missing}')
    rng = random.Random(20260101)
    count = 0
    for name in types:
        for _ in range(ROUNDS if types[name] else 1):
            public = protoc('encode', PUBLIC, name, message_text(rng, types, name).encode())
            through = protoc('encode', DERIVED, name, protoc('decode', DERIVED, name, public))
            back = protoc('encode', PUBLIC, name, protoc('decode', PUBLIC, name, through))
            # A map's order is protoc's own choice each time it writes one; the dialect keeps what it reads.
            if through != public or sorted(back) != sorted(public):
                raise SystemExit(f'{name}: {public.hex()} became {through.hex()} and {back.hex()}')
            if re.search(rb'(?m)^\s*\d+[:{ ]', protoc('decode', DERIVED, name, public)):
                raise SystemExit(f'{name}: the dialect does not know a field of {public.hex()}')
            count += 1
    print(f'{count} messages of {len(types)} types are the same bytes in both')


main()
