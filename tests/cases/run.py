#!/usr/bin/env python3
"""Runs one case file through `sluice simulate --answers` and compares every answer exactly.

    run.py SLUICE CASE_FILE

A case file has parts; each part is decided by a process of its own:

    == part a: fixed window, 5 per 60 s
    == limits                 the limits file, up to the next ==
    == limits lower           another one, for `reload lower`
    == steps
    0        ask              -> yes remaining=4
    59       ask x4           -> yes remaining=3,2,1,0
    59       ask cost=7       -> no  remaining=0 retry=never
    1..3/1   ask key="a b"    -> no,yes... remaining=0 retry=5-t
    20       reload lower     -> reloaded
    21       refund cost=2    -> yes remaining=2
    == summary                members of `--json`, or of a limit in it
    a.would_refuse = 5

Times are seconds since 2026-01-01T00:00:00Z, an RFC 3339 time, or FIRST..LAST/STEP. Lists answer
the requests of a step in turn: `v*n` is n times v, a single value serves all, and one that ends in
... starts again. Durations are seconds; `60-t` is worked out for each request. What an answer must
say about retry_after is always checked: nothing when allowed, the stated wait when refused.

Besides, every refusal is tried again: alone and exactly retry_after later the same request must be
allowed, and a nanosecond earlier refused.
"""
import json
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from fractions import Fraction
from pathlib import Path

T0 = 1767225600 * 10**9
SECOND = 10**9
MEMBERS = ["t_ns", "allowed", "limit", "remaining", "retry_after_ns", "reset_after_ns", "delay_ns",
           "limit_name", "reason", "details"]


class Mistake(Exception):
    """A case file that cannot be read: an error of the test, not of what it tests."""


