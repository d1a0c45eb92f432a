"""Our own evals: right answers pass them, and every known kind of wrong answer fails them.

The right answers are gpuvet's own report over the eval's world, and the one a person wrote.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from gpuvet.case import load_case
from gpuvet.model.audit import AuditReport
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.report import IncidentReport
from gpuvet.modes.audit import audit_report
from gpuvet.modes.incident import incident_report
from gpuvet.modes.preflight import preflight_report
from gpuvet.modes.preflight_run import RunWords
from gpuvet.modes.spec import check_text
from gpuvet.modes.spec_simulate import TEXT_LIMITS, simulate_spec
from gpuvet.modes.window import Asked
from gpuvet.report.simulation import simulation_text
from gpuvet.report.spec import spec_markdown
from gpuvet_evals.evals_json import OFFLINE_EVALUATORS, Eval, read_evals
from gpuvet_evals.inspection import RunIdentity, inspect_journal
from gpuvet_evals.journal import Journal
from gpuvet_evals.journal_writer import JournalWriter
from gpuvet_evals.locate import files_of
from gpuvet_evals.run.worlds import WorldPlan, read_worlds, write_world
from gpuvet_evals.spec_checker import GpuvetChecker

NOW = datetime(2026, 11, 12, tzinfo=UTC)  # only for a case without a clock
ROOT = Path(__file__).parents[2]
EVALS_FOLDER = ROOT / "evals"
EVALS = read_evals((EVALS_FOLDER / "evals.json").read_bytes()).evals
WORLDS = read_worlds(EVALS_FOLDER / "worlds.json")
POSITIVES = [e for e in EVALS if e.should_trigger]
BLINDED = {
    "fallen-off-bus-no-kernel-log": "fallen-off-bus",
    "stuck-condition-nobody-on-node": "stuck-condition",
    "capacity-block-end-reservation-denied": "capacity-block-end",
    "storage-saturated-no-metrics": "storage-saturated",
    "metadata-bound-no-metrics": "metadata-bound",
    "pending-node-trail-denied": "pending-node",
    "fabric-manager-no-node-log": "fabric-manager",
    "application-xid31-logs-denied": "application-xid31",
    "xid31-after-deploy-no-logs": "xid31-after-deploy",
    "socket-fallback-no-job-log": "socket-fallback",
    "silent-stream-everywhere": "silent-stream",
    "audit-rotation-no-search": "audit-rotation",
    "preflight-72h-plan-denied": "preflight-72h",
}
# What stood near the failure and was not its cause.
COINCIDENCE = {
    "fallen-off-bus": "the application, whose job died first",
    "stuck-condition": "a GPU that degraded as the heartbeat shows every minute",
    "capacity-block-end": "Xid 45 on i-0d31a0b1c2d3e4f62 took the others down",
    "storage-saturated": "the data loader, which slowed in the same minute",
    "storage-coincidence": "FSx, whose metadata operations rose at 09:42Z",
    "metadata-bound": "too little FSx throughput; raise the throughput",
    "pending-node": "the Xid 13 of 2026-07-16",
    "fabric-manager": "GPUs that broke during the update",
    "application-xid31": "the node, since the agent reported it",
    "xid31-after-deploy": "FSx, read at the same time",
    "socket-fallback": "the NCCL plugin line at start",
    "silent-stream": "the application, since the logs are clean",
    "audit-rotation": "log rotation alone on all nodes; no GPU errors",
    "preflight-72h": "72 h: Yes, since nothing failed so far",
    "spec-epoch0": "a missing EFA request",
    "spec-operator": "a log that is too short",
    "spec-clean": "HPJ160 is an error and must be fixed before submitting",
}


def ids(eval_: Eval) -> str:
    return eval_.id


def nodes_of(eval_: Eval) -> str:
    """Return the nodes an eval is about, by the expected answer, else a name for all."""
    found = dict.fromkeys(re.findall(r"\bi-[0-9a-f]{17}\b", eval_.expected))
    return ", ".join(found) or "all nodes"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[str, str]]:
    """Gpuvet's report over each world: the text that answers, and all of it as read."""
    folder = tmp_path_factory.mktemp("worlds")
    return _Reports(folder)


