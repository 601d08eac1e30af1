#!/usr/bin/env python3
"""What `sluice simulate` does around its answers: exit codes, complaints, the other formats, and a
summary that agrees with the answers, counted here once more.

    cli.py SLUICE SOURCE_DIRECTORY
"""
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path

SLUICE, SOURCE = sys.argv[1], Path(sys.argv[2])
LOG = SOURCE / "tests/data/access-2015-05.log"
LIMITS = SOURCE / "deploy/limits.yaml"
T0 = 1767225600 * 10**9
FIVE = """limits:
  login: {algorithm: sliding_window_log, limit: 5, window: 10s}
routes: {"*": [login]}
"""


class Simulate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.limits = self.write("limits.yaml", FIVE)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def run_it(self, *arguments, stdin="", code=0):
        done = subprocess.run([SLUICE, "simulate", *map(str, arguments)], input=stdin.encode(),
                              capture_output=True, timeout=120, check=False)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, out + err)
        self.assertNotIn("runtime error", err)
        return out, err

    def answers(self, *arguments, **more):
        out, _ = self.run_it(*arguments, "--answers", **more)
        return [json.loads(line) for line in out.splitlines()]

    def test_the_line_of_the_manual(self):
        steps = [0] * 5 + [38 * 10**8]
        lines = "".join(f'{{"t_ns":{T0 + t},"key":"alice","route":"POST /login"}}\n'
                        for t in steps)
        out, err = self.run_it(self.limits, "--answers", stdin=lines)
        self.assertEqual(err, "")
        self.assertEqual(out.splitlines()[-1],
                         '{"t_ns":1767225603800000000,"allowed":false,"limit":5,"remaining":0,'
                         '"retry_after_ns":6200000000,"reset_after_ns":6200000000,'
                         '"limit_name":"login","reason":"OVER_LIMIT"}')

    def test_details_rows(self):
        limits = self.write("two.yaml", """limits:
  a: {algorithm: leaky_bucket, limit: 1, window: 1s, burst: 2}
  b: {algorithm: fixed_window, limit: 1, window: 60s, shadow: true}
routes: {"*": [a, b]}
""")
        line = f'{{"t_ns":{T0},"key":"k","route":"r"}}\n'
        out, _ = self.run_it(limits, "--answers", "--details", stdin=line * 2)
        self.assertEqual(
            out.splitlines()[1],
            f'{{"t_ns":{T0},"allowed":true,"limit":2,"remaining":0,"reset_after_ns":2000000000,'
            '"delay_ns":1000000000,"limit_name":"a","reason":"SHADOWED","details":['
            '{"limit_name":"a","allowed":true,"limit":2,"remaining":0,'
            '"reset_after_ns":2000000000,"delay_ns":1000000000,"shadow":false,'
            '"window_ns":1000000000,"algorithm":"leaky_bucket"},'
            '{"limit_name":"b","allowed":false,"limit":1,"remaining":0,'
            '"retry_after_ns":60000000000,"reset_after_ns":60000000000,"shadow":true,'
            '"window_ns":60000000000,"algorithm":"fixed_window"}]}')

    def test_other_answers(self):
        lines = (f'{{"t_ns":{T0},"key":"k","route":"r"}}\n'
                 f'{{"t_ns":{T0},"op":"refund","key":"k","route":"r"}}\n'
                 f'{{"t_ns":{T0},"key":"k","route":"r","cost":2}}\n'
                 f'{{"t_ns":{T0},"op":"reset","key":"k","route":"r"}}\n'
                 f'{{"t_ns":{T0},"op":"reset","key":"k","route":"r"}}\n'
                 f'{{"t_ns":{T0},"op":"acquire","key":"k","route":"r"}}\n'
                 f'{{"t_ns":{T0},"key":"k","route":"r","cost":6}}\n'
                 f'{{"t_ns":{T0},"key":"","route":"r"}}\n')
        a = self.answers(self.limits, stdin=lines)
        self.assertEqual([x.get("remaining") for x in a[:3]], [4, 5, 3])
        self.assertEqual(a[3], {"t_ns": T0, "counters": 1})
        self.assertEqual(a[4], {"t_ns": T0, "counters": 0})
        self.assertEqual(a[5]["error"]["code"], "UNIMPLEMENTED")
        self.assertIsNone(a[6]["retry_after_ns"])
        self.assertEqual(list(a[7]["error"]), ["code", "field", "message"])
        self.assertEqual(a[7]["error"]["field"], "key")

    def test_reload_from_a_file_beside_the_traffic(self):
        self.write("sub/good.yaml", FIVE.replace("limit: 5", "limit: 3"))
        self.write("sub/bad.yaml", FIVE.replace("limit: 5", "limt: 3"))
        ask = f'{{"t_ns":{T0},"key":"k","route":"r"}}\n'
        names = ["good.yaml", "bad.yaml", "none.yaml"]
        traffic = self.write("sub/traffic", ask + "".join(
            f'{{"t_ns":{T0},"op":"reload","limits_file":"{name}"}}\n{ask}' for name in names))
        a = self.answers(self.limits, traffic)
        self.assertEqual(a[1], {"t_ns": T0, "reloaded": True})
        self.assertEqual([x["limit"] for x in a[0::2]], [5, 3, 3, 3])
        self.assertEqual([x["remaining"] for x in a[0::2]], [4, 1, 0, 0])
        self.assertFalse(a[3]["reloaded"])
        self.assertTrue(a[3]["errors"][0].startswith("bad.yaml:2:"), a[3])
        self.assertIn("none.yaml", a[5]["errors"][0])
        inline = json.dumps({"t_ns": T0, "op": "reload", "limits": "limits:\n  a: 1\n"}) + "\n"
        self.assertTrue(self.answers(self.limits, stdin=inline)[0]["errors"][0]
                        .startswith("limits:"))

    def test_complaints_and_exit_codes(self):
        good = f'{{"t_ns":{T0},"key":"k","route":"r"}}\n'
        out, err = self.run_it(self.limits, "--answers", stdin=good + "oops\n" + good, code=1)
        self.assertEqual(len(out.splitlines()), 2)
        self.assertTrue(err.startswith("-:2: ") and "expected" in err, err)
        traffic = self.write("traffic", good + '{"t_ns":1,"kye":2}\n')
        _, err = self.run_it(self.limits, traffic, code=1)
        self.assertTrue(err.startswith(f"{traffic}:2: "), err)
        self.run_it(self.limits, "--answers", "--json", code=2)
        self.run_it(self.limits, "--answers", "--compare", self.limits, code=2)
        self.run_it(self.limits, "--details", code=2)
        self.run_it(self.limits, "--format", "xml", code=2)
        self.run_it(self.limits, traffic, "--key", "user", code=2)
        self.run_it(self.limits, LOG, "--key", "colour", code=2)
        self.run_it(self.limits, LOG, "--cost", "-1", code=2)
        self.run_it(code=2)
        self.run_it(self.limits, self.path / "nothing", code=1)
        self.run_it(self.path / "nothing", LOG, code=1)
        self.run_it(self.limits, LOG, "--chart", self.path / "no/such.svg", code=1)
        self.run_it(self.limits, LOG, "--key", "user-agent", code=1)
        self.run_it(self.limits)

    def test_formats_agree(self):
        seconds = [8, 3, 3, 9, 30, 3]
        log = "".join(f'192.0.2.{i % 2} - - [01/Jan/2026:00:00:{s:02} +0000] "GET /a?x={i} '
                      'HTTP/1.1" 200 5\n' for i, s in enumerate(seconds))
        order = sorted(range(len(seconds)), key=lambda i: seconds[i])
        rows = [(T0 + seconds[i] * 10**9, f"192.0.2.{i % 2}", "GET /a") for i in order]
        nd = "".join(json.dumps({"t_ns": t, "key": k, "route": r, "attributes": {"ip": k}}) + "\n"
                     for t, k, r in rows)
        table = "route,attribute.ip,t_ns,key\n" + "".join(
            f'"{r}",{k},{t},{k}\n' for t, k, r in rows)
        combined = log.replace("200 5\n", '200 5 "-" "agent"\n')
        want = self.answers(self.limits, stdin=nd)
        self.assertEqual(len(want), len(seconds))
        for text in (table, log, combined):
            self.assertEqual(self.answers(self.limits, stdin=text), want, text)
        self.assertEqual(self.answers(self.limits, "--cost", "2", stdin=log)[0]["remaining"], 3)

    def test_summary_agrees_with_the_answers(self):
        answers = self.answers(LIMITS, LOG, "--details")
        summary = json.loads(self.run_it(LIMITS, LOG, "--json")[0])
        times = [a["t_ns"] for a in answers]
        self.assertEqual(times, sorted(times))
        self.assertEqual(summary["requests"], 10000)
        self.assertEqual(summary["allowed"], sum(a["allowed"] for a in answers))
        self.assertEqual(summary["refused"], sum(not a["allowed"] for a in answers))
        self.assertEqual(summary["not_limited"],
                         sum(a["allowed"] and a["limit"] == 999999999999999 for a in answers))
        decided, refused, would, wait = Counter(), Counter(), Counter(), Counter()
        for a in answers:
            for row in a["details"]:
                name = row["limit_name"]
                decided[name] += 1
                counts = not row["allowed"] and (a["allowed"] or not row["shadow"])
                (would if row["shadow"] else refused)[name] += counts
                if counts:
                    wait[name] = max(wait[name], row["retry_after_ns"])
        self.assertEqual(len(summary["limits"]), len(decided))
        for limit in summary["limits"]:
            name = limit["limit_name"]
            self.assertEqual(limit["decided"], decided[name], name)
            self.assertEqual(limit["refused"], refused[name], name)
            self.assertEqual(limit["would_refuse"], would[name], name)
            self.assertEqual(limit["longest_wait_ns"], wait[name], name)
        self.assertGreater(sum(refused.values()), 0)
        self.assertGreater(sum(would.values()), 0)

    def test_worst_keys_and_counters(self):
        out, _ = self.run_it(self.limits, "--json", stdin="".join(
            f'{{"t_ns":{T0},"key":"k{k}","route":"r"}}\n' for k in range(20) for _ in range(k)))
        limit = json.loads(out)["limits"][0]
        self.assertEqual(limit["counters"], 19)
        self.assertTrue(limit["counters_exact"])
        self.assertEqual([(w["key"], w["requests"]) for w in limit["worst_keys"]],
                         [(f"k{k}", k - 5) for k in range(19, 9, -1)])

    def test_identities_are_told_as_they_are_counted(self):
        limits = self.write("who.yaml", """limits:
  all: {algorithm: fixed_window, limit: 1, window: 60s, count_by: []}
  net: {algorithm: fixed_window, limit: 1, window: 60s, count_by: [ip], ip_prefix: {v4: 24}}
  both: {algorithm: fixed_window, limit: 1, window: 60s, count_by: [key, route]}
routes: {"all": [all], "net": [net], "GET *": [both]}
""")
        asked = [("k", "all", "192.0.2.1"), ("l", "all", "192.0.2.1"), ("k", "net", "192.0.2.1"),
                 ("k", "net", "::ffff:192.0.2.9"), ("k", "net", "2001:db8::1"),
                 ("k", "net", "2001:DB8:0:0:1::"), ("k\n", "GET /", "x"), ("k\n", "GET /", "y")]
        out, _ = self.run_it(limits, "--json", stdin="".join(json.dumps(
            {"t_ns": T0, "key": k, "route": r, "attributes": {"ip": ip}}) + "\n"
            for k, r, ip in asked))
        worst = {l["limit_name"]: {w["key"] for w in l["worst_keys"]}
                 for l in json.loads(out)["limits"]}
        self.assertEqual(worst, {"all": {"everybody"}, "both": {"k\\n GET /"},
                                 "net": {"192.0.2.0/24", "2001:db8::/64"}})

    def test_nothing_limits(self):
        limits = self.write("free.yaml", """limits:
  most: {algorithm: token_bucket, limit: 999999999999999, window: 1h}
  own: {algorithm: fixed_window, limit: 1, window: 1h,
        overrides: [{match: {key: vip}, unlimited: true}]}
  dry: {algorithm: fixed_window, limit: 1, window: 1h, shadow: true}
routes: {"most": [most], "own": [own], "dry": [dry], "free": []}
""")
        asked = [("k", "most"), ("vip", "own"), ("k", "dry"), ("k", "dry"), ("k", "free"),
                 ("k", "elsewhere"), ("k", "own")]
        summary = json.loads(self.run_it(limits, "--json", stdin="".join(
            f'{{"t_ns":{T0},"key":"{k}","route":"{r}"}}\n' for k, r in asked))[0])
        self.assertEqual(summary["allowed"], 7)
        self.assertEqual(summary["not_limited"], 5)

    def test_memory_follows_the_live_counters(self):
        limits = self.write("short.yaml", FIVE.replace("10s", "10ms"))
        lines = "".join(f'{{"t_ns":{T0 + i * 10**6},"key":"k{i}","route":"r"}}\n'
                        for i in range(60000))
        summary = json.loads(self.run_it(limits, "--json", stdin=lines)[0])
        self.assertEqual(summary["limits"][0]["counters"], 60000)
        self.assertLess(summary["counters_held"], 10000)  # a second of them, and some to sweep

    def test_human_summary(self):
        out, err = self.run_it(LIMITS, LOG)
        self.assertEqual(err, "")
        self.assertNotIn("\033", out)
        for word in ("requests", "10,000", "per_day", "would refuse", "per_network",
                     "2015-05-17T10:05:00Z", "met by no request"):
            self.assertIn(word, out)
        self.assertFalse([line for line in out.splitlines() if line != line.rstrip()])

    def test_compare(self):
        other = self.write("other.yaml", FIVE.replace("limit: 5", "limit: 2"))
        lines = "".join(f'{{"t_ns":{T0},"key":"k{i % 2}","route":"r{i % 2}"}}\n'
                        for i in range(9)) + f'{{"t_ns":{T0},"key":"z","route":"r"}}\n'
        first = [a["allowed"] for a in self.answers(self.limits, stdin=lines)]
        second = [a["allowed"] for a in self.answers(other, stdin=lines)]
        result = json.loads(self.run_it(self.limits, "--compare", other, "--json",
                                        stdin=lines)[0])["compare"]
        pairs = Counter(zip(first, second))
        self.assertEqual(result["both_allow"], pairs[True, True])
        self.assertEqual(result["both_refuse"], pairs[False, False])
        self.assertEqual(result["newly_refused"]["requests"], pairs[True, False])
        self.assertEqual(result["newly_allowed"]["requests"], 0)
        self.assertEqual({w["key"]: w["requests"] for w in result["newly_refused"]["keys"]},
                         {"k0": 3, "k1": 2})
        self.assertEqual({w["route"]: w["requests"] for w in result["newly_refused"]["routes"]},
                         {"r0": 3, "r1": 2})
        back = json.loads(self.run_it(other, "--compare", self.limits, "--json",
                                      stdin=lines)[0])["compare"]
        self.assertEqual(back["newly_allowed"]["requests"], pairs[True, False])
        self.assertIn("newly refused", self.run_it(self.limits, "--compare", other,
                                                   stdin=lines)[0])

    def test_chart(self):
        chart = self.path / "chart.svg"
        self.run_it(LIMITS, LOG, "--chart", chart)
        root = xml.etree.ElementTree.parse(chart).getroot()
        text = " ".join(root.itertext())
        self.assertTrue(root.tag.endswith("svg"))
        for word in ("allowed", "refused", "per_day", "per_network"):
            self.assertIn(word, text)
        for odd in ("", f'{{"t_ns":{T0},"key":"k","route":"r"}}\n'):
            self.run_it(self.limits, "--chart", chart, stdin=odd)
            xml.etree.ElementTree.parse(chart)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
