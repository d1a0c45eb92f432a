"""Why hours were not seen: only what evidence names, and who says it."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuvet.calculators.audit_holes import HoleEvidence, holes_of
from gpuvet.calculators.audit_hours import hour_grid
from gpuvet.calculators.coverage import node_coverage
from gpuvet.calculators.hours import HOUR, CoverageRules
from gpuvet.model.audit import AgentLine, AgentWord, Hole, HoleKind
from gpuvet.model.case import Note
from gpuvet.model.changes import Change, ChangeKind
from gpuvet.model.cluster import ClusterEvidence, NodeEvidence, NodeRecords
from gpuvet.model.coverage import (
    CoverageStatus,
    Gap,
    HourState,
    Shipper,
    SourceCoverage,
)
from gpuvet.model.events import Shutdown, TimeQuality
from gpuvet.model.evidence import Window
from gpuvet.report.audit import because

START = datetime(2026, 3, 14, tzinfo=UTC)
NODE, OTHER = "i-0aa11bb22cc33dd44", "i-0ee55ff66aa77bb88"
GROUP, STREAM = "/fleet/kernel", "messages/i-0aa11bb22cc33dd44"
HOLE = (4, 8)
NO_PAD = CoverageRules(pad=timedelta(0), lag=timedelta(0))


def at(hour: int, minute: int = 0) -> datetime:
    return START + timedelta(hours=hour, minutes=minute)


def node(state: HourState = HourState.EMPTY, *, records: NodeRecords | None = None) -> NodeEvidence:
    gap = Gap(start=at(HOLE[0]), end=at(HOLE[1]), state=state)
    source = SourceCoverage(
        node=NODE,
        source=Shipper.HOST_SYSLOG,
        group=GROUP,
        stream=STREAM,
        status=CoverageStatus.PARTIAL,
        live_hours=tuple(at(h) for h in range(12) if not HOLE[0] <= h < HOLE[1]),
        hours_asked=12,
        gaps=(gap,),
    )
    return NodeEvidence(
        node=NODE, records=records or NodeRecords(), coverage=node_coverage(NODE, [source])
    )


def hole(evidence: HoleEvidence, one: NodeEvidence | None = None) -> Hole:
    found = one or node()
    window = Window(start=START, end=START + HOUR * 12)
    cluster = ClusterEvidence(now=START + HOUR * 40, window=window, nodes=(found,))
    (only,) = holes_of(cluster.nodes, hour_grid(cluster, NO_PAD), evidence)
    return only


def said(word: AgentWord, when: datetime, owner: str = NODE) -> AgentLine:
    return AgentLine(node=owner, stream="agent.log", line=1, raw=f"{word}", at=when, word=word)


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        pytest.param([], [], id="nothing named, nothing said"),
        pytest.param(
            [said(AgentWord.PAUSED, at(3, 50))], [HoleKind.BUFFER], id="in the last hour with lines"
        ),
        pytest.param(
            [said(AgentWord.RELOADED, at(4, 2))],
            [HoleKind.AGENT],
            id="in the first hour without one",
        ),
        pytest.param([said(AgentWord.PAUSED, at(2, 10))], [], id="too long before"),
        pytest.param([said(AgentWord.PAUSED, at(5, 10))], [], id="after it had begun"),
        pytest.param([said(AgentWord.PAUSED, at(3, 50), OTHER)], [], id="on another node"),
        pytest.param(
            [said(AgentWord.REFUSED, at(4, 1))], [HoleKind.PERMISSION], id="permission refused"
        ),
        pytest.param(
            [said(AgentWord.ROTATED, at(4, 0)), said(AgentWord.RELOADED, at(3, 51))],
            [HoleKind.ROTATION, HoleKind.AGENT],
            id="two reasons are both told",
        ),
        pytest.param([said(AgentWord.RESUMED, at(4, 1))], [], id="going on is no reason to stop"),
    ],
)
def test_an_agents_line_around_the_start_names_the_reason(
    lines: list[AgentLine], kinds: list[HoleKind]
) -> None:
    found = hole(HoleEvidence(lines=lines))
    assert [cause.kind for cause in found.causes] == kinds
    assert all(cause.measured for cause in found.causes)


def test_a_pause_is_told_with_its_end() -> None:
    lines = [said(AgentWord.PAUSED, at(4, 2)), said(AgentWord.RESUMED, at(7, 58))]
    (cause,) = hole(HoleEvidence(lines=lines)).causes
    assert cause.words == (
        "log agent: paused, buffer full at 2026-03-14T04:02:00Z, resumed at 2026-03-14T07:58:00Z"
    )
    assert cause.evidence is not None


def test_somebodys_words_are_kept_apart_and_weighed_against_other_nodes() -> None:
    note = Note(file="rotation.txt", line=1, text="logrotate ran 04:00 on all nodes", at=at(4))
    live = {NODE: frozenset[datetime](), OTHER: frozenset({at(4)})}
    (cause,) = hole(HoleEvidence(notes=[note], live=live)).causes
    assert (cause.kind, cause.measured) == (HoleKind.ROTATION, False)
    assert cause.words.endswith("1 other nodes went on in that hour")


def test_a_note_about_another_node_says_nothing_of_this_one() -> None:
    note = Note(file="n.txt", line=1, text=f"agent restart on {OTHER}", at=at(4))
    assert hole(HoleEvidence(notes=[note])).causes == ()


def test_a_node_that_went_down_is_the_reason() -> None:
    down = Shutdown(
        node=NODE,
        stream=STREAM,
        line=9,
        raw="Reached target Shutdown.",
        at=at(3, 40),
        time_quality=TimeQuality.EXACT,
    )
    (cause,) = hole(HoleEvidence(), node(records=NodeRecords(shutdowns=(down,)))).causes
    assert (cause.kind, cause.measured) == (HoleKind.NODE_DOWN, True)


@pytest.mark.parametrize(
    ("resource", "kinds"),
    [
        pytest.param(GROUP, [HoleKind.DELETED], id="this group"),
        pytest.param("/other/group", [], id="another group"),
    ],
)
def test_a_call_that_takes_logs_away_is_named(resource: str, kinds: list[HoleKind]) -> None:
    call = Change(kind=ChangeKind.LOGS, name="DeleteLogStream", at=at(9), resource=resource)
    found = hole(HoleEvidence(changes=[call]))
    assert [cause.kind for cause in found.causes] == kinds


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        pytest.param(HourState.RETENTION_LOST, HoleKind.RETENTION, id="retention"),
        pytest.param(HourState.NO_GROUP, HoleKind.NO_GROUP, id="group not yet created"),
        pytest.param(HourState.UNKNOWN_STATE, HoleKind.STOPPED, id="perhaps stopped"),
        pytest.param(HourState.UNKNOWN, HoleKind.PROVES_NOTHING, id="count proves nothing"),
    ],
)
def test_the_state_of_an_hour_is_a_reason_of_its_own(state: HourState, kind: HoleKind) -> None:
    lines = [said(AgentWord.PAUSED, at(4, 2))]
    assert [c.kind for c in hole(HoleEvidence(lines=lines), node(state)).causes] == [kind]


def test_the_delivery_lag_is_told_and_is_no_reason() -> None:
    only = "only hours inside the delivery lag (15 min) may still arrive"
    (source,) = (one := node()).coverage.sources
    noted = source.model_copy(update={"gaps": (source.gaps[0].model_copy(update={"note": only}),)})
    found = hole(HoleEvidence(), one.model_copy(update={"coverage": node_coverage(NODE, [noted])}))
    assert because(found) == f"no evidence names a reason; {only}"


def test_a_hole_that_nothing_explains_says_so() -> None:
    assert because(hole(HoleEvidence())) == "no evidence names a reason"
