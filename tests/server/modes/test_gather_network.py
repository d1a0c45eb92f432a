"""Branch D of whole cases, through the doors."""

import json
import pickle
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpuvet.calculators.ranking import rank_branches
from gpuvet.case import Case, load_case
from gpuvet.case import nodes as nodes_of
from gpuvet.model.cause import (
    Branch,
    BranchEvidence,
    BranchStatus,
    Failure,
    Label,
    Symptom,
    TimelineEvent,
)
from gpuvet.model.network import GuiltyFinding
from gpuvet.modes.evidence import gather
from gpuvet.modes.gather_network import gather_network
from gpuvet.modes.scope import Scope
from gpuvet.modes.window import Asked, resolve

CASES = Path(__file__).parents[2] / "cases"
FIELD, SCENARIOS = CASES / "field", CASES / "scenarios"
LATE = datetime(2027, 1, 1, tzinfo=UTC)
RULE_CASE = FIELD / "06-efa-egress-self-rule-missing"
SOCKET_CASE = FIELD / "07-nccl-sockets-no-efa-request"
SOCKET_SCENARIO = SCENARIOS / "s08-nccl-socket-fallback.json"
SLOW_SINCE = datetime(2026, 9, 3, 16, 5, tzinfo=UTC)
Gathered = tuple[BranchEvidence, tuple[TimelineEvent, ...], GuiltyFinding | None]


def gathered(case: Case, failure: Failure) -> Gathered:
    asked = resolve(case.meta, Asked(), case.meta.now or LATE)
    seen = gather(case, asked)
    scope = Scope(
        window=asked.window,
        now=asked.now,
        failure=failure,
        nodes=nodes_of(case),
        orchestrator=seen.evidence.orchestrator,
        cluster=case.meta.cluster,
    )
    return gather_network(case, scope, seen.evidence)


def failed(symptom: Symptom, at: datetime | None = None, *, observed: bool = False) -> Failure:
    return Failure(symptom=symptom, at=at, observed=observed, precision_seconds=900.0)


def row(evidence: BranchEvidence, failure: Failure) -> tuple[BranchStatus, Label]:
    ranking = rank_branches([evidence], failure)
    found = next(one for one in ranking.branches if one.branch is Branch.COMMUNICATION)
    return found.status, ranking.label


def words(evidence: BranchEvidence) -> str:
    return "\n".join((*(s.what for s in evidence.signals), *evidence.facts, *evidence.actions))


@pytest.mark.parametrize(
    ("path", "failure"),
    [
        pytest.param(RULE_CASE, failed(Symptom.START_UP), id="a missing outbound rule"),
        pytest.param(SOCKET_CASE, failed(Symptom.SLOW), id="no EFA requested"),
        pytest.param(SOCKET_SCENARIO, failed(Symptom.SLOW, SLOW_SINCE), id="a socket fallback"),
    ],
)
def test_these_cases_are_proven(path: Path, failure: Failure) -> None:
    evidence, _, _ = gathered(load_case(path), failure)
    assert row(evidence, failure) == (BranchStatus.ROOT_CAUSE, Label.PROVEN)


def test_a_missing_rule_is_told_with_group_direction_and_width() -> None:
    evidence, _, _ = gathered(load_case(RULE_CASE), failed(Symptom.START_UP))
    text = words(evidence)
    for needed in ("sg-0aaaabbbbccccdddd", "outbound", "itself", "IpProtocol -1", "32 of 32"):
        assert needed in text
    assert "inbound rule is missing" not in text


def test_a_missing_request_is_told_with_resource_offer_and_what_the_setting_does_not_do() -> None:
    evidence, _, _ = gathered(load_case(SOCKET_CASE), failed(Symptom.SLOW))
    text = words(evidence)
    for needed in ("NET/Socket", "vpc.amazonaws.com/efa", "32", "FI_PROVIDER=efa alone does not"):
        assert needed in text


def test_a_socket_fallback_is_told_in_full() -> None:
    evidence, _, _ = gathered(load_case(SOCKET_SCENARIO), failed(Symptom.SLOW, SLOW_SINCE))
    text = words(evidence)
    for needed in (
        "tcp 0-65535 for 10.8.0.0/16 is not enough",
        "0.0.0.0/0 does not replace the self-reference",
        "4 of 4 EFA interfaces attached",
        "2 channels via P2P/CUMEM",
        "2 Bootstrap lines",
        "PIDFile= legacy path warning: benign",
        "application ip-10-8-0-51.us-west-2.compute.internal-application.var.log.containers.",
        "i-0281a0b1c2d3e4f51: 2 channels to other nodes",
        "from 2026-09-03T16:05:36Z",
    ):
        assert needed in text