def nanoseconds(text, t=None):
    """'1.5' or '60-t' in seconds -> ns, exactly."""
    if text.endswith("-t"):
        return nanoseconds(text[:-2]) - (t - T0)
    value = Fraction(text) * SECOND
    return -(-value.numerator // value.denominator)  # up, as waits are told


def parse_instant(text):
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", text)
    if match:
        whole = datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        return int(whole.timestamp()) * SECOND + int((match[2] or "0").ljust(9, "0"))
    return T0 + nanoseconds(text)


def parse_instants(text):
    match = re.fullmatch(r"(.+)\.\.(.+)/(.+)", text)
    if not match:
        return [parse_instant(text)]
    at, last, step = parse_instant(match[1]), parse_instant(match[2]), Fraction(match[3]) * SECOND
    count = int((last - at) / step) + 1
    instants = [at + i * step for i in range(count)]
    return [int(i) if i.denominator == 1 else -(-i.numerator // i.denominator) for i in
            (Fraction(i) for i in instants)]


def parse_list(text, count):
    cycles = text.endswith("...")
    values = []
    for item in text.removesuffix("...").split(","):
        value, _, times = item.partition("*")
        values += [value] * int(times or 1)
    if cycles:
        values = [values[i % len(values)] for i in range(count)]
    if len(values) == 1:
        values *= count
    if len(values) != count:
        raise Mistake(f"{len(values)} values for {count} requests: {text}")
    return values


def parse_fields(text):
    fields = {}
    for name, value in re.findall(r'([\w.]+)=("(?:[^"\\]|\\.)*"|\S+)', text):
        quoted = value.startswith('"') and name != "cost"  # a cost is sent as it is written here
        fields[name] = json.loads(value) if quoted else value
    return fields


def request_line(t, op, fields):
    line = {"t_ns": t}
    if op != "ask":
        line["op"] = op
    line["key"] = fields.get("key", "k")
    line["route"] = fields.get("route", "r")
    if "key_base64" in fields:
        del line["key"]
        line["key_base64"] = fields["key_base64"]
    if "cost" in fields:
        line["cost"] = fields["cost"]
    attributes = {n[5:]: v for n, v in fields.items() if n.startswith("attr.")}
    if attributes:
        line["attributes"] = attributes
    return line


class Part:
    def __init__(self, title):
        self.title = title
        self.separate = title.endswith("(probed one by one)")
        self.limits = {}
        self.steps = []    # (request line, expected, place)
        self.summary = []  # (path, value)

    def add_step(self, text, place):
        left, arrow, right = text.partition("->")
        if not arrow:
            raise Mistake(f"{place}: no -> in: {text}")
        words = left.split(None, 2)
        instants = parse_instants(words[0])
        op, rest = words[1], words[2] if len(words) > 2 else ""
        match = re.search(r"(?:^|\s)x(\d+)\b", rest)
        instants = [t for t in instants for _ in range(int(match[1]) if match else 1)]
        verdicts, _, more = right.strip().partition(" ")
        expected = {n: parse_list(v, len(instants)) for n, v in parse_fields(more).items()
                    if n != "message"}
        expected["verdict"] = parse_list(verdicts, len(instants))
        message = parse_fields(more).get("message")
        for i, t in enumerate(instants):
            one = {n: v[i] for n, v in expected.items()}
            if message:
                one["message"] = message
            line = request_line(t, op, parse_fields(rest))
            if op == "reload":
                line = {"t_ns": t, "op": "reload", "limits": self.limits[rest.strip()]}
            self.steps.append((line, one, place))


def parse_case(path):
    parts, section, text = [], None, []

    def finish():
        if section and section[0] == "limits":
            parts[-1].limits[section[1]] = "\n".join(text) + "\n"

    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("== "):
            finish()
            word, _, name = line[3:].partition(" ")
            section, text = (word, name), []
            if word == "part":
                parts.append(Part(name))
            continue
        if section is None or section[0] == "part":
            continue
        if section[0] == "limits":
            text.append(line)
        elif line.strip() and not line.startswith("#"):
            if section[0] == "steps":
                parts[-1].add_step(line, f"{path.name}:{number}")
            elif section[0] == "summary":
                name, _, value = line.partition("=")
                parts[-1].summary.append((name.strip(), json.loads(value)))
    finish()
    return parts


def dump(line):
    """One line of NDJSON; the cost is its own JSON text already."""
    text = json.dumps({name: value for name, value in line.items() if name != "cost"})
    return f'{text[:-1]}, "cost": {line["cost"]}}}\n' if "cost" in line else text + "\n"


def simulate(sluice, folder, limits, lines, *options):
    """The answers to `lines`, one each."""
    limits_path = Path(folder) / "limits.yaml"
    limits_path.write_text(limits, encoding="utf-8")
    text = "".join(dump(line) for line in lines)
    done = subprocess.run([sluice, "simulate", limits_path, "-", *options], input=text,
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if "--answers" in options and len(answers) != len(lines):
        raise AssertionError(f"{len(answers)} answers to {len(lines)} requests: {done.stderr}")
    return answers


def check_shape(answer, wrong):
    """Members in their order, numbers in their bounds, whatever the case is about."""
    order = [m for m in MEMBERS if m in answer]
    if list(answer) != order:
        wrong(f"members {list(answer)}, expected {order}")
    if not 0 <= answer["remaining"] <= answer["limit"]:
        wrong(f"remaining {answer['remaining']} of limit {answer['limit']}")
    if answer["allowed"] and "retry_after_ns" in answer:
        wrong("retry_after_ns beside allowed")
    if not answer["allowed"] and "retry_after_ns" not in answer:
        wrong("no retry_after_ns in a refusal")


def check_decision(answer, expected, wrong):
    t = answer["t_ns"]
    check_shape(answer, wrong)
    if answer["allowed"] != (expected["verdict"] == "yes"):
        wrong(f"allowed {answer['allowed']}, expected {expected['verdict']}")
    durations = {"retry": "retry_after_ns", "reset": "reset_after_ns", "delay": "delay_ns"}
    for name, member in durations.items():
        if name not in expected:
            continue
        text = expected[name]
        want = None if text in ("never", "none", "0") and name != "reset" else nanoseconds(text, t)
        if answer.get(member) != want:
            wrong(f"{member} {answer.get(member)}, expected {want}")
        if text == "never" and member not in answer:
            wrong(f"{member} absent, expected null")
    if expected["verdict"] == "no" and "retry" not in expected:
        wrong("the case does not say the wait of this refusal")
    for name, member in (("remaining", "remaining"), ("limit", "limit")):
        if name in expected and answer[member] != int(expected[name]):
            wrong(f"{member} {answer[member]}, expected {expected[name]}")
    for name, member in (("name", "limit_name"), ("reason", "reason")):
        if name in expected and answer.get(member, "") != expected[name]:
            wrong(f"{member} {answer.get(member)}, expected {expected[name]}")


def check_answer(line, answer, expected, wrong):
    verdict = expected["verdict"]
    if answer.get("t_ns") != line["t_ns"]:
        wrong(f"t_ns {answer.get('t_ns')}, expected {line['t_ns']}")
    if verdict == "error":
        error = answer.get("error", {})
        if error.get("field") != expected["field"] or error.get("code") != "INVALID_ARGUMENT":
            wrong(f"{answer}, expected INVALID_ARGUMENT of {expected['field']}")
        return
    if verdict == "reloaded":
        if answer != {"t_ns": line["t_ns"], "reloaded": True}:
            wrong(f"{answer}, expected a reload")
        return
    if verdict == "not-reloaded":
        text = "\n".join(answer.get("errors", []))
        if answer.get("reloaded") is not False or not re.search(expected["message"], text):
            wrong(f"{answer}, expected a refusal with {expected['message']}")
        return
    if verdict == "counters":
        if answer.get("counters") != int(expected["count"]):
            wrong(f"{answer}, expected {expected['count']} counters")
        return
    if "allowed" not in answer:
        wrong(f"{answer}, expected a decision")
        return
    check_decision(answer, expected, wrong)


def renamed(line, number):
    """The same request by somebody whom no other probe is."""
    line = dict(line)
    if line.get("op") == "reload":
        return line
    line["key"] = f"{line['key']}#{number}"
    if "attributes" in line:
        line["attributes"] = {n: f"{v}#{number}" for n, v in line["attributes"].items()}
    return line


def probes_of(part, answers):
    """(index, instant, whether it must be allowed) for each refusal that has an end. A reload in
    between may change the numbers, so then nothing is promised."""
    reloads = [line["t_ns"] for line, _, _ in part.steps if line.get("op") == "reload"]
    for index, answer in enumerate(answers):
        wait = answer.get("retry_after_ns")
        t = answer["t_ns"]
        if answer.get("allowed") is not False or wait is None:
            continue
        if any(t < at <= t + wait for at in reloads):
            continue
        yield index, t + wait, True
        yield index, t + wait - 1, False


def probe_together(sluice, folder, part, probes):
    """All probes in one run, each with a name of its own, in the order of time."""
    timeline = []  # (t, order, line, probe number or None)
    for order, (line, _, _) in enumerate(part.steps):
        if line.get("op") == "reload":
            timeline.append((line["t_ns"], order, -1, line, None))
    for number, (index, at, _) in enumerate(probes):
        for order, (line, _, _) in enumerate(part.steps[:index]):
            if line.get("op") != "reload":
                timeline.append((line["t_ns"], order, number, renamed(line, number), None))
        last = dict(part.steps[index][0], t_ns=at)
        timeline.append((at, len(part.steps), number, renamed(last, number), number))
    timeline.sort(key=lambda entry: entry[:3])
    answers = simulate(sluice, folder, part.limits[""], [e[3] for e in timeline], "--answers")
    return {e[4]: a for e, a in zip(timeline, answers) if e[4] is not None}


def probe_separately(sluice, folder, part, probes):
    found = {}
    for number, (index, at, _) in enumerate(probes):
        lines = [line for line, _, _ in part.steps[:index]]
        lines.append(dict(part.steps[index][0], t_ns=at))
        found[number] = simulate(sluice, folder, part.limits[""], lines, "--answers")[-1]
    return found


def check_waits(sluice, folder, part, answers, wrong):
    """Waiting as told is enough, and a nanosecond less is not. Traffic whose time goes back
    cannot be cut and put in order, so its refusals are tried one by one."""
    probes = list(probes_of(part, answers))
    times = [line["t_ns"] for line, _, _ in part.steps]
    separately = part.separate or times != sorted(times)
    run = probe_separately if separately else probe_together
    found = run(sluice, folder, part, probes) if probes else {}
    for number, (index, at, allowed) in enumerate(probes):
        answer = found[number]
        if answer.get("allowed") is not allowed:
            wrong(part.steps[index][2], f"the refusal at {part.steps[index][0]['t_ns']} tried "
                  f"again at {at}: {answer}, expected allowed {allowed}")
    return len(probes)


def check_summary(sluice, folder, part, wrong):
    lines = [line for line, _, _ in part.steps]
    summary = simulate(sluice, folder, part.limits[""], lines, "--json")[0]
    for path, want in part.summary:
        limit, _, member = path.rpartition(".")
        scope = summary
        if limit:
            scope = next((l for l in summary["limits"] if l["limit_name"] == limit), {})
        if scope.get(member) != want:
            wrong("summary", f"{path} is {scope.get(member)}, expected {want}")


def run_part(sluice, part, wrong):
    with tempfile.TemporaryDirectory() as folder:
        lines = [line for line, _, _ in part.steps]
        answers = simulate(sluice, folder, part.limits[""], lines, "--answers")
        for (line, expected, place), answer in zip(part.steps, answers):
            check_answer(line, answer, expected,
                         lambda text, p=place, l=line: wrong(p, f"t={l['t_ns']}: {text}"))
        probes = check_waits(sluice, folder, part, answers, wrong)
        if part.summary:
            check_summary(sluice, folder, part, wrong)
    return len(answers), probes


def main():
    sluice, path = sys.argv[1], Path(sys.argv[2])
    faults = []
    parts = parse_case(path)
    if not parts or not all(part.steps for part in parts):
        raise Mistake(f"{path}: a part without steps")
    for part in parts:
        def wrong(place, text, title=part.title):
            faults.append(f"{place}: part {title}: {text}")
        try:
            answers, probes = run_part(sluice, part, wrong)
            print(f"part {part.title}: {answers} answers, {probes} waits tried")
        except AssertionError as error:
            wrong(path.name, str(error))
    for fault in faults[:40]:
        print(fault)
    print(f"{path.stem}: {len(faults)} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
