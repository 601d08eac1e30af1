"""A state of every version of the format that ever was is loaded, for ever."""
import glob
import json
import os
import shutil
import time

from state import State, main

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'persist', 'golden')


def test_every_version():
    versions = sorted(glob.glob(GOLDEN + '/v*'))
    assert versions
    for version in versions:
        with open(version + '/expected.json', encoding='utf-8') as file:
            expected = json.load(file)
        with open(version + '/limits.yaml', encoding='utf-8') as file:
            limits = file.read()
        with State() as state:
            for path in glob.glob(version + '/*.sluice') + [version + '/seal']:
                shutil.copy(path, state.path)
            shown = state.show()
            for limit in expected['limits']:
                found = next(each for each in shown['limits'] if each['name'] == limit['name'])
                # A clock behind the one that wrote the state takes its times back to now.
                told = [name for name in limit if limit['newest_change_ns'] <= time.time_ns() or name[-3:] != '_ns']
                assert {name: found.get(name) for name in told} == {name: limit[name] for name in told}, (version, found)
            assert shown['counters'] == expected['counters']
            daemon = state.start(limits=limits)
            assert f'counters={expected["counters"]}' in daemon.logged(), daemon.logged()
            if time.time_ns() - expected['limits'][0]['newest_change_ns'] < 2999 * 86400 * 10**9:
                assert daemon.connect().ask('k1', 'log', cost=0)['remaining'] == 9000 - 31
            assert daemon.stop()[0] == 0


main(globals())