def scenario(name: str) -> Path:
    return next(SCENARIOS.glob(f"{name}-*.json"))


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("s02", failed(Symptom.UNKNOWN)),
        ("s03", failed(Symptom.NODES_LOST, datetime(2026, 5, 9, 11, 0, tzinfo=UTC))),
        ("s04", failed(Symptom.SLOW, datetime(2026, 6, 11, 9, 45, tzinfo=UTC))),
        ("s05", failed(Symptom.SLOW, datetime(2026, 7, 2, 2, 10, tzinfo=UTC))),
        ("s06", failed(Symptom.UNKNOWN)),
        ("s08", failed(Symptom.SLOW, SLOW_SINCE)),
    ],
)
def test_the_branch_has_a_status_that_the_scenario_accepts(name: str, failure: Failure) -> None:
    path = scenario(name)
    evidence, _, _ = gathered(load_case(path), failure)
    expected = json.loads(path.read_text(encoding="utf-8"))["expected"]["branch_status"]["D"]
    assert row(evidence, failure)[0] in expected


def test_a_version_mismatch_is_the_mechanism_that_a_change_left_behind() -> None:
    at = datetime(2026, 3, 9, 2, 46, 12, tzinfo=UTC)
    failure = failed(Symptom.START_UP, at, observed=True)
    evidence, _, _ = gathered(load_case(FIELD / "08-fabric-manager-after-update"), failure)
    assert {one.kind for one in evidence.signals} == {"fabric_manager"}
    assert len(evidence.signals) == 4
    text = words(evidence)
    for needed in ("570.133.20", "570.172.08", "all 4 nodes", "pin (hold)", "cannot cure"):
        assert needed in text


def test_signals_as_read_rule_the_branch_out() -> None:
    failure = failed(Symptom.CRASH)
    evidence, _, _ = gathered(load_case(FIELD / "09-xid31-13-after-code-deploy"), failure)
    assert row(evidence, failure)[0] is BranchStatus.RULED_OUT


# Taking sources away


def copied(source: Path, target: Path) -> Path:
    shutil.copytree(source / "inputs", target / "inputs")
    return target


@pytest.mark.parametrize(
    ("source", "symptom", "file"),
    [
        (RULE_CASE, Symptom.START_UP, "nccl.log"),
        (RULE_CASE, Symptom.START_UP, "describe_security_groups.json"),
        (RULE_CASE, Symptom.START_UP, "describe_instances.json"),
        (SOCKET_CASE, Symptom.SLOW, "nccl.log"),
    ],
)
def test_a_deciding_file_that_is_gone_takes_the_proof_with_it(
    source: Path, symptom: Symptom, file: str, tmp_path: Path
) -> None:
    path = copied(source, tmp_path)
    (path / "inputs" / file).unlink()
    failure = failed(symptom)
    evidence, _, _ = gathered(load_case(path), failure)
    assert row(evidence, failure)[1] is not Label.PROVEN
    assert evidence.ruled_out is None
    assert evidence.deciding_unseen


def without_calls(name: str, document: dict[str, Any]) -> dict[str, Any]:
    calls = [one for one in document["calls"] if one["operation"] != name]
    return {**document, "calls": calls}


def without_logs(document: dict[str, Any]) -> dict[str, Any]:
    groups = document["log_store"]
    return {
        **document,
        "log_store": {name: one for name, one in groups.items() if "application" not in name},
    }