class _Reports(dict[str, tuple[str, str]]):
    """Made when first asked for: a test of one eval reads one world."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, eval_id: str) -> tuple[str, str]:
        eval_ = next(e for e in EVALS if e.id == eval_id)
        plan = WORLDS.get(eval_id, WorldPlan(case=None))
        self[eval_id] = _report(eval_, write_world(plan, self._folder / eval_id))
        return self[eval_id]


def _report(eval_: Eval, path: Path) -> tuple[str, str]:
    if eval_.id.startswith("spec-"):
        return _spec_report(eval_, path)
    case = load_case(path, question=eval_.prompt)
    if eval_.id.startswith("preflight"):
        return _both(preflight_report(case, RunWords(), clock=NOW))
    if eval_.id.startswith(("audit", "silent")):
        return _both(audit_report(case, Asked(), clock=NOW))
    return _both(incident_report(case, Asked(), clock=NOW))


def _both(report: IncidentReport | AuditReport | PreflightReport) -> tuple[str, str]:
    """Return the answer, and all that was read for it."""
    return report.markdown, f"{report.markdown}\n{report.model_dump_json()}"


def _spec_report(eval_: Eval, path: Path) -> tuple[str, str]:
    """Return what `gpuvet spec check` and `simulate` print, and the files themselves."""
    files = files_of(eval_, EVALS_FOLDER)
    files |= {p.name: p.read_text(encoding="utf-8") for p in path.iterdir()}
    spec = next(text for name, text in files.items() if name.endswith(".yaml"))
    log = next((text for name, text in files.items() if name.endswith(".log")), None)
    texts = [spec_markdown([check_text(spec)])]
    if log is not None:
        texts.append(simulation_text(simulate_spec(spec, text=log, limits=TEXT_LIMITS)))
    checked = "\n\n".join(texts)
    return checked, f"{checked}\n{json.dumps(files)}"


def journal_of(eval_: Eval, answer: str, evidence: str) -> Journal:
    """Return a run that read the evidence and gave the answer."""
    investigation = eval_.task_type == "investigation"
    writer = JournalWriter(eval_.id, investigation=investigation).user(eval_.prompt)
    given = {"service_name": "logs", "operation_name": "start_query"}
    writer.use("use_aws", given).result(evidence)
    if investigation:
        return writer.record("investigation_summary_md", answer).journal()
    return writer.final(answer).journal()


@cache
def checker() -> GpuvetChecker:
    return GpuvetChecker()


def failed(eval_: Eval, answer: str, evidence: str) -> list[str]:
    """Return the assertions that need no judge and do not hold."""
    identity = RunIdentity(
        case=eval_.id, skill_name="gpuvet", eval_id=eval_.id, iteration=1, run_type="with_skill"
    )
    run = inspect_journal(
        journal_of(eval_, answer, evidence),
        identity,
        eval_,
        files=files_of(eval_, EVALS_FOLDER),
        checker=checker(),
        full=False,
    )
    scores = dict(run.scores)
    assertions = enumerate(eval_.assertions or ())
    offline = [(i, a) for i, a in assertions if a.evaluator in OFFLINE_EVALUATORS]
    assert set(scores) == {i for i, _ in offline}
    return [f"{a.text} {scores[i].evidence}" for i, a in offline if scores[i].passed is not True]


def wrong_answers(eval_: Eval) -> dict[str, str]:
    """Return a plausible wrong answer of each known kind."""
    nodes, source = nodes_of(eval_), BLINDED.get(eval_.id, eval_.id)
    invented = " The GPU had reached 94.37 °C; 4183 retries were counted on i-0fee1dead5eedf00d."
    return {
        "hardware in the headline": f"Root cause: hardware error, Proven. REPLACE: {nodes}. "
        "The GPU is broken and has to be replaced.",
        "no errors from a silent log": f"LEAVE ALONE: {nodes}. The logs were searched and no GPU "
        "errors were found on any node: the hardware is healthy, no problems found.",
        "a coincidence as the cause": f"LEAVE ALONE: {nodes}. Root cause: {COINCIDENCE[source]}, "
        "Proven.",
        "an invented number": eval_.expected + invented,
    }


def test_the_suite_is_what_it_promises() -> None:
    kinds = {
        "positives": len(POSITIVES),
        "negatives": sum(not e.should_trigger for e in EVALS),
        "job specs": sum(e.id.startswith("spec-") for e in EVALS),
        "audits": sum(e.id.startswith(("audit", "silent")) for e in EVALS),
        "preflights": sum(e.id.startswith("preflight") for e in EVALS),
        "investigations": sum(e.task_type == "investigation" for e in EVALS),
    }
    assert kinds == {
        "positives": 30,
        "negatives": 5,
        "job specs": 3,
        "audits": 4,
        "preflights": 2,
        "investigations": 1,
    }
    assert len({e.id for e in EVALS}) == len({e.prompt for e in EVALS}) == len(EVALS)


def test_every_recorded_fault_is_also_asked_with_its_evidence_missing() -> None:
    seeing = {e.id for e in POSITIVES if e.id in WORLDS and e.id not in BLINDED}

    unblinded = seeing - set(BLINDED.values())

    # The coincidence is blind by nature: no limit was reached. A spec has no account.
    assert unblinded == {"storage-coincidence", "spec-epoch0", "spec-operator"}
    for blind, seen in BLINDED.items():
        assert WORLDS[blind].case == WORLDS[seen].case
        assert WORLDS[blind].without != WORLDS[seen].without


def test_every_world_says_that_it_is_composed() -> None:
    assert [name for name, plan in WORLDS.items() if "composed" not in plan.note] == []
    assert set(WORLDS) <= {e.id for e in POSITIVES}


@pytest.mark.parametrize("eval_", POSITIVES, ids=ids)
def test_gpuvets_own_report_passes(eval_: Eval, reports: Mapping[str, tuple[str, str]]) -> None:
    answer, evidence = reports[eval_.id]

    assert failed(eval_, answer, evidence) == []


@pytest.mark.parametrize("eval_", POSITIVES, ids=ids)
def test_the_expected_answer_passes_over_what_gpuvet_read(
    eval_: Eval, reports: Mapping[str, tuple[str, str]]
) -> None:
    assert failed(eval_, eval_.expected, reports[eval_.id][1]) == []


@pytest.mark.parametrize("eval_", POSITIVES, ids=ids)
def test_every_kind_of_wrong_answer_fails(
    eval_: Eval, reports: Mapping[str, tuple[str, str]]
) -> None:
    evidence = reports[eval_.id][1]
    answers = wrong_answers(eval_)
    if eval_.id == "spec-clean":  # the one thing seen whole: that nothing was found is right
        del answers["no errors from a silent log"]

    passed = [kind for kind, answer in answers.items() if not failed(eval_, answer, evidence)]

    assert passed == []


@pytest.mark.parametrize(("blind", "seeing"), BLINDED.items())
def test_the_answer_with_the_evidence_fails_where_it_is_missing(
    blind: str, seeing: str, reports: Mapping[str, tuple[str, str]]
) -> None:
    eval_ = next(e for e in EVALS if e.id == blind)
    sighted = next(e for e in EVALS if e.id == seeing)

    assert len(failed(eval_, sighted.expected, reports[blind][1])) >= 2


@pytest.mark.parametrize("eval_", POSITIVES, ids=ids)
def test_no_assertion_holds_whatever_is_answered(
    eval_: Eval, reports: Mapping[str, tuple[str, str]]
) -> None:
    twin = {**{v: k for k, v in BLINDED.items()}, **BLINDED}.get(eval_.id)
    others = [e.expected for e in EVALS if e.id == twin]
    loud = (
        f"{nodes_of(eval_)}: REPLACE. Root cause: Xid 31, driver 570.1 and the rollout of dcgm "
        "were fixed by an upgrade of dcgm. It is saturated and was metadata-bound: raise the "
        "throughput. BatchReplaceClusterNodes on it. via NET/Socket/0. cr-0123456789abcdef0. "
        "No Xids were found on any node. Ready: yes. 2026-08-22T11:00, 68 of 72 h. The spec is "
        "valid. The monitors are correct. HPJ160 is an error."
    )
    answers = [*wrong_answers(eval_).values(), *others, "I could not look.", loud]
    seen = {text for answer in answers for text in failed_texts(eval_, answer, reports)}
    offline = {a.text for a in eval_.assertions or () if a.evaluator in OFFLINE_EVALUATORS}

    assert offline - seen == set()


def failed_texts(eval_: Eval, answer: str, reports: Mapping[str, tuple[str, str]]) -> set[str]:
    found = failed(eval_, answer, reports[eval_.id][1])
    texts = [a.text for a in eval_.assertions or ()]
    return {text for text in texts if any(line.startswith(text) for line in found)}
