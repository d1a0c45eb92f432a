"""Stand-ins over a whole recording: of the same shape, joined as before, and back."""

import ipaddress
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.record.pseudonyms import Pseudonyms
from gpuvet.record.sightings import Sightings
from gpuvet.record.vocabulary import is_field_word
from gpuvet.record.walk import Role, walked

HEX = "0123456789abcdef"
KEYS = st.binary(min_size=16, max_size=32)
KINDS = {
    "instance": (st.text(HEX, min_size=17, max_size=17).map("i-{}".format), r"i-[0-9a-f]{17}"),
    "subnet": (st.text(HEX, min_size=8, max_size=8).map("subnet-{}".format), r"subnet-[0-9a-f]{8}"),
    "uuid": (st.uuids(version=4).map(str), r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "gpu": (st.uuids(version=4).map("GPU-{}".format), r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-\w{12}"),
    "private": (
        st.ip_addresses(v=4, network="10.0.0.0/8").map(str),
        r"10(\.\d{1,3}){3}",
    ),
    "public": (
        st.ip_addresses(v=4, network="54.0.0.0/8").map(str),
        r"\d{2}(\.\d{1,3}){3}",
    ),
    "principal": (
        st.text("ABCDEFGHXYZ234567", min_size=17, max_size=17).map("AROA{}".format),
        r"AROA[A-Z0-9]{17}",
    ),
}


def of(*values: Any, key: bytes = b"k" * 16) -> Pseudonyms:  # noqa: ANN401 (any JSON)
    """Return the stand-ins for what some replies hold."""
    seen = Sightings()

    def learn(text: str, role: Role) -> str:
        seen.learn(text, role)
        return text

    for value in values:
        walked(value, learn)
    return Pseudonyms.of(seen, key)


@pytest.mark.parametrize("kind", KINDS)
def test_identifiers_keep_shape_and_order_and_come_back(kind: str) -> None:
    values, shape = KINDS[kind]

    @settings(max_examples=25, deadline=None)
    @given(found=st.sets(values, min_size=1, max_size=30), key=KEYS)
    def holds(found: set[str], key: bytes) -> None:
        pseudonyms = of(*found, key=key)
        becomes = {one: pseudonyms.text(one) for one in found}
        assert all(re.fullmatch(shape, stand_in) for stand_in in becomes.values())
        assert len(set(becomes.values())) == len(found)
        assert sorted(found) == sorted(found, key=lambda one: becomes[one])
        assert {one: pseudonyms.restored(stand_in) for one, stand_in in becomes.items()} == {
            one: one for one in found
        }
        assert [len(one) for one in found] == [len(becomes[one]) for one in found]

    holds()


@settings(max_examples=40, deadline=None)
@given(
    found=st.sets(st.ip_addresses(v=4).map(str), min_size=1, max_size=40),
    key=KEYS,
)
def test_addresses_stay_addresses_in_their_order(found: set[str], key: bytes) -> None:
    known = {one for one in found if not one.startswith("0.")}
    pseudonyms = of(*known, key=key)
    numbers = sorted(known, key=ipaddress.IPv4Address)
    assert numbers == sorted(known, key=lambda one: ipaddress.IPv4Address(pseudonyms.text(one)))
    for one in known:
        host = f"ip-{one.replace('.', '-')}"
        assert pseudonyms.text(host) == f"ip-{pseudonyms.text(one).replace('.', '-')}"


@settings(max_examples=40, deadline=None)
@given(
    bits=st.sampled_from([16, 20, 24, 26]),
    number=st.integers(0, 2**32),
    hosts=st.sets(st.integers(0, 2**32), min_size=1, max_size=8),
    key=KEYS,
)
def test_blocks_stay_blocks_and_whole_ones_hold_what_they_held(
    bits: int, number: int, hosts: set[int], key: bytes
) -> None:
    start = (10 << 24 | number % 2**24) >> 32 - bits << 32 - bits
    block = ipaddress.IPv4Network((start, bits))
    inside = [str(ipaddress.IPv4Address(start + host % block.num_addresses)) for host in hosts]
    pseudonyms = of(str(block), *inside, key=key)
    changed = ipaddress.IPv4Network(pseudonyms.text(str(block)))  # strict: raises for host bits
    assert changed.prefixlen == bits
    if bits in {16, 24}:
        assert all(ipaddress.IPv4Address(pseudonyms.text(host)) in changed for host in inside)
    assert pseudonyms.restored(str(changed)) == str(block)


@pytest.mark.parametrize(
    "text", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "0.0.0.0/0"]
)
def test_the_private_ranges_as_a_whole_stay(text: str) -> None:
    assert of(text, "10.0.0.0/16", "192.168.0.0/24").text(text) == text


NAMES = st.from_regex(r"[a-z]{3,8}(-[a-z0-9]{1,6}){0,3}", fullmatch=True)


@settings(max_examples=50, deadline=None)
@given(names=st.sets(NAMES, min_size=1, max_size=12), key=KEYS)
def test_names_are_the_same_wherever_they_stand(names: set[str], key: bytes) -> None:
    replies = [{"ClusterName": name} for name in sorted(names)]
    pseudonyms = of(*replies, key=key)
    for name in names:
        stand_in = pseudonyms.text(name, Role.NAME)
        group = f"/aws/sagemaker/Clusters/{name}/x"
        assert pseudonyms.text(group, Role.PATH) == group.replace(f"/{name}/", f"/{stand_in}/")
        arn = f"arn:aws:eks:us-west-2:111122223333:cluster/{name}"
        assert pseudonyms.text(arn).endswith(f"cluster/{stand_in}")
        record = {"userName": "x", "requestParameters": {"clusterName": name}}
        inner = json.loads(
            pseudonyms.value({"CloudTrailEvent": json.dumps(record)})["CloudTrailEvent"]
        )
        assert inner["requestParameters"]["clusterName"] == stand_in
        assert pseudonyms.restored(stand_in) == name


PARTS = st.sampled_from(
    ["gpu", "kernel", "node", "train", "trainer", "zed", "z9", "acme", "b2", "7"]
)
COMPOSED = st.lists(PARTS, min_size=1, max_size=4).map("-".join)


@settings(max_examples=80, deadline=None)
@given(names=st.sets(COMPOSED | NAMES, min_size=2, max_size=12), key=KEYS)
def test_names_sort_as_before_also_where_words_of_the_field_stay(
    names: set[str], key: bytes
) -> None:
    # One of which nothing would change changes as a whole, and has no order among the others.
    mixed = {
        name
        for name in names
        if not all(is_field_word(word) or word.isdigit() for word in name.split("-"))
    }
    pseudonyms = of(*({"ClusterName": name} for name in sorted(mixed)), key=key)
    becomes = {name: pseudonyms.text(name, Role.NAME) for name in mixed}
    assert sorted(mixed) == sorted(mixed, key=lambda name: becomes[name])
    assert len(set(becomes.values())) == len(mixed)
    assert {pseudonyms.restored(becomes[name]) for name in mixed} == mixed


@settings(max_examples=50, deadline=None)
@given(names=st.sets(NAMES, min_size=2, max_size=12), key=KEYS)
def test_putting_back_twice_changes_nothing_more(names: set[str], key: bytes) -> None:
    pseudonyms = of(*({"ClusterName": name} for name in sorted(names)), key=key)
    text = " | ".join(sorted(names))
    once = pseudonyms.restored(pseudonyms.text(text, Role.NAME))
    assert once == text
    assert pseudonyms.restored(once) == text


REPLY: dict[str, Any] = {
    "ClusterName": "zorblax-prod",
    "ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/hq7tw2m9x4cd",
    "Instances": [
        {"InstanceId": "i-0f3c9a7be21d45680", "PrivateIpAddress": "10.61.43.117"},
        {"InstanceId": "i-0f3c9a7be21d45690", "PrivateIpAddress": "10.61.43.118"},
    ],
    "logStreamName": "kernel/i-0f3c9a7be21d45680",
    "Username": "quillon.vex",
}
P = of(REPLY)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\x1b[31mi-0f3c9a7be21d45680\x1b[0m", id="colours"),
        pytest.param("$252Fzorblax-prod$252Fi-0f3c9a7be21d45680", id="a console's link"),
        pytest.param("one#012zorblax-prod", id="rsyslog's escapes"),
        pytest.param("a\\nzorblax-prod\\ni-0f3c9a7be21d45680", id="escapes of JSON"),
        pytest.param("hyperpod-i-0f3c9a7be21d45680", id="a longer name"),
        pytest.param("zorblax\\-prod", id="escapes of Markdown"),
        pytest.param("[10.61.43.117]:8080,10.61.43.118/32", id="ports and blocks"),
        pytest.param("quillon.vex@zorblax-prod", id="a mail"),
    ],
)
def test_originals_are_found_in_any_encoding_and_come_back(text: str) -> None:
    changed = P.text(text)
    assert not any(own in changed for own in ("zorblax", "quillon", "0f3c9a7be21d4", "61.43"))
    assert P.restored(changed) == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("NVRM: Xid (PCI:0000:53:00): 79, GPU has fallen off the bus", id="an Xid"),
        pytest.param("driver 535.129.03, NCCL version 2.19.3.1, at 12:34:56.789", id="versions"),
        pytest.param("0.0.0.0/0 127.0.0.1 169.254.169.254 255.255.255.255", id="everybody's"),
        pytest.param("std::vector<c10d::Work> at::Tensor 00:1e.0", id="C++ and a bus"),
        pytest.param("p5.48xlarge us-west-2b ml.p4d.24xlarge 1771.5 GiB 20260302", id="AWS's"),
        pytest.param("/aws/sagemaker/Clusters SagemakerHealthMonitoringAgent kernel", id="names"),
    ],
)
def test_what_names_nobody_stays(text: str) -> None:
    assert of({"m": text}, REPLY).text(text) == text


