"""What HyperPod itself decided about a node (verdict-rules §11, HyperPod; §13)."""

from collections.abc import Iterator

from gpuvet.calculators.events import Occurrence
from gpuvet.calculators.finding import Finding, NodeView, class_of
from gpuvet.model.events import DeepCheck, HmaRecord, Record, Source
from gpuvet.model.verdict import FaultClass, Verdict

_RULE = "verdict-rules §11, HyperPod"
_USER_ERROR = "XidUserAppError"
_DEEP_CHECK_LOG = "the deep health check's own log on the node"
_HEALTH_LABEL = "node-health-status"  # sagemaker.amazonaws.com/…
_CHECK_LABEL = "deep-health-check-status"

_CONDITIONS = {
    "NvidiaErrorTerminate": Verdict.REPLACE,
    "NvidiaErrorReboot": Verdict.REBOOT,
}
_LABELS = {
    "UnschedulablePendingReplacement": Verdict.REPLACE,
    "UnschedulablePendingReboot": Verdict.REBOOT,
}


def platform_findings(view: NodeView) -> Iterator[Finding]:
    """Yield what the health agent, the labels and the deep checks call for."""
    yield from _hma(view)
    yield from _labels(view)
    yield from _deep_checks(view)


def _last_states(view: NodeView) -> dict[str, HmaRecord]:
    """Return the last record of each condition: True stands until a False."""
    last: dict[str, HmaRecord] = {}
    for record in sorted(view.node.records.hma, key=lambda r: _place(view, r)):
        for condition in _CONDITIONS:
            if condition in (record.condition or "") or (
                record.condition is None and condition in record.message
            ):
                last[condition] = record
    return last


def _place(view: NodeView, record: Record) -> tuple[int, int, str, int]:
    boot = view.clock.boot_of(record)
    return (boot, view.clock.position(record, boot), record.stream, record.line)


def _hma(view: NodeView) -> Iterator[Finding]:
    # The platform will act on its condition; a kernel log that shows only application codes
    # makes it less than proven (verdict-rules §13).
    doubted = _against_measured_log(view)
    for condition, record in _last_states(view).items():
        if record.condition_true:
            yield _told(_CONDITIONS[condition], record, condition)._replace(provisional=doubted)
    for record in view.node.records.hma:
        advice = f"{record.recommendation or ''} {record.repair_action or ''}".casefold()
        if "replace" in advice and record.condition_true:
            yield _told(Verdict.REPLACE, record, "replacement recommended")
        elif record.reason == _USER_ERROR:
            yield _told(
                Verdict.LEAVE_ALONE, record, _USER_ERROR, fault_class=FaultClass.APPLICATION
            )


def _told(
    verdict: Verdict,
    record: HmaRecord,
    what: str,
    *,
    fault_class: FaultClass = FaultClass.HARDWARE,
) -> Finding:
    """Return a finding that quotes the platform's decision word for word."""
    words = {
        "condition": record.condition,
        "reason": record.reason,
        "RepairAction": record.repair_action,
        "Recommendation": record.recommendation,
    }
    quoted = ", ".join(f"{name} {word.strip()}" for name, word in words.items() if word)
    return Finding(
        verdict=verdict,
        fault_class=fault_class,
        what=f"health agent: {what}" + (f" ({quoted})" if quoted else ""),
        rule=_RULE,
        record=record,
    )


def _labels(view: NodeView) -> Iterator[Finding]:
    facts = view.node.facts
    conditions = (*facts.conditions, *view.node.records.conditions)
    told = {c.status for c in conditions if c.kind.endswith(_HEALTH_LABEL)}
    for label in sorted(told | ({facts.health_label} if facts.health_label else set())):
        if label in _LABELS:
            yield _stated(_LABELS[label], f"node label {label}", "node label", label)
    if any(c.kind.endswith(_CHECK_LABEL) and c.status == "Failed" for c in conditions):
        yield _stated(
            Verdict.UNVERIFIED, "node label: deep health check Failed", "node label", "Failed"
        )._replace(minimum_action=Verdict.REBOOT, open_check=_DEEP_CHECK_LOG)
    if facts.replacement_requested is not None:
        yield _stated(
            Verdict.REPLACE,
            f"platform recommends: {facts.replacement_requested}",
            "platform",
            facts.replacement_requested,
        )