@pytest.mark.parametrize(
    ("blind", "label"),
    [
        pytest.param(without_logs, Label.HYPOTHESIS, id="job lines: no proof"),
        pytest.param(
            partial(without_calls, "DescribeInstanceTypes"),
            Label.PROVEN,
            id="types: our own table knows them",
        ),
        pytest.param(
            partial(without_calls, "DescribeSecurityGroups"),
            Label.PROVEN,
            id="groups: the transport was seen all the same",
        ),
    ],
)
def test_blinding_a_scenario_only_shrinks_what_is_claimed(
    blind: Callable[[dict[str, Any]], dict[str, Any]], label: Label, tmp_path: Path
) -> None:
    document = json.loads(SOCKET_SCENARIO.read_text(encoding="utf-8"))
    path = tmp_path / "blind.json"
    path.write_text(json.dumps(blind(document)), encoding="utf-8")
    failure = failed(Symptom.SLOW, SLOW_SINCE)
    whole, _, _ = gathered(load_case(SOCKET_SCENARIO), failure)
    evidence, _, _ = gathered(load_case(path), failure)
    assert row(evidence, failure)[1] is label
    assert {one.kind for one in evidence.signals} <= {one.kind for one in whole.signals}


# The guilty one

HEAD = "[rank{n}]:[E307 09:5{n}:00.0 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg)"
STATE = (
    HEAD + " Rank {n}] Timeout at NCCL work: 7, last enqueued NCCL work: {work}, last completed "
    "NCCL work: 6."
)
PLACE = "w-{n}:1:2 [0] NCCL INFO comm 0x5 rank {n} nranks 4 cudaDev 0 busId {n}3000 - Init COMPLETE"


def job(folder: Path, *lines: str) -> None:
    text = "\n".join(lines)
    (folder / "inputs" / "job.log").write_text(f"{text}\n", encoding="utf-8")


def test_a_silent_rank_leads_over_its_pod_to_the_node(tmp_path: Path) -> None:
    path = copied(SOCKET_CASE, tmp_path)
    job(
        path,
        *(PLACE.format(n=n) for n in range(4)),
        *(STATE.format(n=n, work=7) for n in range(3)),
    )
    pods = [{"name": "w-3", "node": "i-01e475f52028729ce"}]
    (path / "inputs" / "pods.json").write_text(json.dumps({"pods": pods}), encoding="utf-8")
    _, _, guilty = gathered(load_case(path), failed(Symptom.HANG))
    assert guilty is not None
    assert guilty.never_reported == (3,)
    suspect = guilty.suspects[0]
    assert (suspect.rank, suspect.node, suspect.bus) == (
        3,
        "i-01e475f52028729ce",
        "0000:33:00",
    )


def dump(enqueued: int) -> dict[str, Any]:
    return {
        "version": "2.5",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}},
        "pg_status": {"0": {"last_enqueued_collective": enqueued}},
        "entries": [],
    }


def test_flight_recorders_of_a_case_are_compared_whatever_their_form(tmp_path: Path) -> None:
    path = copied(SOCKET_CASE, tmp_path)
    for rank, enqueued in enumerate((8, 8, 7)):
        target = path / "inputs" / f"nccl_trace_rank_{rank}"
        if rank:
            target.write_bytes(pickle.dumps(dump(enqueued), protocol=2))
        else:
            target.write_text(json.dumps(dump(enqueued)), encoding="utf-8")
    case = load_case(path)
    assert [one.rank for one in case.flight_dumps] == [0, 1, 2]
    _, _, guilty = gathered(case, failed(Symptom.HANG))
    assert guilty is not None
    assert guilty.behind == (2,)


class _Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("unpickled",)


def test_a_harmful_pickle_is_reported_and_never_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copied(SOCKET_CASE, tmp_path)
    (path / "inputs" / "nccl_trace_rank_0").write_bytes(pickle.dumps(_Harmful()))
    case = load_case(path)
    report = next(one for one in case.files if one.path.endswith("nccl_trace_rank_0"))
    assert report.reason is not None
    assert "refused" in report.reason
    assert capsys.readouterr().out == ""


def test_a_peer_that_a_counter_table_names_is_examined(tmp_path: Path) -> None:
    path = copied(SOCKET_CASE, tmp_path)
    rows = {
        "i-027457f9a66866847": {
            "unresponsive_remote_events": 41,
            "peer": "i-01e475f52028729ce",
        },
        "i-01e475f52028729ce": {"unresponsive_remote_events": 0},
    }
    table = path / "inputs" / "efa_counters.json"
    table.write_text(json.dumps(rows), encoding="utf-8")
    _, _, guilty = gathered(load_case(path), failed(Symptom.HANG))
    assert guilty is not None
    assert [one.node for one in guilty.suspects] == ["i-01e475f52028729ce"]
