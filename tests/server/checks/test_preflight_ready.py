"""Ready or not: which checks decide, and that a later one only makes it worse."""

from dataclasses import replace

import pytest
from preflight_world import NODES, RUN, ec2, hyperpod, node, verdict

from gpuvet.checks.preflight import CHECKS
from gpuvet.checks.preflight.outcome import Outcome, Part
from gpuvet.checks.preflight.ready import Readiness, readiness
from gpuvet.model.check import CheckStatus
from gpuvet.model.readiness import Ready
from gpuvet.model.verdict import Verdict

PASS = CheckStatus.PASS


def outcomes(**statuses: CheckStatus) -> dict[str, Outcome]:
    """Return every check as passed but for the named ones."""
    return {check.id: Outcome((Part(statuses.get(check.id, PASS), "x", "x"),)) for check in CHECKS}


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        pytest.param({}, Readiness(Ready.YES, ()), id="all pass"),
        pytest.param({"P5": "NOT_APPLICABLE"}, Readiness(Ready.YES, ()), id="a proven reason"),
        pytest.param({"P9": "UNVERIFIED"}, Readiness(Ready.YES, ()), id="a later one is open"),
        pytest.param({"P3": "RISK"}, Readiness(Ready.WITH_RISKS, ("P3",)), id="a core risk"),
        pytest.param({"P15": "RISK"}, Readiness(Ready.WITH_RISKS, ("P15",)), id="a later risk"),
        pytest.param(
            {"P1": "RISK", "P2": "UNVERIFIED"},
            Readiness(Ready.NOT_DECIDED, ("P2",)),
            id="tight, and an extension not known",
        ),
        pytest.param(
            {"P5": "UNVERIFIED"}, Readiness(Ready.NOT_DECIDED, ("P5",)), id="a core one is open"
        ),
        pytest.param(
            {"P4": "NEEDS_INPUT"},
            Readiness(Ready.WITH_RISKS, ("P4",)),
            id="a core one waits for the operator, which never blocks",
        ),
        pytest.param({"P1": "FAIL"}, Readiness(Ready.NO, ("P1",)), id="a core failure"),
        pytest.param({"P16": "FAIL"}, Readiness(Ready.NO, ("P16",)), id="a later failure"),
        pytest.param(
            {"P4": "UNVERIFIED", "P8": "RISK"},
            Readiness(Ready.NOT_DECIDED, ("P4",)),
            id="a deciding one is open",
        ),
        pytest.param(
            {"P4": "UNVERIFIED", "P8": "FAIL"}, Readiness(Ready.NO, ("P8",)), id="a failure wins"
        ),
    ],
)
def test_a_run_is_ready(statuses: dict[str, str], expected: Readiness) -> None:
    named = {name: CheckStatus(word) for name, word in statuses.items()}
    assert readiness(hyperpod(), outcomes(**named)) == expected


def test_a_risk_with_a_missing_part_is_not_decided() -> None:
    both = Outcome(
        (Part(CheckStatus.RISK, "x", "x", action="y"), Part(CheckStatus.UNVERIFIED, "x", "x"))
    )
    found = readiness(hyperpod(), {**outcomes(), "P3": both})
    assert found == Readiness(Ready.NOT_DECIDED, ("P3",))


def test_too_few_nodes_without_an_open_verdict_is_no() -> None:
    nodes = (node(NODES[0], verdict=verdict(NODES[0], Verdict.REPLACE)), node(NODES[1]))
    assert readiness(hyperpod(nodes=nodes), outcomes()).ready is Ready.NO
    spare = hyperpod(nodes=nodes, run=replace(RUN, nodes_needed=1))
    assert readiness(spare, outcomes()).ready is Ready.YES


def test_an_unlisted_cluster_is_not_called_short_of_nodes() -> None:
    assert readiness(ec2(run=replace(RUN, nodes_needed=None)), outcomes()).ready is Ready.YES
