"""Where the system gives no watches (network file systems, exhausted inotify) the poll alone is quick enough."""
import os
import shutil
import subprocess
import tempfile

from watched import Watched, limits, write

from native import SANITIZED, main  # noqa: E402

COMPILER = shutil.which('cc')
if COMPILER is None or SANITIZED:
    print('SKIPPED: needs cc for a library that refuses watches, and a daemon without sanitizers')
    raise SystemExit(77)
FOLDER = tempfile.mkdtemp(prefix='sluice-e2e-shim-')
write(f'{FOLDER}/shim.c', '#include <errno.h>\nint inotify_add_watch(int a, const char *b, unsigned c)\n'
                          '{ (void)a; (void)b; (void)c; errno = ENOSPC; return -1; }\n')
subprocess.run([COMPILER, '-shared', '-fPIC', '-o', f'{FOLDER}/shim.so', f'{FOLDER}/shim.c'], check=True)


def test_renamed_over():
    w = Watched(50, environment={'LD_PRELOAD': f'{FOLDER}/shim.so'})
    seconds = []
    for number in range(51, 55):
        write(w.path + '.tmp', limits(number))
        os.rename(w.path + '.tmp', w.path)
        seconds.append(w.expect(number))
    assert max(seconds) > 0.15, f'a watch was given after all: {seconds}'
    shutil.rmtree(FOLDER)


main(globals())
