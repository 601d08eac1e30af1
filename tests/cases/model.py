#!/usr/bin/env python3
"""Random traffic under random limits, decided twice: by `sluice simulate --answers --details`, and
here with exact fractions, written from the documented meaning alone and as plainly as possible.
Every byte of every answer has to agree.

    model.py SLUICE [SEEDS [FIRST]]
"""
import copy
import json
import math
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

T0 = 1767225600 * 10**9
UNLIMITED = 999999999999999
NEVER = "never"
BUCKETS = ("token_bucket", "leaky_bucket")


def up(value):
    return math.ceil(value)


class Bucket:
    """What was used, draining at the rate of the numbers of the last admission."""

    def __init__(self):
        self.used, self.t, self.held, self.label = Fraction(0), None, None, None

    def at(self, now):
        now = now if self.t is None else max(now, self.t)
        if self.used:
            rate = Fraction(self.held["limit"], self.held["window"])
            self.used = max(Fraction(0), self.used - (now - self.t) * rate)
        self.t = now
        return self

    def is_fresh(self):
        return self.used == 0

    def fits(self, n, cost):
        return self.used + cost <= n["burst"]

    def charge(self, n, cost, label):
        self.used, self.held, self.label = self.used + cost, n, label

    def drained_to(self, level):
        return self.t + up((self.used - level) * self.held["window"] / self.held["limit"])

    def passes_at(self, n, cost):
        return self.drained_to(n["burst"] - cost)

    def remaining(self, n):
        return max(0, math.floor(n["burst"] - self.used))

    def resets_at(self, _):
        return self.drained_to(0) if self.used else None

    def refund(self, units):
        self.used = max(Fraction(0), self.used - units)

    def convert(self, _, new, at):
        self.at(at)
        if self.used:
            self.used = min(Fraction(up(self.used * new["window"]), new["window"]), new["burst"])
        self.held = new


