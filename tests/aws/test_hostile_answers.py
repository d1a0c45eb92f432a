"""Whatever an endpoint answers: bounded values come of it, or none, and no exception."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.aws.door import NodeName
from gpuvet.aws.kubernetes_answers import page_of_list
from gpuvet.aws.kubernetes_reads import KUBERNETES_READS
from gpuvet.aws.prometheus_answers import answer_of, page_of
from gpuvet.aws.prometheus_held import HeldAnswer, held_series
from gpuvet.case.case import KubeObject
from gpuvet.case.kube import node_reading
from gpuvet.case.kube_state import is_telling, kube_view

KEYS = st.sampled_from(
    [
        *("metadata", "spec", "status", "labels", "name", "items", "kind", "conditions", "type"),
        *("containers", "resources", "limits", "env", "value", "values", "metric", "result"),
        *("containerStatuses", "state", "terminated", "finishedAt", "ownerReferences", "taints"),
        *("__name__", "Hostname", "gpu", "nvidia.com/gpu", "lastTransitionTime", "providerID"),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["NaN", "+Inf", "1e999", "2026-05-09T12:00:00Z", "DCGM_FI_DEV_GPU_UTIL"]),
)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True), TEXTS)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(KEYS, TEXTS), inner, max_size=5)
    ),
    max_leaves=25,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=6)


@settings(max_examples=80, deadline=None)
@given(st.lists(OBJECTS, max_size=4))
def test_any_rows_come_to_finite_samples_in_order_of_time(rows: list[Any]) -> None:
    found = answer_of([{"result": rows}])
    for series in found.series:
        times = [at for at, _ in series.points]
        assert times == sorted(set(times))
        assert all(math.isfinite(value) for _, value in series.points)
        assert all(len(value) < 400 for value in series.labels.values())


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_anything_is_an_answer_of_prometheus_or_is_not(document: object) -> None:
    for member in ("result", "labels", "series"):
        page = page_of({"status": "success", "data": document}, member)
        assert page is None or member in page
    assert page_of(document, "result") is None or isinstance(document, dict)


@settings(max_examples=60, deadline=None)
@given(st.lists(OBJECTS, max_size=4))
def test_any_saved_rows_are_series_of_known_nodes_or_nothing(rows: list[Any]) -> None:
    nodes = [NodeName(node="i-0aa11bb22cc33dd44", aliases=("ip-10-0-0-7",))]
    for one in held_series([HeldAnswer("file", {"result": rows})], nodes):
        assert one.name.of("InstanceId") == "i-0aa11bb22cc33dd44"


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(KUBERNETES_READS)), st.lists(OBJECTS, max_size=4))
def test_any_objects_are_cut_down_and_read_without_an_error(name: str, items: list[Any]) -> None:
    kind = KUBERNETES_READS[name].kind
    page = page_of_list({"items": items, "metadata": {}}, kind)
    assert json.dumps(page, allow_nan=True)
    things = [KubeObject(kind, "file", body) for body in page["items"]]
    kept = [one for one in things if is_telling(one)]
    assert kube_view(kept) is not None
    for one in things:
        if kind == "Node":
            node_reading(one)


@pytest.mark.parametrize(
    "spelling", ["AKIAABCDEFGHIJKLMNOP", "Bearer abcdefghijklmnop", "password=hunter2hunter2"]
)
def test_a_secret_in_any_text_of_an_object_is_masked(spelling: str) -> None:
    row = {
        "metadata": {"name": "n", "labels": {"a": spelling}},
        "type": "Warning",
        "reason": "Failed",
        "message": f"it said {spelling}",
        "involvedObject": {"kind": "Pod", "name": spelling},
    }
    kept = json.dumps(page_of_list({"items": [row]}, "Event"))
    assert "[masked]" in kept
    assert spelling.rpartition(" ")[2].rpartition("=")[2] not in kept