def _stated(verdict: Verdict, what: str, source: str, raw: str) -> Finding:
    return Finding(
        verdict=verdict,
        fault_class=FaultClass.HARDWARE,
        what=what,
        rule=_RULE,
        fact_source=source,
        fact_raw=raw,
        survives_boot=True,
    )


def _deep_checks(view: NodeView) -> Iterator[Finding]:
    passed = last_passed_check(view)
    for check in view.node.records.deep_checks:
        if check.faulty_instance:
            yield Finding(
                verdict=Verdict.REPLACE,
                fault_class=FaultClass.HARDWARE,
                what="deep health check: FaultyInstance, Replace",
                rule=_RULE,
                record=check,
            )
        elif not check.passed and passed is None:
            yield Finding(
                verdict=Verdict.UNVERIFIED,
                fault_class=FaultClass.HARDWARE,
                what="deep health check failed",
                rule=_RULE,
                record=check,
                minimum_action=Verdict.REBOOT,
                open_check=_DEEP_CHECK_LOG,
            )


def last_passed_check(view: NodeView) -> DeepCheck | None:
    """Return the last passed deep check that no later failed one takes back, or None."""
    checks = sorted(view.node.records.deep_checks, key=lambda c: _place(view, c))
    return checks[-1] if checks and checks[-1].passed else None


def cleared_at(view: NodeView) -> int | None:
    """Return the position of a deep check passed after the last reboot, or None."""
    check = last_passed_check(view)
    if check is None or not view.clock.starts or view.clock.boot_of(check) < view.last_boot:
        return None
    return view.clock.position(check, view.last_boot)


def platform_contradictions(view: NodeView) -> Iterator[str]:
    """Yield where the platform's word and the kernel's lines differ (verdict-rules §13)."""
    if not view.node.records.hma and not view.node.records.deep_checks:
        return
    codes = sorted({o.code for o in _from_kernel(view) if class_of(o.code) is FaultClass.HARDWARE})
    reasons = {r.reason for r in view.node.records.hma}
    if _USER_ERROR in reasons and codes:
        yield (
            f"HMA {_USER_ERROR} against kernel Xid {', '.join(map(str, codes))}: "
            "the agent judged the one line it saw; the hardware verdict stands"
        )
    if _against_measured_log(view):
        states = _last_states(view)
        conditions = ", ".join(name for name, record in states.items() if record.condition_true)
        yield (
            f"HMA {conditions} while the measured kernel log shows no hardware code: "
            "the agent's condition is followed, because the platform will act on it"
        )
    yield from _faults_after_a_pass(view)


def _faults_after_a_pass(view: NodeView) -> Iterator[str]:
    check = last_passed_check(view)
    if check is None:
        return
    boot = view.clock.boot_of(check)
    passed = (boot, view.clock.position(check, boot))
    after = sorted(
        {
            o.code
            for o in view.kept
            if class_of(o.code) is FaultClass.HARDWARE and (o.boot, o.start_us) > passed
        }
    )
    if after:
        yield (
            f"deep health check passed, then Xid {', '.join(map(str, after))}: "
            "the later hardware event wins"
        )


def _from_kernel(view: NodeView) -> Iterator[Occurrence]:
    for occurrence in view.kept:
        if any(e.source in {Source.KERNEL, Source.GPU_LOST} for e in occurrence.lines):
            yield occurrence


def _against_measured_log(view: NodeView) -> bool:
    """Say whether the agent claims hardware while a measured log shows programs' codes at most."""
    if not view.is_measured or not view.node.records.hma:
        return False
    claims = any(record.condition_true for record in _last_states(view).values())
    return claims and all(
        class_of(o.code) in {FaultClass.APPLICATION, FaultClass.SYMPATHETIC}
        for o in _from_kernel(view)
    )
