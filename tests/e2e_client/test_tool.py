"""The tool itself: help, man page, completion, unknown commands; and check."""
import os
import subprocess

from daemon import BIN, FOLDER, Checks, run

checks = Checks()
COMMANDS = ('ask', 'refund', 'reset', 'check', 'simulate', 'bench')

code, out, err = run('--help')
checks.that('--help lists every command', code == 0 and err == '' and all(f'\n  {name} ' in out for name in COMMANDS), out)
checks.equal('help', run('help'), (0, out, ''))
for name in COMMANDS:
    code, out, err = run('help', name)
    checks.that(f'help {name}', code == 0 and out.startswith(f'Usage: sluice {name}') and 'Examples' in out and not err, out)
    checks.equal(f'{name} --help', run(name, '--help'), (0, out, ''))
checks.that('--version', run('--version')[1].startswith('sluice '), run('--version'))
code, out, err = run('--man')
checks.that('--man', code == 0 and out.startswith('.TH') and all(name in out for name in COMMANDS), out[:80])
code, out, err = run('--completion', 'bash')
checks.that('--completion', code == 0 and 'complete' in out and 'in-flight' in out, out[:80])
checks.equal('bash reads it', subprocess.run(['bash', '-n'], input=out.encode()).returncode, 0)

for args, words in ((('chek',), ('unknown command "chek"', 'did you mean "check"?')), (('xyzzy',), ('unknown command',)),
                    ((), ('a command is missing',)), (('--nothing',), ('unknown option',)), (('help', 'chek'), ('"check"',)),
                    (('a\x1bb',), (r'a\x1bb',)), (('--completion', 'fish'), ('bash',))):
    code, out, err = run(*args)
    checks.that(f'used wrongly {args}', code == 2 and out == '' and all(word in err for word in words), (code, out, err))

os.chdir(FOLDER)


def write(name, text):
    with open(name, 'w') as file:
        file.write(text)


write('limits.yaml', '''limits:
  a: {algorithm: fixed_window, limit: 5, window: 60s}
  b: {algorithm: fixed_window, limit: 5, window: 60s, count_by: [ip]}
  c: {algorithm: token_bucket, limit: 60, window: 1m, burst: 20, plans: {by: plan, values: {pro: {limit: 600}}}}
  d: {algorithm: sliding_window_log, limit: 5, window: 10s}
routes:
  "POST /login": [a, b]
  "GET /a/*": [c]
  "GET /b/*": [d]
  "GET /health": []
  "*": [a]
''')
write('one.yaml', 'limits:\n  a: {algorithm: fixed_window, limit: 5, window: 60s}\nroutes:\n  "*": [a]\n')
write('unused.yaml', 'limits:\n  a: {algorithm: fixed_window, limit: 5, window: 60s}\nroutes: {}\n')
write('bad.yaml', 'limits:\n  a: {algorithm: fixed_window, limt: 5, window: 60}\nroutes:\n  "*": [b]\n')
checks.equal('ok', run('check', 'limits.yaml'), (0, 'limits.yaml: ok, 4 limits, 5 routes\n', ''))
checks.equal('one of each', run('check', 'one.yaml'), (0, 'one.yaml: ok, 1 limit, 1 route\n', ''))
code, out, err = run('check', 'unused.yaml')
checks.that('a warning', code == 0 and out == 'unused.yaml: ok, 1 limit, 0 routes\n'
            and err.startswith('unused.yaml:2:') and 'warning: ' in err, (code, out, err))
code, out, err = run('check', 'bad.yaml')
checks.that('every error, none on stdout', code == 1 and out == '' and err.count('bad.yaml:') >= 3
            and 'bad.yaml:2:' in err and 'bad.yaml:4:' in err and 'did you mean "limit"?' in err, (code, out, err))
code, out, err = run('check', 'limits.yaml', 'bad.yaml', 'one.yaml')
checks.that('several files', code == 1 and out.count(': ok, ') == 2 and 'bad.yaml:2:' in err, (code, out, err))
code, out, err = run('check', 'none.yaml')
checks.that('no such file', code == 1 and 'none.yaml' in err and out == '', (code, out, err))
checks.equal('no file named', run('check')[0], 2)

# What would a request meet?
code, out, err = run('check', 'limits.yaml', '--explain', 'alice', 'GET /a/1', '--attribute', 'plan=pro')
checks.that('explain', code == 0 and out.startswith('limits.yaml: ok') and '"GET /a/*"' in out and 'limit "c"' in out
            and '600' in out and 'pro' in out, out)
checks.equal('explain: in any order', run('check', '--attribute=plan=pro', '--explain=alice', 'GET /a/1', 'limits.yaml')[1], out)
for args in (('--explain', 'alice'), ('limits.yaml', '--explain'), ('limits.yaml', '--explain', 'a', 'b', '--explain', 'c', 'd'),
             ('limits.yaml', '--attribute', 'a=b'), ('limits.yaml', '--explain', 'a', 'b', '--attribute', 'c')):
    code, out, err = run('check', *args)
    checks.that(f'explain used wrongly {args}', code == 2 and err, (code, out, err))
code, out, err = run('check', 'limits.yaml', '--explain', '', 'b')
checks.that('explain: no request', code == 1 and 'key' in err, (code, out, err))

# A full disk is not silence.
if os.path.exists('/dev/full'):
    with open('/dev/full', 'w') as full:
        done = subprocess.run([f'{BIN}/sluice', 'check', 'one.yaml'], stdout=full, stderr=subprocess.PIPE, text=True)
    checks.that('a full disk', done.returncode == 1 and 'cannot write' in done.stderr, done)
checks.done()
