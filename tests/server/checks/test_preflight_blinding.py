"""Taking a source away never turns FAIL, RISK or UNVERIFIED into PASS or NOT_APPLICABLE.

Contracts §7, over every example of every check: each reading is refused, cut short and emptied in
turn, each log lost, each node's log made unreadable.
"""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, TypeGuard

import pytest
from preflight_examples import EXAMPLES, Example
from preflight_world import changed, coverage, hyperpod, node

from gpuvet.checks.preflight import CHECKS
from gpuvet.checks.preflight.outcome import Part, PreflightCheck, evaluate
from gpuvet.checks.preflight.p01_capacity_end import P1
from gpuvet.checks.preflight.p02_extension import P2
from gpuvet.checks.preflight.reading import Reading
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus
from gpuvet.model.cluster import NodeRecords
from gpuvet.model.coverage import CoverageStatus
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.network import NcclLog

BY_ID = {check.id: check for check in CHECKS}
BAD = frozenset({CheckStatus.FAIL, CheckStatus.RISK, CheckStatus.UNVERIFIED})
GOOD = frozenset({CheckStatus.PASS, CheckStatus.NOT_APPLICABLE})
# An empty list of these is a statement by itself, and the rule says so: no alarm and no event is
# none, and an unlisted region uses no interface. Nobody could tell an emptied list from it.
EMPTY_IS_A_STATEMENT = frozenset(
    {"alarms", "events", "health_events", "interfaces", "block_status", "extensions", "addons"}
)


def refused(one: Reading[Any]) -> Reading[Any]:
    return replace(one, status=Status.UNVERIFIED, value=None, reason="denied", closes_with="x")


