"""Managed Prometheus through the door: which workspace, whose series, what over time."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_world import (
    EKS,
    NODES,
    NOW,
    REGION,
    WORKSPACE,
    Stored,
    World,
    case_of,
    every_minute,
    gpus_of,
    host_of,
    hyperpod,
)

from gpuvet.aws.door import NodeName
from gpuvet.aws.prometheus import (
    Workspace,
    find_nodes,
    find_workspaces,
    read_numbers,
    read_over_time,
    step_for,
)
from gpuvet.aws.prometheus_names import name_table, node_of
from gpuvet.aws.prometheus_queries import (
    DEVICE_LABELS,
    METRICS,
    NODE_LABELS,
    TEMPLATES,
    is_node_value,
    query_text,
)
from gpuvet.errors import NotReadOnly
from gpuvet.model.case import CaseNode
from gpuvet.model.evidence import Reason, Status, Window
from gpuvet.model.prometheus import WorkspaceAddress
from gpuvet.modes.gather_efa import read_efa
from gpuvet.modes.gather_prometheus import read_activity, read_faults

UTIL, XID = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_XID_ERRORS"
START = NOW - timedelta(hours=2)
WINDOW = Window(start=START, end=NOW)
NAMES = tuple(NodeName(node=node, aliases=(host_of(node),)) for node in NODES)
ENDPOINT = f"https://aps-workspaces.{REGION}.amazonaws.com/workspaces/{WORKSPACE}/"
OTHER = "ws-99999999-1111-2222-3333-444455556666"


def workspace(world: World, window: Window = WINDOW) -> Workspace:
    address = WorkspaceAddress(workspace=WORKSPACE, region=REGION)
    return Workspace(world, address, window)


def world_of(*series: list[Stored]) -> World:
    return World(hyperpod(), [one for own in series for one in own])


@pytest.mark.parametrize(
    ("configuration", "found"),
    [
        pytest.param(
            f'{{"ampWorkspace":{{"prometheusEndpoint":"{ENDPOINT}","arn":"x"}}}}',
            [(WORKSPACE, REGION)],
            id="JSON",
        ),
        pytest.param(
            f"ampWorkspace:\n  prometheusEndpoint: {ENDPOINT}api/v1/remote_write\n",
            [(WORKSPACE, REGION)],
            id="YAML, a remote write URL",
        ),
        pytest.param(
            ENDPOINT.replace(REGION, "eu-west-1"), [(WORKSPACE, "eu-west-1")], id="another region"
        ),
    ],
)
def test_the_add_ons_own_workspace_is_taken_without_a_listing(
    configuration: str, found: list[tuple[str, str]]
) -> None:
    world = World(hyperpod(), addon=configuration)
    answer = find_workspaces(world, REGION, EKS)
    assert [(one.workspace, one.region) for one in answer.workspaces] == found
    assert world.count("amp:") == 0


@pytest.mark.parametrize(
    "endpoint",
    [
        f"https://evil.test/workspaces/{WORKSPACE}/",
        ENDPOINT.replace("https", "http"),
        ENDPOINT.replace("amazonaws.com", "amazonaws.com.evil.test"),
        ENDPOINT.replace("amazonaws.com/", "amazonaws.com:444/"),
        ENDPOINT.replace(WORKSPACE, "ws-../x"),
    ],
)
def test_an_endpoint_that_is_none_of_aws_is_refused_and_said_so(endpoint: str) -> None:
    world = World(hyperpod(), addon=f"prometheusEndpoint: {endpoint}", workspaces=())
    answer = find_workspaces(world, REGION, EKS)
    assert answer.workspaces == ()
    assert answer.refused == (endpoint,)


def test_without_an_add_on_the_workspaces_of_the_region_are_looked_into() -> None:
    world = World(hyperpod(), workspaces=(WORKSPACE, OTHER))
    answer = find_workspaces(world, REGION, None)
    assert [one.workspace for one in answer.workspaces] == [WORKSPACE, OTHER]
    assert answer.unread == ()


def test_a_denied_add_on_and_a_denied_listing_are_both_said() -> None:
    denied = ("AccessDeniedException", 403)
    world = World(hyperpod(), errors={"eks:DescribeAddon": denied, "amp:ListWorkspaces": denied})
    answer = find_workspaces(world, REGION, EKS)
    assert answer.workspaces == ()
    assert [one.reason for one in answer.unread] == [Reason.DENIED, Reason.DENIED]


def labelled(value: str, label: str, **rest: str) -> list[Stored]:
    return [Stored(UTIL, {label: value, "gpu": "0", **rest}, every_minute(START, NOW, 50))]


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("Hostname", "ip-10-0-0-1.us-west-2.compute.internal"),
        ("Hostname", "ip-10-0-0-1"),
        ("Hostname", "IP-10-0-0-1"),
        ("instance", "10.0.0.1:9400"),
        ("instance", "10.0.0.1"),
        ("instance", NODES[0]),
        ("node", f"hyperpod-{NODES[0]}"),
        ("Node", "ip-10-0-0-1.other.internal"),
        ("kubernetes_node", f"hyperpod-{NODES[0]}.cluster.local"),
        ("instance_id", NODES[0]),
    ],
)
def test_a_node_is_known_by_whatever_its_label_calls_it(label: str, value: str) -> None:
    answer = find_nodes(workspace(world_of(labelled(value, label))), UTIL, NAMES)
    assert answer.value is not None
    assert (answer.value.label, answer.value.nodes) == (label, (NODES[0],))


@pytest.mark.parametrize(
    "value", ["10.0.0.9:9400", "ip-10-0-0-12", "i-0ffffffffffffffff", "10.0.0", "", "localhost"]
)
def test_a_value_that_is_no_nodes_names_nobody(value: str) -> None:
    answer = find_nodes(workspace(world_of(labelled(value, "instance"))), UTIL, NAMES)
    assert (answer.status, answer.value) == (Status.OK_EMPTY, None)


def test_a_name_that_two_nodes_share_names_neither() -> None:
    table = name_table(
        [NodeName(node="i-1", aliases=("a", "b")), NodeName(node="i-2", aliases=("a",))]
    )
    assert (node_of("a", table), node_of("b", table)) == (None, "i-1")


def test_the_label_that_names_most_nodes_wins_over_a_more_telling_one() -> None:
    series = [
        Stored(
            UTIL,
            {"Hostname": "exporter-pod-x", "instance": f"10.0.0.{n}:9400", "gpu": "0"},
            every_minute(START, NOW, 1),
        )
        for n in range(1, 5)
    ]
    answer = find_nodes(workspace(world_of(series)), UTIL, NAMES)
    assert answer.value is not None
    assert (answer.value.label, answer.value.nodes) == ("instance", NODES)


def test_devices_are_told_apart_by_the_labels_that_exist_and_matched_exactly() -> None:
    efa = [
        Stored(
            "node_amazonefa_rx_drops",
            {"instance": "10.0.0.1:9100", "device": device, "port": "1"},
            every_minute(START, NOW, value),
        )
        for device, value in (("rdmap16s2", 1.0), ("rdmap16s27", 2.0))
    ]
    space = workspace(world_of(efa))
    label = find_nodes(space, "node_amazonefa_rx_drops", NAMES).value
    assert label is not None
    assert label.devices == ("device", "port")
    numbers = read_numbers(space, "latest", label, ("node_amazonefa_rx_drops",)).value or ()
    assert {one.device: one.value for one in numbers} == {"rdmap16s2": 1.0, "rdmap16s27": 2.0}


def test_no_series_is_not_collected_and_never_zero() -> None:
    space = workspace(world_of(gpus_of(NODES[0], UTIL, 5, start=START, end=NOW)))
    answer = find_nodes(space, XID, NAMES)
    assert (answer.status, answer.value) == (Status.OK_EMPTY, None)
    label = find_nodes(space, UTIL, NAMES).value
    assert label is not None
    numbers = read_numbers(space, "latest", label, (XID,))
    assert (numbers.status, numbers.value) == (Status.OK_EMPTY, ())


def test_a_step_without_a_sample_is_a_gap_and_the_grid_is_the_epochs() -> None:
    gap = (NOW - timedelta(minutes=60), NOW - timedelta(minutes=30))
    series = gpus_of(NODES[0], UTIL, 40, start=START, end=NOW, gpus=[0])
    points = [(at, v) for at, v in series[0].points if not gap[0] <= at < gap[1]]
    world = world_of([Stored(UTIL, series[0].labels, points)])
    window = Window(start=START + timedelta(seconds=17), end=NOW - timedelta(seconds=1))
    label = find_nodes(workspace(world, window), UTIL, NAMES).value
    assert label is not None
    answer = read_over_time(workspace(world, window), "highs", label, UTIL, step=300)
    assert answer.value is not None
    (one,) = answer.value
    assert one.start.timestamp() % 300 == 0
    assert len(one.values) == 24
    # The period from 10:55 holds the sample at 11:00 no more: it was left out with the gap.
    assert [value is None for value in one.values] == [False] * 12 + [True] * 5 + [False] * 7
    assert one.name.of("InstanceId") == NODES[0]
    assert one.name.of("GpuId") == "0"


def test_a_long_window_is_asked_in_parts_that_prometheus_answers() -> None:
    start = NOW - timedelta(days=10)
    world = world_of(gpus_of(NODES[0], XID, 0, start=start, end=NOW, gpus=[0]))
    window = Window(start=start, end=NOW)
    label = find_nodes(workspace(world, window), XID, NAMES).value
    assert label is not None
    answer = read_over_time(workspace(world, window), "lasts", label, XID, step=60)
    assert answer.value is not None
    (one,) = answer.value
    assert len(one.values) == 10 * 1440
    assert None not in one.values
    asked = [params for op, params in world.asked if op == "prometheus:QueryRange"]
    points = [(p["end"] - p["start"]).total_seconds() / p["step"] + 1 for p in asked]
    assert len(points) == 2
    assert max(points) <= 11_000


def test_many_nodes_are_asked_in_lists_that_a_query_may_hold() -> None:
    hosts = [f"ip-10-{n // 250}-{n % 250}-7" for n in range(600)]
    names = tuple(NodeName(node=f"i-{n:017x}", aliases=(host,)) for n, host in enumerate(hosts))
    series = [
        Stored(UTIL, {"Hostname": host, "gpu": "0"}, [(NOW - timedelta(minutes=1), 7.0)])
        for host in hosts
    ]
    world = world_of(series)
    label = find_nodes(workspace(world), UTIL, names).value
    assert label is not None
    numbers = read_numbers(workspace(world), "highest", label, (UTIL,)).value or ()
    assert len({one.node for one in numbers}) == 600
    sizes = [len(p["nodes"]) for op, p in world.asked if "nodes" in p and op.endswith(":Query")]
    assert sizes == [256, 256, 88]


def test_a_part_that_fails_leaves_the_answer_partial_with_its_reason() -> None:
    world = world_of(gpus_of(NODES[0], UTIL, 5, start=START, end=NOW))
    label = find_nodes(workspace(world), UTIL, NAMES).value
    assert label is not None
    world.errors["prometheus:Query"] = ("ThrottlingException", 429)
    answer = read_numbers(workspace(world), "highest", label, (UTIL,))
    assert (answer.status, answer.reason, answer.value) == (
        Status.UNVERIFIED,
        Reason.THROTTLED,
        None,
    )


@pytest.mark.parametrize(
    ("hours", "devices", "step"),
    [(1, 8, 60), (24, 128, 60), (24, 8 * 1024, 900), (24 * 30, 128, 300), (24 * 30, 8_192, 3600)],
)
def test_steps_grow_with_what_is_asked_for(hours: int, devices: int, step: int) -> None:
    window = Window(start=NOW - timedelta(hours=hours), end=NOW)
    assert step_for(window, devices) == step


@pytest.mark.parametrize("template", sorted(TEMPLATES))
@pytest.mark.parametrize("metric", ["DCGM_FI_DEV_GPU_UTIL", "kube_node_status_condition"])
def test_every_template_is_filled_whole_with_listed_names(template: str, metric: str) -> None:
    params = {
        "template": template,
        "metric": metric,
        "by": ["Hostname", "gpu"],
        "label": "Hostname",
        "nodes": ["ip-10-0-0-7.us-west-2.compute.internal", "b:9400"],
        "span": 3600,
        "step": 60,
    }
    text = query_text(TEMPLATES[template].operation, params)
    assert "$" not in text
    assert metric in text
    assert text.count("(") == text.count(")")
    if "$match" in TEMPLATES[template].text:
        assert r'Hostname=~"ip-10-0-0-7\\.us-west-2\\.compute\\.internal|b:9400"' in text
    is_of_ready = metric == "kube_node_status_condition" and "{" in text
    assert ('condition="Ready",status="true"' in text) == is_of_ready


def test_several_metrics_are_one_query_that_keeps_their_names_apart() -> None:
    params = {
        "template": "grown",
        "metrics": [UTIL, XID],
        "by": ["Hostname", "gpu"],
        "label": "Hostname",
        "nodes": ["a"],
        "span": 3600,
        "step": 60,
    }
    parts = [
        f'label_replace(increase({one}{{Hostname=~"a"}}[3600s:60s]), "counted", "{one}", "", "")'
        for one in (UTIL, XID)
    ]
    assert query_text("Query", params) == (
        f"sum by (counted, Hostname, gpu) ({parts[0]} or {parts[1]})"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"metrics": []},
        {"metrics": [UTIL] * 17},
        {"metrics": ["up"]},
        {"metric": UTIL},
        {"template": "changed"},
        {"metrics": UTIL},
    ],
)
def test_a_list_of_metrics_is_bounded_listed_and_for_templates_that_fold(
    change: dict[str, Any],
) -> None:
    params = {"template": "grown", "metrics": [UTIL], "by": [], "span": 60, "step": 60}
    assert query_text("Query", params).startswith("sum by (counted) (")
    with pytest.raises(NotReadOnly):
        query_text("Query", {**params, **change})


def test_each_metric_of_a_query_keeps_its_own_numbers_and_one_that_is_missing_is_left_out() -> None:
    world = world_of(
        gpus_of(NODES[0], UTIL, 40, start=START, end=NOW, gpus=[0]),
        gpus_of(NODES[0], XID, 31, start=START, end=NOW, gpus=[0]),
    )
    label = find_nodes(workspace(world), UTIL, NAMES).value
    assert label is not None
    metrics = (UTIL, XID, "DCGM_FI_DEV_ROW_REMAP_FAILURE")
    numbers = read_numbers(workspace(world), "latest", label, metrics).value or ()
    assert {one.metric: one.value for one in numbers} == {UTIL: 40.0, XID: 31.0}


def test_a_query_touches_no_more_samples_than_a_server_allows() -> None:
    month = Window(start=NOW - timedelta(days=30), end=NOW)
    world = world_of(gpus_of(NODES[0], UTIL, 1, start=NOW - timedelta(hours=1), end=NOW, gpus=[0]))
    label = find_nodes(workspace(world, month), UTIL, NAMES).value
    assert label is not None
    many = label.model_copy(update={"values": tuple((f"n{n}", f"i-{n}") for n in range(256))})
    read_numbers(workspace(world, month), "grown", many, (UTIL, XID))
    _, params = world.asked[-1]
    touched = 256 * 8 * 2 * params["span"] / params["step"]
    assert touched <= 20_000_000


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.sampled_from(["template", "metric", "by", "label", "nodes"]))
def test_nothing_but_listed_names_gets_into_a_query(text: str, place: str) -> None:
    params: dict[str, Any] = {
        "template": "highs",
        "metric": UTIL,
        "by": ["Hostname"],
        "label": "Hostname",
        "nodes": ["a"],
        "step": 60,
    }
    params[place] = [text] if place in {"by", "nodes"} else text
    listed = {"template": TEMPLATES, "metric": METRICS, "label": (*NODE_LABELS, *DEVICE_LABELS)}
    try:
        query = query_text("QueryRange", params)
    except NotReadOnly:
        return
    if place == "nodes":
        assert is_node_value(text)
    else:
        assert text in listed.get(place, (*NODE_LABELS, *DEVICE_LABELS))
    assert query.count('"') == 2


def reads_of_a_question(nodes: int) -> int:
    """Return how often a workspace is asked about all it has of so many nodes."""
    hosts = [f"ip-10-{n // 250}-{n % 250}-7" for n in range(nodes)]
    known = [
        CaseNode(node=f"i-{n:017x}", host=host, aliases=(host,)) for n, host in enumerate(hosts)
    ]
    at = NOW - timedelta(minutes=1)
    metrics = (UTIL, XID, "node_amazonefa_rx_drops", "kube_node_status_condition")
    world = world_of(
        [Stored(one, {"node": host, "gpu": "0"}, [(at, 1.0)]) for one in metrics for host in hosts]
    )
    case = case_of(world)
    window = Window(start=NOW - timedelta(hours=1), end=NOW)
    assert len(read_activity(case, window, known).series) == nodes
    assert len(read_faults(case, window, known).nodes) == nodes
    read_efa(case, window, known)
    return world.count("prometheus:")


def test_reads_grow_with_lists_of_nodes_and_not_with_nodes() -> None:
    few, as_many_as_a_list, three_lists = map(reads_of_a_question, (4, 256, 600))
    assert few == as_many_as_a_list <= 25
    assert three_lists <= 2 * few
