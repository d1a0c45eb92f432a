"""Named ways to spoil a right answer, each with the rules of which one must see it."""

import random
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Report = Mapping[str, Any]


class Mutation(NamedTuple):
    """One way: the text spoiled, or None where the report gives no occasion."""

    name: str
    rules: frozenset[str]
    spoil: Callable[[str, Report, random.Random], str | None]


_NODE = re.compile(r"(?<![\w.-])i-[0-9a-f]{8,17}(?![\w-]|\.[a-z])")
_STREAM = re.compile(r"[\w./-]*[\w/-][./-]i-[0-9a-f]{8,17}(?:\.[\w-]+)*")
_GROUP = re.compile(r"/aws/[\w./-]*[\w]|/[a-z]+/[\w/-]*kernel")
_TIME = re.compile(r"\b(\d{4}-\d{2}-\d{2}[T ])(\d{2}):(\d{2})(:\d{2})?Z")
_PERCENT = re.compile(r"(?<![\w.])(\d{1,2}\.\d) %")
_NUMBER = re.compile(
    r"(?<![\w.,:/-])(\d{2,6})"
    r"(?= (?:h\b|min\b|s\b|nodes?\b|node-hours|datapoints|GiB|MB/s|IOPS|free|operations|B/s))"
)
_HOURS = re.compile(
    r"\s*\(?(?:in |every hour of |(?:the )?kernel log (?:was )?seen in )?"
    r"\b\d+ of \d+ (?:node-)?h(?:ours?)?\b\)?"
    r"|for every hour of (?:\d+|none) of \d+ nodes?;?|\(?\d+ h\)|any of \d+ h"
)
_VERDICTS = ("REPLACE", "REBOOT", "UNVERIFIED", "MONITOR", "LEAVE ALONE", "NOT OBSERVABLE")


def _one(pattern: re.Pattern[str], text: str, rng: random.Random) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return rng.choice(found) if found else None


def _put(text: str, match: re.Match[str], new: str, group: int = 0) -> str:
    return text[: match.start(group)] + new + text[match.end(group) :]


def _hex(length: int, rng: random.Random) -> str:
    return "".join(rng.choice("0123456789abcdef") for _ in range(length))