def cut(one: Reading[Any]) -> Reading[Any]:
    value: Any = one.value
    if hasattr(value, "__len__"):
        value = value[: len(value) // 2]
    return replace(one, status=Status.PARTIAL, value=value, reason="page_cap", closes_with="x")


def emptied(one: Reading[Any]) -> Reading[Any]:
    value = () if isinstance(one.value, tuple) else None
    return replace(one, status=Status.OK_EMPTY, value=value)


def is_reading(value: object) -> TypeGuard[Reading[Any]]:
    return isinstance(value, Reading)


def reading_of(view: View, name: str) -> Reading[Any] | None:
    value: Any = getattr(view, name)
    return value if is_reading(value) else None


def blinded(view: View) -> Iterator[tuple[str, View]]:
    """Yield a view without each of its sources, each way of losing it."""
    for field in fields(View):
        one = reading_of(view, field.name)
        if one is None or not one.is_complete:
            continue
        yield f"{field.name} refused", _with(view, field.name, refused(one))
        yield f"{field.name} cut short", _with(view, field.name, cut(one))
        if field.name not in EMPTY_IS_A_STATEMENT:
            yield f"{field.name} emptied", _with(view, field.name, emptied(one))
    yield from _lists(view)
    yield from _storage(view)
    yield (
        "NCCL lines lost",
        replace(view, nccl=NcclLog(), versions=(), nccl_unread=("NCCL lines",)),
    )
    yield (
        "service logs lost",
        replace(view, services=(), services_read=refused(view.services_read), manager_alive=None),
    )
    for place, each in enumerate(view.nodes):
        blind = replace(
            each,
            records=NodeRecords(),
            driver=None,
            coverage=coverage(each.node, CoverageStatus.UNVERIFIED),
            verdict=each.verdict.model_copy(
                update={"verdict": "NOT OBSERVABLE", "open_check": "its log"}
            ),
        )
        kept = (*view.nodes[:place], blind, *view.nodes[place + 1 :])
        yield f"log of {each.node} lost", replace(view, nodes=kept)


def _with(view: View, name: str, one: Reading[Any]) -> View:
    fields_of: dict[str, Any] = {name: one}
    without = replace(view, **fields_of)
    is_list_of_nodes = name == ("hyperpod_nodes" if view.is_hyperpod else "instances")
    if is_list_of_nodes:
        # The nodes of the view come from this listing.
        none = one.value is None or one.value == ()
        without = replace(
            without,
            listed=replace(view.listed, status=one.status, reason="denied", closes_with="x"),
            nodes=() if none else view.nodes[: len(one.value or ())],
        )
    return without


def _lists(view: View) -> Iterator[tuple[str, View]]:
    for place, each in enumerate(view.places):
        kept = (*view.places[:place], refused(each), *view.places[place + 1 :])
        yield f"place {place} refused", replace(view, places=kept)
    for place, key_read in enumerate(view.keys):
        keys = (*view.keys[:place], refused(key_read), *view.keys[place + 1 :])
        yield f"key {place} refused", replace(view, keys=keys)
    for code, sight in (("EBS", view.ebs_quota), *view.vcpu_quotas.items()):
        for part in ("quota", "usage"):
            one: Reading[Any] = getattr(sight, part)
            changes: dict[str, Any] = {part: refused(one)}
            blind = replace(sight, **changes)
            less = (
                replace(view, ebs_quota=blind)
                if code == "EBS"
                else replace(view, vcpu_quotas={**view.vcpu_quotas, code: blind})
            )
            yield f"{part} of {code} refused", less
    for key, offer in view.offerings.items():
        yield (
            f"offers {key} refused",
            replace(view, offerings={**view.offerings, key: refused(offer)}),
        )


def _storage(view: View) -> Iterator[tuple[str, View]]:
    if view.storage is None:
        return
    denied = Envelope[Any](
        service="fsx",
        operation="DescribeFileSystems",
        status=Status.UNVERIFIED,
        reason=Reason.DENIED,
    )
    unlisted = denied.model_copy(update={"service": "cloudwatch", "operation": "ListMetrics"})
    none = denied.model_copy(update={"status": Status.OK_EMPTY, "reason": None, "value": ()})
    yield "file systems refused", changed(view, storage=replace(view.storage, systems=denied))
    yield "file systems emptied", changed(view, storage=replace(view.storage, systems=none))
    yield "FSx metrics lost", changed(view, storage=replace(view.storage, series=()))
    yield (
        "GPU metrics lost",
        changed(view, storage=replace(view.storage, gpu=(), gpu_listed=unlisted)),
    )


def breaches(check: PreflightCheck, view: View) -> list[str]:
    """Return the ways of blinding after which a check says something better than before."""
    before = evaluate(check, view).status
    if before not in BAD:
        return []
    return [
        f"{taken}: {before} became {after}"
        for taken, less in blinded(view)
        if (after := evaluate(check, less).status) in GOOD
    ]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.id)
def test_a_check_never_says_better_things_from_less(example: Example) -> None:
    assert breaches(BY_ID[example.check], example.view) == []


@pytest.mark.parametrize(
    "example", [e for e in EXAMPLES if e.check in {"P1", "P2"}], ids=lambda e: e.id
)
def test_an_extension_is_unverified_while_the_end_is_unknown(example: Example) -> None:
    for taken, less in blinded(example.view):
        if evaluate(P1, less).status is CheckStatus.UNVERIFIED:
            assert evaluate(P2, less).status is CheckStatus.UNVERIFIED, taken


def _trusting(view: View) -> Iterator[Part]:
    """Look for wide rules and take a refused list for an empty one: the planted fault."""
    wide = [g for g in view.groups.value or () if g.outbound]
    status = CheckStatus.RISK if wide else CheckStatus.PASS
    yield Part(status, "groups", "planted", action="x")


def test_the_property_itself_sees_a_check_that_takes_denied_for_none() -> None:
    planted = PreflightCheck("P99", "planted", "x", "x", "x", _trusting)

    found = breaches(planted, hyperpod())

    assert "groups refused: RISK became PASS" in found


def test_a_lost_node_log_is_among_what_is_taken_away() -> None:
    taken = [what for what, _ in blinded(hyperpod(nodes=(node("i-0aaaaaaaaaaaaaa01"),)))]

    assert "log of i-0aaaaaaaaaaaaaa01 lost" in taken
