"""Reading only what matters gives the same as feeding every line to every rule."""

import io
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.simulate.log_lines import blocks
from gpuvet.simulate.rule import RuleMachine, RuleSpec
from gpuvet.simulate.stream import LogRun, runners

RULES = [
    RuleSpec("Hang", r".*step \d+", ".*done", 20.0, 10.0),
    RuleSpec("Loss", r".*loss=(\S+)", None, None, 30.0, 5.0, "gt", 2),
    RuleSpec("Fault", ".*boom", fault_on_match=True),
    RuleSpec("Any", r"\S+", None, 5.0, 15.0),
]
TEXTS = st.sampled_from(
    [
        "step 1",
        "step 2 loss=3.0",
        "loss=9",
        "loss=9.5 step 3",
        "loss=what",
        "idle",
        "boom",
        "done",
        "",
    ]
)
# Seconds that mostly grow, sometimes fall back, and sometimes are missing.
STAMPS = st.one_of(st.none(), st.integers(0, 90))


def stamp(second: int) -> str:
    return f"2026-03-02 08:{second // 60:02}:{second % 60:02} "


@st.composite
def logs(draw: st.DrawFn) -> list[tuple[int | None, str]]:
    lines = draw(st.lists(st.tuples(STAMPS, TEXTS), min_size=1, max_size=25))
    if draw(st.booleans()):
        stamped = sorted((at or 0, text) for at, text in lines)
        return [(at, text) for at, text in stamped]
    return lines


def by_hand(
    lines: list[tuple[int | None, str]], end: float
) -> tuple[list[tuple[object, ...]], int]:
    """Return every rule's outcome, all lines fed in order, and the values that were no numbers."""
    compiled = [(re.compile(r.log_pattern), re.compile(r.stop_pattern or "(?!)")) for r in RULES]
    machines = [
        RuleMachine(rule, matches_empty=False, stops_empty=False, groups=log.groups)
        for rule, (log, _) in zip(RULES, compiled, strict=True)
    ]
    now, unparsable = 0.0, 0
    for number, (at, text) in enumerate(lines, 1):
        now = max(now, float(at)) if at is not None else now
        line = (stamp(at) if at is not None else "") + text + "\n"
        for machine, (log, stop) in zip(machines, compiled, strict=True):
            if not machine.is_active:
                continue
            found = log.match(line)
            if found:
                machine.match(now, number)
                if machine.spec.fault_on_match:
                    continue
            if stop.match(line):
                machine.stop(now, number)
                continue
            if found and not machine.judge(now, number, found[1] if log.groups else None):
                unparsable += 1
                break
    for machine in machines:
        machine.advance(end)
    return [_outcome(machine) for machine in machines], unparsable


def _outcome(machine: RuleMachine) -> tuple[object, ...]:
    return machine.outcome(), machine.trip, machine.stopped_at, machine.matches, machine.transitions


@settings(max_examples=200, deadline=None)
@given(logs())
def test_every_rule_comes_to_the_same(lines: list[tuple[int | None, str]]) -> None:
    text = "".join((stamp(at) if at is not None else "") + words + "\n" for at, words in lines)
    run = LogRun(runners(RULES), console=False, stage_start="2026-03-02 08:00:00", end_seconds=None)
    for block in blocks(io.BytesIO(text.encode())):
        if run.sample(block.lines):
            return  # no stamp at all
        run.take(block)
    end = run.finish()

    expected, unparsable = by_hand(lines, end)

    assert [_outcome(each.machine) for each in run.rules] == expected
    assert run.unparsable == unparsable
    assert end == max(float(at or 0) for at, _ in lines)
