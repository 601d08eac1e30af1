#!/usr/bin/env python3
"""The house rules that a machine can check. Usage: tidy.py [BUILD_DIR]
Source rules need the tree only; symbol rules need BUILD_DIR with the static libraries."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None

# Folder -> folders it may include. README, "How it is built".
ALLOWED = {
    'server/base': {'base'},
    'server/limiter': {'base', 'limiter'},
    'server/store': {'base', 'limiter', 'store'},
    'server/engine': {'base', 'limiter', 'store', 'engine'},
    'server/persist': {'base', 'limiter', 'store', 'persist'},
    'server/wire': {'base', 'limiter', 'store', 'engine', 'wire', 'sluice'},
    'server/net': {'base', 'engine', 'limiter', 'store', 'wire', 'net'},
}
SYSTEM_ONLY_IN = {'uv.h': ('server/net', 'server', 'client'), 'sys/socket.h': ('server/net', 'server', 'client'),
                  'sodium.h': ('server/base',), 'yaml.h': ('server/engine', 'server'),
                  'openssl/ssl.h': ('server/net',), 'openssl/err.h': ('server/net',), 'curl/curl.h': ('client',)}
THREADS = re.compile(r'\b(pthread_\w+|mtx_\w+|thrd_\w+|atomic_\w+|_Atomic|stdatomic\.h|threads\.h|pthread\.h)\b')
THREAD_FILES = {'server/store/store.c', 'server/store/store_lock.h', 'server/net/worker.c', 'server/base/metrics.c',
                'server/base/log.c', 'server/base/shared.h', 'server/base/shared.c', 'server/control.c', 'server/control.h'}
MUTABLE_ALLOWED = {'clock_anchor_ns', 'log_config', 'log_level', 'log_threshold', 'log_json'}
TOP = {'proto', 'server', 'client', 'tests', 'deploy', 'CMakeLists.txt', 'README.md'}
FUNCTION_LINES, FILE_LINES, LINE_COLUMNS = 70, 500, 100

wrong = []


def complain(where, what):
    wrong.append(f'{where}: {what}')


def tracked():
    out = subprocess.run(['git', 'ls-files', '-z'], cwd=ROOT, capture_output=True, check=False).stdout
    files = [f for f in out.decode().split('\0') if f]
    if files:
        return [f for f in files if os.path.exists(os.path.join(ROOT, f))]
    found = []   # a tree without git, such as an unpacked archive
    for folder, dirs, names in os.walk(ROOT):
        dirs[:] = [d for d in dirs if not d.startswith(('build', '.git'))]
        found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return found


def strip_comments(text):
    """Comments and literals blanked out, line numbers kept."""
    def blank(m):
        return re.sub(r'[^\n]', ' ', m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def check_functions(path, text):
    """A function body starts with a lone { in column 1 and ends with a lone } in column 1."""
    start = None
    for number, line in enumerate(text.split('\n'), 1):
        if line == '{':
            start = number
        elif line == '}' and start is not None:
            if number - start + 1 > FUNCTION_LINES:
                complain(f'{path}:{start}', f'function of {number - start + 1} lines, at most {FUNCTION_LINES}')
            start = None


def check_includes(path, raw):
    folder = os.path.dirname(path)
    for number, line in enumerate(raw.split('\n'), 1):
        project = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if project and folder in ALLOWED:
            layer = project.group(1).split('/')[0]
            if layer not in ALLOWED[folder]:
                complain(f'{path}:{number}', f'{folder} may not include "{project.group(1)}"')
        system = re.match(r'\s*#\s*include\s+<([^>]+)>', line)
        if system and path.startswith(('server/', 'client/')):
            allowed = SYSTEM_ONLY_IN.get(system.group(1))
            if allowed and folder not in allowed and not folder.startswith('client'):
                complain(f'{path}:{number}', f'<{system.group(1)}> belongs in {", ".join(allowed)}')
    own = path[:-2] + '.h'
    if path.endswith('.c') and os.path.exists(os.path.join(ROOT, own)) and path.startswith('server/'):
        first = re.search(r'#\s*include\s+[<"]([^>"]+)[>"]', raw)
        if first and os.path.basename(first.group(1)) != os.path.basename(own):
            complain(path, f'includes {first.group(1)} before its own header')


def check_source(path):
    raw = open(os.path.join(ROOT, path), encoding='utf-8').read()
    lines = raw.split('\n')
    text = strip_comments(raw)
    if len(lines) - 1 > FILE_LINES:
        complain(path, f'{len(lines) - 1} lines, at most {FILE_LINES}')
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_COLUMNS:
            complain(f'{path}:{number}', f'{len(line)} columns, at most {LINE_COLUMNS}')
        if line.rstrip() != line or '\t' in line:
            complain(f'{path}:{number}', 'trailing blank or tab')
        if re.search(r'\b(TODO|FIXME|XXX|HACK)\b', line):
            complain(f'{path}:{number}', 'a left-over')
    if not raw.endswith('\n'):
        complain(path, 'does not end with a newline')
    check_functions(path, text)
    check_includes(path, raw)
    if path.startswith('server/'):
        if path not in THREAD_FILES and not path.startswith('server/persist/'):
            for m in THREADS.finditer(text):
                complain(f'{path}:{text.count(chr(10), 0, m.start()) + 1}', f'{m.group(0)} outside the files for threads')
        if path != 'server/base/limits.h':
            for m in re.finditer(r'#\s*define\s+(\w+_MAX)\s+\(?\d', text):
                complain(f'{path}:{text.count(chr(10), 0, m.start()) + 1}', f'{m.group(1)} belongs in base/limits.h')
    if path.startswith('server/wire/') and path.endswith('.c'):
        tables = re.findall(r'^(?:static )?const struct wire_protocol (\w+) =', text, flags=re.M)
        if len(tables) > 1:
            complain(path, f'{len(tables)} protocol tables in one adapter')
        if re.search(r'if\s*\([^)]*protocol\s*==', text):
            complain(path, 'asks which protocol it is')


def symbols(archive, flags):
    out = subprocess.run(['nm', *flags, archive], capture_output=True, text=True, check=False).stdout
    member = ''
    for line in out.split('\n'):
        if line.endswith('.c.o:'):
            member = os.path.basename(line[:-5])
        parts = line.split()
        if len(parts) >= 2 and not line.endswith(':'):
            yield member, parts[-2], parts[-1]


def constants(archive):
    """Const tables that hold addresses: the linker relocates them, after which nobody can write."""
    out = subprocess.run(['nm', '-f', 'sysv', '--defined-only', archive], capture_output=True, text=True,
                         check=False).stdout
    rows = [[field.strip() for field in line.split('|')] for line in out.split('\n')]
    return {row[0] for row in rows if len(row) == 7 and row[6].startswith('.data.rel.ro')}


def check_symbols():
    for layer in ('base', 'limiter', 'store', 'engine', 'persist', 'wire', 'net'):
        archive = os.path.join(BUILD, f'libsluice_{layer}.a')
        if not os.path.exists(archive):
            continue
        for member, kind, name in symbols(archive, ['-g', '--defined-only']):
            if kind in 'TtBDRVW' and not name.startswith((member + '_', '__', 'gnu_', '_GLOBAL_')) and name != member:
                complain(f'server/{layer}/{member}.c', f'exports {name}, not {member}_…')
        constant = constants(archive)
        for member, kind, name in symbols(archive, ['--defined-only']):
            plain = re.sub(r'\.\d+$|\.lto_priv.*$', '', name)
            if kind in 'bBdD' and name not in constant and plain not in MUTABLE_ALLOWED and not plain.startswith(('__', '.', '_GLOBAL_', 'gnu_')):
                complain(f'server/{layer}/{member}.c', f'mutable file-scope variable {name}')
    pure = os.path.join(BUILD, 'libsluice_limiter.a')
    if os.path.exists(pure):
        for member, kind, name in symbols(pure, ['-u']):
            if re.match(r'^(malloc|calloc|realloc|free|printf|f?write|read|open|time|clock\w*|gettimeofday|uv_\w+|pthread_\w+)$', name):
                complain(f'server/limiter/{member}.c', f'uses {name}: a limiter is pure')


files = tracked()
for f in files:
    top = f.split('/')[0]
    if top not in TOP and not top.startswith('.'):
        complain(f, 'does not belong at the top level')
    if re.match(r'(server|client|tests)/.*\.[ch]$', f):
        check_source(f)
main = os.path.join(ROOT, 'server/main.c')
if os.path.exists(main) and len(open(main).read().split('\n')) > 201:
    complain('server/main.c', 'over 200 lines')
if BUILD:
    check_symbols()
for w in wrong[:60]:
    print(w)
print(f'tidy: {len(wrong)} wrong of {len(files)} files')
sys.exit(1 if wrong else 0)
