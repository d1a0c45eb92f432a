"""What HyperPod itself decided about a node (xid_rules §11, HyperPod; §13)."""

from collections.abc import Iterator

from gpuvet.calculators.finding import Finding, NodeView
from gpuvet.model.events import DeepCheck, HmaRecord
from gpuvet.model.verdict import FaultClass, Verdict

_RULE = "xid_rules §11, HyperPod"
_USER_ERROR = "XidUserAppError"

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


def _last_states(records: tuple[HmaRecord, ...], view: NodeView) -> dict[str, HmaRecord]:
    """Return the last record of each condition: True stands until a False."""
    last: dict[str, HmaRecord] = {}
    for record in sorted(records, key=lambda r: _place(view, r)):
        for condition in _CONDITIONS:
            if condition in (record.condition or "") or (
                record.condition is None and condition in record.message
            ):
                last[condition] = record
    return last


def _place(view: NodeView, record: HmaRecord) -> tuple[int, int, str, int]:
    boot = view.clock.boot_of(record)
    return (boot, view.clock.position(record, boot), record.stream, record.line)


def _hma(view: NodeView) -> Iterator[Finding]:
    for condition, record in _last_states(view.node.records.hma, view).items():
        if record.condition_true:
            yield Finding(
                verdict=_CONDITIONS[condition],
                fault_class=FaultClass.HARDWARE,
                what=f"health agent: {condition}"
                + (f", reason {record.reason}" if record.reason else ""),
                rule=_RULE,
                record=record,
            )
    for record in view.node.records.hma:
        advice = f"{record.recommendation or ''} {record.repair_action or ''}".casefold()
        if "replace" in advice:
            yield Finding(
                verdict=Verdict.REPLACE,
                fault_class=FaultClass.HARDWARE,
                what=f"platform recommends: {(record.recommendation or '').strip()}",
                rule=_RULE,
                record=record,
            )
        elif record.reason == _USER_ERROR:
            yield Finding(
                verdict=Verdict.LEAVE_ALONE,
                fault_class=FaultClass.APPLICATION,
                what=f"health agent: {_USER_ERROR}",
                rule=_RULE,
                record=record,
            )


def _labels(view: NodeView) -> Iterator[Finding]:
    facts = view.node.facts
    verdict = _LABELS.get(facts.health_label or "")
    if verdict is not None:
        yield Finding(
            verdict=verdict,
            fault_class=FaultClass.HARDWARE,
            what=f"node label {facts.health_label}",
            rule=_RULE,
            fact_source="node label",
            fact_raw=facts.health_label,
        )
    if facts.replacement_requested is not None:
        yield Finding(
            verdict=Verdict.REPLACE,
            fault_class=FaultClass.HARDWARE,
            what=f"platform recommends: {facts.replacement_requested}",
            rule=_RULE,
            fact_source="platform",
            fact_raw=facts.replacement_requested,
        )


def _deep_checks(view: NodeView) -> Iterator[Finding]:
    for check in view.node.records.deep_checks:
        if check.faulty_instance:
            yield Finding(
                verdict=Verdict.REPLACE,
                fault_class=FaultClass.HARDWARE,
                what="deep health check: FaultyInstance, Replace",
                rule=_RULE,
                record=check,
            )
        elif not check.passed:
            yield Finding(
                verdict=Verdict.UNVERIFIED,
                fault_class=FaultClass.HARDWARE,
                what="deep health check failed",
                rule=_RULE,
                record=check,
                minimum_action=Verdict.REBOOT,
                open_check="the deep health check's own log on the node",
            )


def passed_check_after(view: NodeView) -> DeepCheck | None:
    """Return the last passed deep check that no later failed one takes back, or None."""
    checks = sorted(
        view.node.records.deep_checks,
        key=lambda c: (view.clock.boot_of(c), view.clock.position(c, view.clock.boot_of(c))),
    )
    return checks[-1] if checks and checks[-1].passed else None


def hma_contradictions(view: NodeView, hardware_codes: tuple[int, ...]) -> tuple[str, ...]:
    """Return where the agent's word and the kernel's lines differ (xid_rules §13).

    Args:
        view: The node.
        hardware_codes: Codes of hardware class that the kernel log itself shows.
    """
    reasons = {r.reason for r in view.node.records.hma}
    found: list[str] = []
    if _USER_ERROR in reasons and hardware_codes:
        codes = ", ".join(str(c) for c in hardware_codes)
        found.append(
            f"HMA {_USER_ERROR} against kernel Xid {codes}: "
            "the agent judged the one line it saw; the hardware verdict stands"
        )
    states = _last_states(view.node.records.hma, view)
    conditions = [name for name, record in states.items() if record.condition_true]
    if conditions and view.is_measured and not hardware_codes:
        found.append(
            f"HMA {', '.join(conditions)} while the measured kernel log shows no hardware code: "
            "the agent's condition is followed, because the platform will act on it"
        )
    return tuple(found)