def invented_id(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(_NODE, text, rng)
    return _put(text, match, f"i-{_hex(len(match[0]) - 2, rng)}") if match else None


def digits_swapped(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(_NODE, text, rng)
    if match is None:
        return None
    chars = list(match[0])
    places = [i for i in range(3, len(chars) - 1) if chars[i] != chars[i + 1]]
    at = rng.choice(places)
    chars[at], chars[at + 1] = chars[at + 1], chars[at]
    return _put(text, match, "".join(chars))


def id_cut(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(_NODE, text, rng)
    return text.replace(match[0], match[0][:8] + "…") if match else None


def number_changed(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(_NUMBER, text, rng)
    if match is None:
        return None
    digits = match[1]
    new = digits
    while new == digits or new[0] == "0":
        at = rng.randrange(len(digits))
        new = digits[:at] + rng.choice("123456789") + digits[at + 1 :]
    return _put(text, match, new, 1)


def time_changed(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(_TIME, text, rng)
    if match is None:
        return None
    minute = (int(match[3]) + rng.choice((7, 13, 19))) % 60
    return _put(text, match, f"{match[1]}{match[2]}:{minute:02d}{match[4] or ''}Z")


def percent_hundredfold(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(_PERCENT, text, rng)
    return _put(text, match, f"{float(match[1]) * 100:.0f}", 1) if match else None


def xid_changed(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(re.compile(r"\bXid (\d{2,3})\b"), text, rng)
    return _put(text, match, "137" if match[1] != "137" else "79", 1) if match else None


def group_truncated(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(_GROUP, text, rng)
    return (
        _put(text, match, match[0][: -max(3, len(match[0]) // 4)].rstrip("/-.")) if match else None
    )


def stream_mistyped(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(_STREAM, text, rng)
    return _put(text, match, match[0].replace("i-0", "i-9", 1)) if match else None


def stream_of_another(text: str, report: Report, rng: random.Random) -> str | None:
    rows = [r for r in report.get("coverage", ()) if r.get("stream")]
    for line in text.splitlines():
        nodes = set(_NODE.findall(_STREAM.sub("", line)))
        for match in _STREAM.finditer(line):
            owners = {r["node"] for r in rows if r["stream"] == match[0]}
            others = [
                r["stream"] for r in rows if r["node"] not in nodes and r["node"] not in owners
            ]
            if nodes & owners and others:
                return text.replace(line, _put(line, match, rng.choice(others)))
    return None


def verdict_swapped(text: str, report: Report, rng: random.Random) -> str | None:
    given = set(report["verdicts"].values())
    match = _one(re.compile(rf"\*\*({'|'.join(_VERDICTS)})\*\*(?= `i-)"), text, rng)
    if match is None:
        return None
    others = [v for v in _VERDICTS if v != match[1] and v != "UNVERIFIED"]
    rng.shuffle(others)
    return _put(text, match, min(others, key=lambda v: v in given), 1)


def no_errors_put_in(text: str, report: Report, rng: random.Random) -> str | None:
    dark = "NOT OBSERVABLE" in report["verdicts"].values()
    if not dark and re.search(r"\d+ of \d+ (?:node-)?h", text):
        return None
    said = rng.choice(
        (
            "No GPU errors were found on any node.",
            "All nodes are healthy.",
            "The hardware is clean.",
            "We found no hardware faults in the logs.",
            "There were zero Xid errors in the last 24 hours.",
            "None of the nodes logged an Xid.",
            "The fleet looks healthy and error-free.",
        )
    )
    return f"{said}\n\n{text}"


def dark_called_healthy(text: str, report: Report, rng: random.Random) -> str | None:
    dark = [n for n, v in report["verdicts"].items() if v == "NOT OBSERVABLE"]
    if not dark:
        return None
    node = rng.choice(dark)
    kept = "\n".join(line for line in text.splitlines() if node not in line)
    return f"{kept}\n- `{node}`: healthy, no Xids were logged.\n"


def hours_removed(text: str, report: Report, _rng: random.Random) -> str | None:
    if report["mode"] != "Audit" or not _HOURS.search(text) or "0 Xids" not in text:
        return None
    kept = _HOURS.sub("", text)
    return kept if re.search(r"0 Xids(?! measured)", kept) else None


def hours_of_another(text: str, report: Report, _rng: random.Random) -> str | None:
    hours = {r["node"]: (r["hours_measured"], r["hours_asked"]) for r in report.get("sight", ())}
    for line in text.splitlines():
        nodes = set(_NODE.findall(line))
        match = re.search(r"(\d+) of (\d+) h", line)
        if len(nodes) == 1 and match and nodes <= hours.keys():
            own = hours[next(iter(nodes))]
            full = (own[1], own[1])
            if own != full and (own[1] - own[0], own[1]) != full and own[0]:
                return text.replace(line, _put(line, match, f"{own[1]} of {own[1]} h"))
    return None


def label_raised(text: str, report: Report, rng: random.Random) -> str | None:
    if report["mode"] != "Incident" or report["label"] != "Hypothesis":
        return None
    way = rng.randrange(3)
    if way == 0:
        return text.replace("(Hypothesis", "(Proven", 1)
    if way == 1:
        return text.replace("Leading hypothesis", "Root cause", 1)
    return text.replace("Leading hypothesis", "Root cause", 1).replace("(Hypothesis", "(Proven", 1)


def cause_invented(text: str, report: Report, rng: random.Random) -> str | None:
    if report["mode"] != "Incident" or report["label"] != "Not observable":
        return None
    said = rng.choice(
        (
            "Root cause: the file system was saturated.",
            "The crash was caused by a network fault.",
            "The root cause is definitely the storage.",
        )
    )
    return f"{said}\n\n{text}"


def branch_changed(text: str, report: Report, rng: random.Random) -> str | None:
    if report["mode"] != "Incident" or not report.get("branch"):
        return None
    other = rng.choice([b for b in "ABCDEF" if b != report["branch"]])
    return re.sub(r"(Root cause|Leading hypothesis): [A-F],", rf"\1: {other},", text, count=1)


def unread_ruled_out(text: str, report: Report, rng: random.Random) -> str | None:
    match = _one(re.compile(r"\b[A-F] (NOT\\?_OBSERVABLE|UNVERIFIED)"), text, rng)
    if match is not None:
        return _put(text, match, "RULED_OUT", 1)
    rows = {r["branch"]: r["status"] for r in report.get("branches", ())}
    if rows.get("C") == "NOT_ASSESSED":
        return f"{text}\nStorage was ruled out.\n"
    return None


def account_written(text: str, report: Report, rng: random.Random) -> str | None:
    account = report.get("account") or "111122223333"
    region = report.get("region") or "us-west-2"
    arn = f"arn:aws:sagemaker:{region}:{account}:cluster/abcd1234efgh"
    said = rng.choice((f"Account {account}.", f"This is account `{account}`.", f"See {arn}."))
    return f"{text}\n{said}\n"


def told_as_done(text: str, report: Report, rng: random.Random) -> str | None:
    node = next(iter(report["verdicts"]), None)
    if node is None:
        return None
    said = rng.choice(
        (
            f"I rebooted `{node}`.",
            f"I have replaced {node} for you.",
            "We drained the node and requeued the job.",
            "I've set NodeRecovery to Automatic.",
            f"The restart of {node} has been requested.",
            "Done: I restarted the node.",
            f"`{node}` has now been cordoned.",
            "I went ahead and rebooted the node.",
            f"I opened a support case for {node}.",
        )
    )
    return f"{text}\n{said}\n"


_DECIDES = re.compile(
    "|".join(_VERDICTS)
    + r"|[Rr]eady|Root cause|ypothesis|Do:|replace|reboot|Not observable|claimed|leave|no action"
    r"|\d+ of \d+ (?:node-)?h|nothing on the nodes|watch|cause|because|due to|FAIL|not\\?_"
    r"|application"
)


def verdict_removed(text: str, _report: Report, _rng: random.Random) -> str | None:
    kept = [line for line in text.splitlines() if not _DECIDES.search(line)]
    body = "\n".join(kept).strip()
    return body + "\n\nThese are the facts that were collected.\n" if len(body) > 40 else None


def asked_back(text: str, _report: Report, rng: random.Random) -> str | None:
    said = rng.choice(
        (
            "Which cluster do you mean?",
            "Before I can answer I need the time window.",
            "Could you share the job log first?",
            "Please confirm the region and the account before I go on.",
        )
    )
    return f"{said}\n\n{text}"


def node_left_out(text: str, report: Report, rng: random.Random) -> str | None:
    if report["mode"] == "Preflight":
        return None
    urgent = [n for n, v in report["verdicts"].items() if v in ("REPLACE", "REBOOT", "UNVERIFIED")]
    rest = [n for n in report["verdicts"] if n not in urgent]
    if not urgent or not rest:
        return None
    node = rng.choice(urgent)
    return "\n".join(line for line in text.splitlines() if node not in line)


def hardware_headline(text: str, report: Report, rng: random.Random) -> str | None:
    acting = [
        n
        for n in report["nodes"]
        if n["verdict"] in ("REPLACE", "REBOOT") and n["class"] == "hardware"
    ]
    if acting or not report["nodes"] or report["mode"] == "Preflight":
        return None
    said = rng.choice(("Hardware error on the cluster.", "A GPU failure stopped the job.",
                       "Faulty GPU found."))  # fmt: skip
    return f"**{said}**\n\n{text}"


def unverified_bare(text: str, report: Report, _rng: random.Random) -> str | None:
    nodes = [n for n, v in report["verdicts"].items() if v == "UNVERIFIED"]
    if not nodes or report["mode"] == "Preflight":
        return None
    kept = [line for line in text.splitlines() if not any(n in line for n in nodes)]
    listed = "\n".join(f"- **UNVERIFIED** `{n}`" for n in nodes)
    return f"{listed}\n" if not kept else f"{listed}\n\nRegards.\n"


def ready_flipped(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(re.compile(r"\d+ h: (No|Yes with risks|Yes|Not decided)(?=\*\*| \()"), text, rng)
    if match is None:
        return None
    return _put(text, match, "Yes" if match[1] != "Yes" else "No", 1)


def check_flipped(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(re.compile(r"\*\*(FAIL|RISK)\*\* P\d+"), text, rng)
    return _put(text, match, "PASS", 1) if match else None


def recovery_flipped(text: str, _report: Report, rng: random.Random) -> str | None:
    match = _one(re.compile(r"NodeRecovery (Automatic|None)\b"), text, rng)
    return (
        _put(text, match, "None" if match[1] == "Automatic" else "Automatic", 1) if match else None
    )


def resumes_by_itself(text: str, _report: Report, _rng: random.Random) -> str | None:
    kept = [
        line for line in text.splitlines() if "checkpoint" not in line and "auto-resume" not in line
    ]
    return "\n".join([*kept, "After that the job resumes automatically.", ""])


def capacity_stretched(text: str, report: Report, rng: random.Random) -> str | None:
    rows = [
        r
        for r in report.get("calendar", ())
        if r.get("usable_until") and r["usable_until"] != r["end"]
    ]
    if not rows:
        return None
    row = rng.choice(rows)
    return f"{text}\n{row['resource']} is usable until {row['end']}.\n"


def secret_put_in(text: str, _report: Report, rng: random.Random) -> str | None:
    return f"{text}\nI read it with Bearer {_hex(32, rng)}.\n"


def source_vague(_text: str, report: Report, _rng: random.Random) -> str | None:
    if not any(r.get("stream") for r in report.get("coverage", ())) or not report["verdicts"]:
        return None
    node, verdict = next(iter(report["verdicts"].items()))
    return f"**{verdict}** `{node}`: no Xids in the kernel log in 23 of 24 h.\n"


def label_removed(text: str, report: Report, _rng: random.Random) -> str | None:
    if report["mode"] != "Incident" or report["label"] != "Proven":
        return None
    line = text.splitlines()[0]
    head = re.sub(r"\(Proven.*", "", line)
    head = re.sub(r"Root cause: [A-F], [\w ]+:", "The failure was caused by this:", head)
    return head if "Proven" not in head and "not observable" not in head.lower() else None


MUTATIONS = tuple(
    Mutation(spoil.__name__.replace("_", "-"), frozenset(rules.split()), spoil)
    for spoil, rules in (
        (invented_id, "ANS101 ANS301"),
        (digits_swapped, "ANS101 ANS301"),
        (id_cut, "ANS102"),
        (number_changed, "ANS201 ANS403"),
        (time_changed, "ANS202"),
        (percent_hundredfold, "ANS203"),
        (xid_changed, "ANS204"),
        (group_truncated, "ANS301"),
        (stream_mistyped, "ANS301"),
        (stream_of_another, "ANS302"),
        (source_vague, "ANS303"),
        (no_errors_put_in, "ANS401 ANS402"),
        (hours_removed, "ANS401"),
        (dark_called_healthy, "ANS401 ANS402"),
        (hours_of_another, "ANS403"),
        (verdict_removed, "ANS501"),
        (verdict_swapped, "ANS502"),
        (node_left_out, "ANS503"),
        (hardware_headline, "ANS504"),
        (unverified_bare, "ANS505"),
        (ready_flipped, "ANS506"),
        (check_flipped, "ANS507"),
        (label_raised, "ANS601"),
        (cause_invented, "ANS601 ANS603"),
        (label_removed, "ANS602"),
        (branch_changed, "ANS603"),
        (unread_ruled_out, "ANS604"),
        (told_as_done, "ANS701"),
        (asked_back, "ANS702"),
        (account_written, "ANS703"),
        (secret_put_in, "ANS704"),
        (recovery_flipped, "ANS801"),
        (resumes_by_itself, "ANS802"),
        (capacity_stretched, "ANS803"),
    )
)
# What a mutation brings with it: rules that may speak too without being wrong.
COLLATERAL = {
    "invented-id": {"ANS302"},
    "digits-swapped": {"ANS302"},
    "id-cut": {"ANS301"},
    "verdict-removed": {"ANS503", "ANS401", "ANS402", "ANS303", "ANS602"},
    "hours-removed": {"ANS402"},
    "dark-called-healthy": {"ANS502", "ANS303"},
    "node-left-out": {"ANS501"},
    "unverified-bare": {"ANS503"},
    "source-vague": {"ANS505", "ANS201", "ANS403", "ANS402", "ANS503"},
    "label-removed": {"ANS503", "ANS501"},
    "no-errors-put-in": {"ANS303"},
    "hardware-headline": {"ANS601"},
}
