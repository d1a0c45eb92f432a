"""Several clusters in one audit: partial failure is named, nothing is counted twice."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuvet.case.load import load_case
from gpuvet.errors import UnreadableCase, UsageError
from gpuvet.model.audit import AuditReport
from gpuvet.modes.audit import audit_report, exit_code
from gpuvet.modes.audit_fleet import audit_fleet
from gpuvet.modes.window import Asked

CASES = Path(__file__).parents[2] / "cases" / "scenarios"
LATE = datetime(2027, 1, 1, tzinfo=UTC)


def cluster(name: str) -> AuditReport:
    path = next(CASES.glob(f"{name}*.json"))
    return audit_report(load_case(path), Asked(), clock=LATE)


def unreadable() -> AuditReport:
    raise UnreadableCase("no such file; give a folder, an archive or a file")


def test_two_clusters_stand_in_one_report_with_their_own_windows() -> None:
    one, other = cluster("s03"), cluster("s06")
    whole = audit_fleet([("s03", lambda: one), ("s06", lambda: other)])
    assert whole.verdicts == {**one.verdicts, **other.verdicts}
    assert [c.status for c in whole.clusters] == ["read", "read"]
    assert (whole.cluster, whole.window.since) == (None, min(one.window.since, other.window.since))
    letters = {letter for row in whole.hours.rows for letter in row.runs if letter.isalpha()}
    assert "Z" in letters


def test_a_cluster_that_cannot_be_read_is_named_and_the_others_are_told() -> None:
    one = cluster("s03")
    whole = audit_fleet([("s03", lambda: one), ("east", unreadable)])
    assert whole.verdicts == one.verdicts
    assert [(c.source, c.status) for c in whole.clusters][1] == ("east", "not read")
    assert whole.claim.endswith("Nothing is claimed of clusters that were not read: east.")
    assert (whole.confidence, exit_code(whole)) == ("Low", 3)
    assert any(row.what == "cluster east" for row in whole.not_seen)


def test_where_none_can_be_read_the_caller_is_told() -> None:
    with pytest.raises(UsageError, match="no such file"):
        audit_fleet([("east", unreadable)])


def test_the_same_cluster_twice_is_counted_once() -> None:
    one = cluster("s03")
    whole = audit_fleet([("a", lambda: one), ("b", lambda: one)])
    assert len(whole.nodes) == len(one.nodes)
    assert whole.clusters[1].status == "not read"
    assert "already" in (whole.clusters[1].reason or "")
