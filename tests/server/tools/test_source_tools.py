"""The tools that show single sources, as a client meets them: over a case and over an account."""

from collections.abc import Mapping
from typing import Any

import pytest
from asking import (
    SCENARIOS,
    case_server,
    connected,
    leaves,
    live_server,
    page_of,
    plain,
    recorded_account,
    size_of,
    text_of,
)

pytestmark = pytest.mark.anyio

SOURCE_TOOLS = (
    *("list_clusters", "list_nodes", "cluster_events", "find_log_sources", "read_log_lines"),
    *("read_metrics", "storage_status", "network_status", "capacity_status", "account_changes"),
)
# Without a window: what there is now.
_NOW = frozenset({"list_nodes", "find_log_sources"})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def arguments(tool: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a scenario's question that a tool takes."""
    if tool == "list_clusters":
        return {}
    return {"cluster": asked["cluster"]} if tool in _NOW else dict(asked)


def without_evidence(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "evidence"}


async def ask_case(tool: str, name: str, **more: object) -> dict[str, Any]:
    async with connected(case_server(SCENARIOS[name])) as client:
        return page_of(await client.call_tool(tool, more))


async def ask_account(tool: str, name: str, **more: object) -> dict[str, Any]:
    evidence, asked = recorded_account(name)
    async with connected(live_server(evidence)) as client:
        return page_of(await client.call_tool(tool, {**arguments(tool, asked), **more}))


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("tool", SOURCE_TOOLS)
async def test_both_halves_say_the_same_and_nothing_is_told_alone(tool: str, name: str) -> None:
    evidence, asked = recorded_account(name)
    async with connected(live_server(evidence)) as client:
        result = await client.call_tool(tool, arguments(tool, asked))
    page, text = page_of(result), plain(text_of(result))
    assert [leaf for leaf in leaves(page["rows"]) if plain(leaf) not in text] == []
    told = [row[key] for row in page["not_seen"] for key in ("what", "reason", "closes_with")]
    assert [words for words in told if plain(words) not in text] == []
    assert plain(page["headline"]) in text
    assert page["state"] in text
    assert max(len(text_of(result)), size_of(page)) <= 8_000
    assert all(row["evidence"] for row in page["sources"]), "an answer names the calls it rests on"
    assert page["rows"] or (page["state"] != "OK" and page["headline"])
    if tool not in {"list_clusters", *_NOW}:
        assert page["window"]["since"] < page["window"]["until"]
        assert page["window"]["source"]


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("tool", [tool for tool in SOURCE_TOOLS if tool != "list_clusters"])
async def test_a_recorded_account_and_a_live_one_say_the_same(tool: str, name: str) -> None:
    case = await ask_case(tool, name, detail="full")
    live = await ask_account(tool, name, detail="full")
    # A live question asks EC2 by what finds the cluster's nodes: another call, the same rows.
    assert [without_evidence(row) for row in live["rows"]] == [
        without_evidence(row) for row in case["rows"]
    ]
    # These also look at Kubernetes objects, which no scenario has recorded.
    asks_kubernetes = tool in {"network_status", "storage_status"} and name in {"s06", "s08"}
    assert live["state"] == case["state"] or (asks_kubernetes and live["reason"] == "not_recorded")


async def test_the_clusters_of_an_account_are_found_by_what_names_them() -> None:
    hyperpod = await ask_account("list_clusters", "s06")
    assert [(row["kind"], row["name"]) for row in hyperpod["rows"]] == [
        ("HyperPod", "fm-eks"),
        ("EKS", "fm-eks-cp"),
    ]
    tagged = await ask_account("list_clusters", "s03")
    assert [(row["kind"], row["name"], row["nodes"]) for row in tagged["rows"]] == [
        ("ParallelCluster", "llm-p5", 4)
    ]


async def test_nodes_that_do_not_run_come_first_and_alike_ones_are_counted() -> None:
    page = await ask_account("list_nodes", "s03")
    assert [row["state"] for row in page["rows"]] == ["terminated"] * 3 + ["running"]
    assert [(group["count"], group["what"]) for group in page["groups"]] == [
        (3, "no group told, p5.48xlarge, terminated"),
        (1, "no group told, m6i.4xlarge, running"),
    ]
    assert page["rows"][0]["reservation"] == "cr-0a1b2c3d4e5f60718"


async def test_events_of_a_cluster_without_events_of_its_own_come_from_its_services() -> None:
    page = await ask_account("cluster_events", "s03")
    assert [row["meaning"] for row in page["rows"]] == [
        "no instance behind a node name",
        "launch failed (InsufficientInstanceCapacity)",
    ]
    assert page["state"] == "OK"


async def test_a_cluster_that_keeps_no_events_is_told_and_not_called_quiet() -> None:
    page = await ask_account("cluster_events", "s02")
    assert (page["rows"], page["state"], page["reason"]) == ([], "NOT_SUPPORTED", "not_supported")
    assert "no event" not in page["headline"]
    assert "NodeProvisioningMode Continuous" in page["not_seen"][0]["closes_with"]


async def test_log_sources_tell_what_streams_carry_and_who_has_none() -> None:
    page = await ask_account("find_log_sources", "s03")
    assert [(row["carries"], row["streams"], row["without"]) for row in page["rows"]] == [
        ("HOST_SYSLOG", 3, 1),
        ("SERVICE", 1, 3),
    ]
    assert page["rows"][0]["retention_days"] == 180
    assert page["silent_total"] == 0
    assert "kernel" in page["searched"]


async def test_a_stream_of_a_node_is_listed_once_and_silence_is_told_for_what_it_is() -> None:
    page = await ask_account("find_log_sources", "s01", detail="full")
    kernel = [row["of"] for row in page["rows"] if row["group"] == "/ops/fleet/tri-b200/kernel"]
    assert kernel == ["node"]
    assert page["notes"] == [
        "a silent node has no stream at all; whether a stream still writes is told by log_coverage"
    ]


async def test_metrics_are_told_by_their_extremes_with_missing_periods_counted() -> None:
    page = await ask_account("read_metrics", "s08")
    assert page["total"] == 16
    first = page["rows"][0]
    assert (first["metric"], first["stat"]) == ("GPUPowerUtilization", "Maximum")
    assert (first["points"], first["missing"]) == (24, 96)
    assert first["highest"] == 34.0
    assert page["groups"][0]["what"] == "GPUPowerUtilization: 2.3 to 34"


async def test_a_metric_that_is_not_collected_is_no_zero() -> None:
    page = await ask_account("read_metrics", "s03", family="efa")
    assert (page["rows"], page["state"]) == ([], "OK_EMPTY")
    assert "not collected, which is no zero" in page["headline"]


async def test_the_file_system_of_the_cluster_is_told_with_how_it_is_tied() -> None:
    page = await ask_account("storage_status", "s05")
    (row,) = page["rows"]
    assert row["is_linked"] is True
    assert "/fsx/nova/ckpt" in row["linked"]
    assert any("throughput-bound" in note for note in page["notes"])


async def test_a_missing_rule_is_a_problem_and_stands_before_what_is_well() -> None:
    page = await ask_account("network_status", "s08")
    states = [row["state"] for row in page["rows"]]
    assert states == sorted(states, key=["problem", "unknown", "hint", "told", "ok"].index)
    assert {row["layer"] for row in page["rows"] if row["state"] == "problem"} == {
        "security groups"
    }
    assert [row["what"].partition(":")[0] for row in page["rows"][:2]] == ["inbound", "outbound"]


async def test_a_block_is_usable_until_its_terminations_begin() -> None:
    page = await ask_account("capacity_status", "s03")
    (row,) = page["rows"]
    assert (row["kind"], row["state"], row["is_ours"]) == ("Capacity Block", "expired", True)
    assert (row["usable_until"], row["end"]) == ("2026-05-09T11:00:00Z", "2026-05-09T11:30:00Z")
    assert any("InsufficientInstanceCapacity" in one for one in page["findings"])


async def test_changes_of_other_clusters_and_failed_calls_are_told_apart() -> None:
    page = await ask_account("account_changes", "s06")
    assert [(row["name"], row.get("is_ours"), row.get("error")) for row in page["rows"]] == [
        ("BatchReplaceClusterNodes", True, None),
        ("BatchReplaceClusterNodes", True, "AccessDeniedException"),
        ("BatchReplaceClusterNodes", False, None),
    ]
    assert page["headline"] == "3 changes, 2 of this cluster"


@pytest.mark.parametrize(
    ("tool", "more", "told"),
    [
        pytest.param("read_log_lines", {"kinds": ["secrets"]}, "no kind of line", id="a kind"),
        pytest.param("read_log_lines", {"nodes": ["i-0dead"]}, "no node", id="a node"),
        pytest.param("read_log_lines", {"group": "/aws/lambda/x"}, "--allow-log-group", id="group"),
        pytest.param("read_metrics", {"metric": "Latency"}, "is no gpu metric", id="a metric"),
        pytest.param("read_metrics", {"family": "disk"}, "family", id="a family"),
        pytest.param("cluster_events", {"since": "soon"}, "no time", id="a time"),
        pytest.param("list_nodes", {"since": "1h"}, "It takes", id="an argument it lacks"),
        pytest.param("storage_status", {"path": "/etc"}, "path", id="a path"),
    ],
)
async def test_what_the_caller_can_mend_is_put_into_words(
    tool: str, more: dict[str, Any], told: str
) -> None:
    evidence, asked = recorded_account("s03")
    async with connected(live_server(evidence)) as client:
        result = await client.call_tool(tool, {"cluster": asked["cluster"], **more})
    assert result.is_error
    assert told in text_of(result)


async def test_a_list_may_come_as_text() -> None:
    as_list = await ask_account("read_log_lines", "s03", kinds=["xid", "boot"])
    as_json = await ask_account("read_log_lines", "s03", kinds='["xid", "boot"]')
    as_words = await ask_account("read_log_lines", "s03", kinds="xid, boot")
    assert as_list["rows"] == as_json["rows"] == as_words["rows"] != []