def test_a_value_cut_short_becomes_as_much_of_its_stand_in() -> None:
    whole = P.text("arn:aws:sagemaker:us-west-2:111122223333:cluster/hq7tw2m9x4cd")
    cut = P.text("arn:aws:sagemaker:us-west-2:111122 …[cut]")
    assert cut == f"{whole[:34]} …[cut]"
    assert P.restored(cut) == "arn:aws:sagemaker:us-west-2:111122 …[cut]"
    assert P.text("i-0f3c9a7be2") == P.text("i-0f3c9a7be21d45680")[:12]


def test_an_account_shown_by_its_end_comes_back() -> None:
    accounts = [
        f"arn:aws:eks:us-west-2:{number}:cluster/c" for number in ("111122223333", "123456789012")
    ]
    pseudonyms = of(*accounts)
    ends = [pseudonyms.text(arn).split(":")[4][-4:] for arn in accounts]
    assert len(set(ends)) == 2
    assert pseudonyms.restored(f"accounts …{ends[0]} and …{ends[1]}") == "accounts …3333 and …9012"


def test_a_name_that_is_a_word_of_ours_stays_in_running_text_and_goes_where_names_stand() -> None:
    pseudonyms = of({"ClusterName": "remaining"})
    assert pseudonyms.text("kernel: 5 remaining at step 3") == "kernel: 5 remaining at step 3"
    assert pseudonyms.text("remaining", Role.NAME) != "remaining"
    assert pseudonyms.text('{"cluster":"remaining"}') != '{"cluster":"remaining"}'


def test_the_map_as_json_puts_everything_back() -> None:
    stored = json.loads(json.dumps(P.pairs()))
    changed = json.dumps(P.value(REPLY))
    assert Pseudonyms.from_pairs(stored).restored(changed) == json.dumps(REPLY)


FIELD = sorted((Path(__file__).parents[2] / "cases" / "field").iterdir())


@pytest.mark.parametrize("folder", FIELD, ids=lambda path: path.name[:2])
def test_every_line_of_a_log_comes_back(folder: Path) -> None:
    files = [path for path in folder.rglob("*.log") if path.is_file()]
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    pseudonyms = of({"ClusterName": "train-a"}, *lines)
    assert [pseudonyms.restored(pseudonyms.text(line)) for line in lines] == lines
