"""Taking sources away from the tools that show them: each state shows, and nothing looks clean.

The promise: a reading that fails never makes an answer look more complete than it is.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import pytest
from live.scenarios import SCENARIOS, as_live, asked, document, door, now
from live.test_fault_matrix import FAULTS, Fault, Faulty

from gpuvet.case import Case
from gpuvet.catalog.metric_families import Family
from gpuvet.model.evidence import Status
from gpuvet.model.inspection import Inspection
from gpuvet.modes.inspect_capacity import capacity_status
from gpuvet.modes.inspect_events import change_list, event_list
from gpuvet.modes.inspect_logs import LinesWanted, line_list, log_source_list
from gpuvet.modes.inspect_metrics import series_list
from gpuvet.modes.inspect_network import network_status
from gpuvet.modes.inspect_nodes import cluster_list, node_list
from gpuvet.modes.inspect_storage import storage_status
from gpuvet.modes.window import Asked
from gpuvet.report.inspection import inspection_markdown

Look = Callable[[Case, Asked, datetime], Inspection]

LOOKS: Mapping[str, Look] = {
    "list_nodes": lambda case, _, clock: node_list(case, now=clock),
    "cluster_events": lambda case, times, clock: event_list(case, times, now=clock),
    "find_log_sources": lambda case, times, clock: log_source_list(case, times, now=clock),
    "read_log_lines": lambda case, times, clock: line_list(case, LinesWanted(), times, now=clock),
    "read_metrics": lambda case, times, clock: series_list(case, Family.GPU, times, now=clock),
    "storage_status": lambda case, times, clock: storage_status(case, times, now=clock),
    "network_status": lambda case, times, clock: network_status(case, times, now=clock),
    "capacity_status": lambda case, times, clock: capacity_status(case, times, now=clock),
    "account_changes": lambda case, times, clock: change_list(case, times, now=clock),
}
# HyperPod with EKS, ParallelCluster, EKS with metrics and job lines.
KINDS = [path for path in SCENARIOS if path.stem[:3] in {"s06", "s03", "s08"}]
BLINDING = ("denied", "throttled on the way", "not supported", "budget", "refused")


def looked(look: Look, scenario: Mapping[str, Any], aws: Faulty) -> Inspection:
    """Return a look at a scenario; the fault begins once the cluster was found."""
    case = as_live(scenario, aws)
    return look(case, asked(scenario), now(scenario))


def rows_of(look: Inspection) -> int:
    rows: tuple[object, ...] = getattr(look, "rows")  # noqa: B009 (every look has rows of its own)
    return len(rows)


def claims_all(look: Inspection) -> bool:
    """Say whether a look says that everything was read."""
    return look.state in {Status.OK, Status.OK_EMPTY}


def operations(look: Look, scenario: Mapping[str, Any]) -> list[str]:
    aws = Faulty(door(scenario))
    looked(look, scenario, aws)
    return sorted(aws.asked)


@pytest.mark.parametrize("path", KINDS, ids=lambda path: path.stem[:3])
@pytest.mark.parametrize("name", LOOKS)
def test_each_state_of_each_source_shows_and_hides_no_row_silently(name: str, path: Any) -> None:  # noqa: ANN401 (a path)
    scenario, look = document(path), LOOKS[name]
    whole = looked(look, scenario, Faulty(door(scenario)))
    hidden: list[str] = []
    silent: list[str] = []
    for operation in operations(look, scenario):
        for word in BLINDING:
            aws = Faulty(door(scenario))
            aws.operation, aws.fault = operation, FAULTS[word]
            blind = looked(look, scenario, aws)
            lost = rows_of(blind) < rows_of(whole)
            if lost and claims_all(blind):
                hidden.append(f"{operation} {word}: {rows_of(blind)} of {rows_of(whole)} rows")
            if not _shows(blind, operation, FAULTS[word]):
                silent.append(f"{operation} {word}")
    assert "\n".join(hidden) == "", "rows went and the answer still claims to be whole"
    assert "\n".join(silent) == "", "a source failed and the answer does not say so"


def _shows(look: Inspection, operation: str, fault: Fault) -> bool:
    """Say whether text and value both tell that a source failed."""
    text = inspection_markdown(look, ()).replace("\\", "")
    told = [str(row.reason) for row in look.not_seen if operation in row.what]
    states = [row for row in look.sources if row.source == operation]
    in_sources = any(row.status is fault.status for row in states)
    # A query that failed is told by the reading of lines it was for.
    by_logs = operation.startswith("logs:") and any(
        row.source.startswith("logs:") and not row.status.is_complete for row in look.sources
    )
    return (fault.shown in told or in_sources or by_logs) and fault.shown in text


@pytest.mark.parametrize("operation", ["sagemaker:ListClusters", "ec2:DescribeInstances"])
@pytest.mark.parametrize("word", BLINDING)
def test_a_list_of_clusters_that_is_not_whole_says_so(operation: str, word: str) -> None:
    scenario = document(next(p for p in KINDS if p.stem.startswith("s03")))
    aws = Faulty(door(scenario))
    aws.operation, aws.fault = operation, FAULTS[word]
    blind = cluster_list(aws, now=now(scenario))
    assert not claims_all(blind)
    assert _shows(blind, operation, FAULTS[word])


def test_a_planted_bug_is_found() -> None:
    """Show that the property above fails where a denied reading is taken for an empty one."""

    class Forgetful(Faulty):
        def read(
            self, operation: str, params: Mapping[str, Any], *, region: str | None = None
        ) -> Any:  # noqa: ANN401 (as the door)
            answer = super().read(operation, params, region=region)
            if operation != self.operation:
                return answer
            return answer.model_copy(
                update={"status": Status.OK_EMPTY, "reason": None, "error_code": None}
            )

    scenario = document(next(p for p in KINDS if p.stem.startswith("s03")))
    whole = looked(LOOKS["read_log_lines"], scenario, Faulty(door(scenario)))
    aws = Forgetful(door(scenario))
    aws.operation = "logs:DescribeLogStreams"
    blind = looked(LOOKS["read_log_lines"], scenario, aws)
    assert rows_of(blind) < rows_of(whole)
    assert claims_all(blind)