class FixedWindow:
    def __init__(self):
        self.used, self.t, self.window, self.label = 0, None, None, None

    def at(self, now, window=None):
        now = now if self.t is None else max(now, self.t)
        self.window = window or self.window
        if self.t is not None and now // self.window != self.t // self.window:
            self.used = 0
        self.t = now
        return self

    def is_fresh(self):
        return self.used == 0

    def fits(self, n, cost):
        return self.used + cost <= n["limit"]

    def charge(self, n, cost, label):
        self.used, self.label = self.used + cost, label

    def end(self, n):
        return (self.t // n["window"] + 1) * n["window"]

    def passes_at(self, n, _):
        return self.end(n)

    def remaining(self, n):
        return max(0, n["limit"] - self.used)

    def resets_at(self, n):
        return self.end(n)

    def refund(self, units):
        self.used = max(0, self.used - units)

    def convert(self, _, new, at):
        self.at(at)
        self.window = new["window"]


class SlidingLog:
    def __init__(self):
        self.entries, self.t, self.window, self.label = [], None, None, None

    def at(self, now, window=None):
        now = now if self.t is None else max(now, self.t)
        self.window = window or self.window
        self.entries = [s for s in self.entries if s + self.window > now]
        self.t = now
        return self

    def is_fresh(self):
        return not self.entries

    def fits(self, n, cost):
        return len(self.entries) + cost <= n["limit"]

    def charge(self, n, cost, label):
        self.entries, self.label = self.entries + [self.t] * cost, label

    def passes_at(self, n, cost):
        return self.entries[len(self.entries) + cost - n["limit"] - 1] + n["window"]

    def remaining(self, n):
        return max(0, n["limit"] - len(self.entries))

    def resets_at(self, n):
        return self.entries[-1] + n["window"] if self.entries else None

    def refund(self, units):
        self.entries = self.entries[:max(0, len(self.entries) - units)]

    def convert(self, _, new, at):
        self.at(at)
        self.at(at, new["window"])


class SlidingCounter:
    def __init__(self):
        self.current, self.previous = 0, 0
        self.t, self.window, self.label = None, None, None

    def at(self, now, window=None):
        now = now if self.t is None else max(now, self.t)
        self.window = window or self.window
        if self.t is not None:
            passed = now // self.window - self.t // self.window
            if passed:
                self.previous = self.current if passed == 1 else 0
                self.current = 0
        self.t = now
        return self

    def is_fresh(self):
        return self.current == 0 and self.previous == 0

    def use(self):
        left = self.window - self.t % self.window
        return self.current + Fraction(self.previous * left, self.window)

    def fits(self, n, cost):
        return self.use() + cost <= n["limit"]

    def charge(self, n, cost, label):
        self.current, self.label = self.current + cost, label

    def passes_at(self, n, cost):
        start = self.t // self.window * self.window
        room = n["limit"] - cost - self.current
        if room >= 0:
            return start + up(self.window * (1 - Fraction(room, self.previous)))
        room += self.current
        return start + self.window + up(self.window * max(0, 1 - Fraction(room, self.current)))

    def remaining(self, n):
        return max(0, math.floor(n["limit"] - self.use()))

    def resets_at(self, _):
        end = (self.t // self.window + 1) * self.window
        return end + self.window if self.current else end if self.previous else None

    def refund(self, units):
        current = min(units, self.current)
        self.current -= current
        self.previous = max(0, self.previous - (units - current))

    def convert(self, old, new, at):
        self.at(at)
        if old["window"] != new["window"]:
            self.current, self.previous = up(self.use()), 0
            self.window = new["window"]


KINDS = {"token_bucket": Bucket, "leaky_bucket": Bucket, "fixed_window": FixedWindow,
         "sliding_window_log": SlidingLog, "sliding_window_counter": SlidingCounter}


class Model:
    def __init__(self, file):
        self.file, self.counters = file, {}

    def numbers(self, limit, plan):
        """(label, the numbers or 'unlimited' or 'blocked') that a request meets."""
        for label, value in limit["plans"].items():
            if label == plan:
                return label, value
        return "", limit["own"]

    def counter(self, name, limit, line, now):
        """The counter and its key; a fresh one when there is none or nothing is left of it."""
        parts = {"key": line["key"], "route": line["route"], **line["attributes"]}
        identity = (name, *(parts[p] for p in limit["count_by"]))
        counter = self.counters.get(identity)
        if counter is not None:
            # Looking must not move the counter's own time: only changes do.
            counter = copy.deepcopy(counter).at(now)
            if counter.is_fresh():
                counter = None
        if counter is None:
            counter = KINDS[limit["algorithm"]]()
            if not isinstance(counter, Bucket):
                counter.window = limit["own"]["window"]
            counter.at(now)
        return identity, counter

    def row(self, name, limit, numbers, counter, cost, now):
        row = {"limit_name": name, "shadow": limit["shadow"], "window": limit["own"]["window"],
               "algorithm": limit["algorithm"], "delay": 0, "retry": None, "reset": None}
        if numbers == "unlimited":
            return row | {"allowed": True, "limit": UNLIMITED, "remaining": UNLIMITED,
                          "kind": "unlimited"}
        if numbers == "blocked":
            return row | {"allowed": False, "limit": 0, "remaining": 0, "retry": NEVER,
                          "kind": "blocked"}
        top = numbers["burst"] if limit["algorithm"] in BUCKETS else numbers["limit"]
        row |= {"limit": top, "kind": "numbers",
                "allowed": cost == 0 or counter.fits(numbers, cost)}
        if not row["allowed"]:
            row["retry"] = NEVER if cost > top else counter.passes_at(numbers, cost) - now
        return row

    def fill(self, row, numbers, counter, now):
        if row["kind"] == "numbers":
            row["remaining"] = counter.remaining(numbers)
            end = counter.resets_at(numbers)
            row["reset"] = 0 if end is None else max(0, end - now)

    def gather(self, line, cost):
        """One (name, limit, label, numbers, identity, counter, row) for each limit."""
        found = []
        for name in self.file["routes"][line["route"]]:
            limit = self.file["limits"][name]
            label, numbers = self.numbers(limit, line["attributes"].get("plan"))
            identity, counter = self.counter(name, limit, line, line["t_ns"])
            row = self.row(name, limit, numbers, counter, cost, line["t_ns"])
            found.append([name, limit, label, numbers, identity, counter, row])
        return found

    def decide(self, line, cost):
        found = self.gather(line, cost)
        allowed = all(row["allowed"] or row["shadow"] for *_, row in found)
        for _, limit, label, numbers, identity, counter, row in found:
            if allowed and cost > 0 and row["allowed"] and row["kind"] == "numbers":
                if limit["algorithm"] == "leaky_bucket" and counter.used:
                    queue = up(counter.used * numbers["window"] / numbers["limit"])
                    row["delay"] = counter.t + queue - line["t_ns"]
                counter.charge(numbers, cost, label)
                self.counters[identity] = counter
            self.fill(row, numbers, counter, line["t_ns"])
        return self.answer(line, [row for *_, row in found], allowed)

    def answer(self, line, rows, allowed):
        enforced = [r for r in rows if not r["shadow"]]
        with_say = [r for r in enforced if r["kind"] != "unlimited"]
        refusing = [r for r in enforced if not r["allowed"]]
        shown = {"limit": UNLIMITED, "remaining": UNLIMITED, "retry": None, "reset": None,
                 "limit_name": ""}
        if allowed:
            shadowed = any(r["shadow"] and not r["allowed"] for r in rows)
            unlimited = [r for r in enforced if r["kind"] == "unlimited"]
            if with_say:
                shown = min(with_say, key=lambda r: r["remaining"])
                reason = "UNDER_LIMIT"
            elif unlimited:
                if not shadowed:
                    shown = shown | {"limit_name": unlimited[0]["limit_name"]}
                reason = "UNLIMITED"
            else:
                reason = "UNDER_LIMIT" if rows else "NO_LIMIT"
            reason = "SHADOWED" if shadowed else reason
        else:
            shown = max(refusing, key=lambda r: math.inf if r["retry"] == NEVER else r["retry"])
            reason = ("BLOCKED" if shown["kind"] == "blocked" else
                      "COST_EXCEEDS_LIMIT" if shown["retry"] == NEVER else "OVER_LIMIT")
        remaining = min((r["remaining"] for r in with_say), default=UNLIMITED)
        out = {"t_ns": line["t_ns"]}
        out |= self.shape(shown | {"allowed": allowed, "remaining": remaining,
                                   "delay": max((r["delay"] for r in enforced), default=0)})
        if shown["limit_name"]:
            out["limit_name"] = shown["limit_name"]
        out["reason"] = reason
        out["details"] = [{"limit_name": r["limit_name"], **self.shape(r), "shadow": r["shadow"],
                           "window_ns": r["window"], "algorithm": r["algorithm"]} for r in rows]
        return out

    @staticmethod
    def shape(row):
        out = {"allowed": row["allowed"], "limit": row["limit"], "remaining": row["remaining"]}
        if row["retry"] is not None:
            out["retry_after_ns"] = None if row["retry"] == NEVER else row["retry"]
        if row["reset"] is not None:
            out["reset_after_ns"] = row["reset"]
        if row["delay"]:
            out["delay_ns"] = row["delay"]
        return out

    def step(self, line):
        op, cost = line.get("op", "allow"), line.get("cost", 1)
        if op == "reload":
            return self.reload(line)
        if op == "reset":
            count = 0
            for *_, identity, counter, _ in self.gather(line, 0):
                count += not counter.is_fresh()
                self.counters.pop(identity, None)
            return {"t_ns": line["t_ns"], "counters": count}
        if op == "refund":
            for *_, identity, counter, _ in self.gather(line, 0):
                if not counter.is_fresh() and cost > 0:
                    counter.refund(cost)
                    self.counters[identity] = counter
            return self.decide(line, 0)
        return self.decide(line, cost)

    def reload(self, line):
        old, self.file = self.file, line["file"]
        for identity, counter in self.counters.items():
            before = old["limits"][identity[0]]
            after = self.file["limits"][identity[0]]
            new = after["plans"].get(counter.label, after["own"])
            new = after["own"] if isinstance(new, str) else new
            was = before["plans"].get(counter.label, before["own"])
            counter.convert(before["own"] if isinstance(was, str) else was, new, line["t_ns"])
        return {"t_ns": line["t_ns"], "reloaded": True}


def make_numbers(rng, algorithm, window):
    limit = rng.choice([1, 2, 3, 5, 7, 10])
    return {"limit": limit, "window": window,
            "burst": rng.choice([limit, 1, 4, 12]) if algorithm in BUCKETS else limit}


def make_limit(rng):
    algorithm = rng.choice(list(KINDS))
    window = rng.choice([7 * 10**6, 10**9, 3 * 10**9, 10**10, 60 * 10**9])
    plans = {}
    for plan in rng.sample(["free", "pro", "vip", "bad"], rng.randint(0, 4)):
        plans[plan] = {"vip": "unlimited", "bad": "blocked"}.get(
            plan, make_numbers(rng, algorithm, window))
    return {"algorithm": algorithm, "own": make_numbers(rng, algorithm, window), "plans": plans,
            "count_by": rng.choice([["key"], ["key", "route"], [], ["ip"], ["ip", "key"]]),
            "shadow": rng.random() < 0.25}


def change(rng, file):
    """The same file with other numbers here and there."""
    file = copy.deepcopy(file)
    for limit in file["limits"].values():
        if rng.random() < 0.5:
            continue
        window = rng.choice([limit["own"]["window"], 10**9, 5 * 10**9])
        limit["own"] = make_numbers(rng, limit["algorithm"], window)
        limit["shadow"] = rng.random() < 0.25
        for plan in list(limit["plans"]):
            if isinstance(limit["plans"][plan], dict):
                limit["plans"][plan] = make_numbers(rng, limit["algorithm"], window)
            elif rng.random() < 0.2:
                del limit["plans"][plan]
    return file


def as_yaml(file):
    def numbers(value, window):
        if isinstance(value, str):
            return {value: True}
        out = {"limit": value["limit"], "burst": value["burst"]}
        return out | ({"window": f"{value['window']}ns"} if window else {})

    limits = {}
    for name, limit in file["limits"].items():
        out = {"algorithm": limit["algorithm"], "count_by": limit["count_by"],
               "shadow": limit["shadow"], **numbers(limit["own"], True)}
        if limit["plans"]:
            out["plans"] = {"by": "plan", "values": {
                plan: numbers(value, False) for plan, value in limit["plans"].items()}}
        if limit["algorithm"] not in BUCKETS:
            out.pop("burst")
            for value in out.get("plans", {"values": {}})["values"].values():
                value.pop("burst", None)
        limits[name] = out
    return json.dumps({"limits": limits, "routes": file["routes"]})  # JSON is YAML


def make_traffic(rng, file, count, kind):
    """kind 0: times go back, by less than the second for which no counter is swept (and without
    refunds: what an emptied counter's own time is nobody has said). 1: reloads. 2: neither."""
    lines, t = [], T0 + rng.randrange(10**11)
    for _ in range(count):
        t += rng.choice([0, 0, 1, 10**6, 333333333, 10**9, 4 * 10**9])
        if kind == 1 and rng.random() < 0.01:
            file = change(rng, file)
            lines.append({"t_ns": t, "op": "reload", "file": file})
            continue
        back = rng.randrange(10**9) if kind == 0 and rng.random() < 0.2 else 0
        line = {"t_ns": t - back, "key": rng.choice("abc"),
                "route": rng.choice(list(file["routes"])),
                "attributes": {"ip": rng.choice(["x", "y", ""])}}
        if rng.random() < 0.6:
            line["attributes"]["plan"] = rng.choice(["free", "pro", "vip", "bad", "other"])
        if rng.random() < 0.5:
            line["cost"] = rng.choice([0, 1, 1, 2, 3, 5, 100])
        op = rng.random()
        if op < 0.05 and kind != 0:
            line["op"] = "refund"
        elif op < 0.07:
            line["op"] = "reset"
            line.pop("cost", None)
        lines.append(line)
    return lines


def play(sluice, seed):
    rng = random.Random(seed)
    names = [f"l{i}" for i in range(rng.randint(1, 6))]
    file = {"limits": {name: make_limit(rng) for name in names}}
    file["routes"] = {f"r{i}": rng.sample(names, rng.randint(0, len(names))) for i in range(4)}
    file["routes"]["all"] = names
    lines = make_traffic(rng, file, 1500, seed % 3)
    model = Model(file)
    with tempfile.TemporaryDirectory() as folder:
        limits = Path(folder) / "limits.yaml"
        limits.write_text(as_yaml(file), encoding="utf-8")
        sent = [{"t_ns": l["t_ns"], "op": "reload", "limits": as_yaml(l["file"])}
                if "file" in l else l for l in lines]
        done = subprocess.run([sluice, "simulate", limits, "--answers", "--details"],
                              input="".join(json.dumps(l) + "\n" for l in sent),
                              capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr}"
    answers = done.stdout.splitlines()
    if len(answers) != len(lines):
        return f"{len(answers)} answers to {len(lines)} requests"
    for number, (line, answer) in enumerate(zip(lines, answers)):
        want = json.dumps(model.step(line), separators=(",", ":"))
        if answer != want:
            shown = {n: v for n, v in line.items() if n != "file"}
            return (f"request {number}: {shown}\n  got      {answer}\n  expected {want}\n"
                    f"  under {as_yaml(model.file)}")
    return None


def main():
    sluice = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    wrong = 0
    for seed in range(first, first + seeds):
        fault = play(sluice, seed)
        if fault:
            wrong += 1
            print(f"seed {seed}: {fault}")
    print(f"{seeds} simulations, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
