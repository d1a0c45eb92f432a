"""NVLink events: Xid 74 registers, 136, 137, 144 to 150, 155 (verdict-rules §6, §9, §10)."""

import pytest
from node_world import GPU, GPU2, GPU3, days, gpu, judged, reboot, xid

from gpuvet.model.cluster import NodeFacts
from gpuvet.model.events import AnyRecord, XidEvent

B200 = "p6-b200.48xlarge"
ACTION = "GPU recovery action changed from 0x0 (None) to "


def x74(
    registers: dict[int, int], seconds: float = 0, *, link: int = 6, pci: str = GPU
) -> XidEvent:
    """Return an Xid 74 with these values in its registers, by register number."""
    words = ", ".join(f"{registers.get(n, 0):#x}" for n in range(1, 8))
    text = f"NVLink: fatal error detected on link {link}({words})"
    return xid(74, text, seconds, pci=pci)


def bit(number: int) -> int:
    return 1 << number


def again(*events: AnyRecord) -> list[AnyRecord]:
    """Return events of a day before and of now, with a reboot in between."""
    first, *rest = events
    return [first, reboot(-3600), *rest]


@pytest.mark.parametrize(
    ("register", "bits", "first", "after_reboot"),
    [
        pytest.param(1, (0, 23, 30), "MONITOR", "MONITOR", id="ignorable"),
        pytest.param(1, (1, 20), "UNVERIFIED", "UNVERIFIED", id="secondary and alone"),
        pytest.param(1, (4, 5), "REBOOT", "REPLACE", id="ECC or parity, first register"),
        pytest.param(1, (8, 9, 12, 16, 17, 24, 28), "REBOOT", "REPLACE", id="connection"),
        pytest.param(1, (21, 22), "REBOOT", "REPLACE", id="marginal signal"),
        pytest.param(1, (27, 29), "MONITOR", "UNVERIFIED", id="only if repeated"),
        pytest.param(3, (0, 1, 2, 6), "REBOOT", "REPLACE", id="ECC or parity, third register"),
        pytest.param(3, (13,), "UNVERIFIED", "UNVERIFIED", id="not expected"),
        pytest.param(3, (16, 19), "REBOOT", "REPLACE", id="diagnose if repeated"),
        pytest.param(3, (17, 18), "MONITOR", "UNVERIFIED", id="report if repeated"),
        pytest.param(4, (16, 17), "UNVERIFIED", "UNVERIFIED", id="secondary, fourth register"),
        pytest.param(4, (18,), "REBOOT", "REBOOT", id="secondary that needs the fabric reset"),
        pytest.param(
            5, (18, 19, 21, 22, 24, 25, 27, 28), "REBOOT", "REPLACE", id="ECC, fifth register"
        ),
        pytest.param(5, (20, 23, 26, 29), "MONITOR", "MONITOR", id="ECC limit passed"),
        pytest.param(1, (2, 31), "UNVERIFIED", "UNVERIFIED", id="a bit in no list"),
    ],
)
def test_every_register_bit_of_a_74_has_its_verdict(
    register: int, bits: tuple[int, ...], first: str, after_reboot: str
) -> None:
    for number in bits:
        line = {register: bit(number)}
        assert judged(x74(line)).verdict.value == first
        assert judged(*again(x74(line, -days(1)), x74(line))).verdict.value == after_reboot


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        pytest.param(
            [x74({1: bit(4)}, -1000), x74({1: bit(5)}, -500)],
            "REBOOT",
            id="two parity errors on one link",
        ),
        pytest.param(
            [x74({1: bit(4)}, -1000), x74({1: bit(5)}, -500), x74({3: bit(0)})],
            "REPLACE",
            id="three parity errors on one link",
        ),
        pytest.param(
            [x74({1: bit(4)}, -1000), x74({1: bit(4)}, -500), x74({1: bit(4)}, link=7)],
            "REBOOT",
            id="three parity errors on two links",
        ),
        pytest.param(
            [x74({1: bit(4)}, -2), x74({1: bit(4)}, -1), x74({1: bit(4)})],
            "REBOOT",
            id="three lines of one burst are one error",
        ),
        pytest.param(
            [x74({1: bit(27)}, -1000), x74({1: bit(27)})], "UNVERIFIED", id="repeated in one boot"
        ),
        pytest.param(
            again(x74({1: bit(8)}, -days(1)), x74({1: bit(8)}, link=7)),
            "REBOOT",
            id="another link before the reboot",
        ),
        pytest.param(
            again(x74({1: bit(8)}, -days(1), pci=GPU2), x74({1: bit(8)})),
            "REBOOT",
            id="another GPU before the reboot",
        ),
        pytest.param([x74({1: bit(0), 5: bit(18)})], "REBOOT", id="the highest of several bits"),
        pytest.param(
            [x74({1: bit(1), 5: bit(20)})],
            "MONITOR",
            id="a secondary bit says nothing beside the error it follows",
        ),
        pytest.param(
            [x74({1: bit(1), 3: bit(17)})], "MONITOR", id="nor beside one that counts if repeated"
        ),
        pytest.param([x74({1: bit(1), 2: 0xFFFF})], "UNVERIFIED", id="the second is meaningless"),
        pytest.param(
            [xid(74, "NVLink: fatal error detected on link 6")], "REBOOT", id="no registers"
        ),
        pytest.param(
            [xid(74, "NVLink: failed to train link 3 to remote PCI:0000:00:02")],
            "REBOOT",
            id="a link that did not train",
        ),
        pytest.param(
            again(
                xid(136, "Link training failed for link 4(0x1)", -days(1)), xid(136, "link 4(0x1)")
            ),
            "REPLACE",
            id="a 136 on the same link after a reboot",
        ),
        pytest.param(
            again(
                xid(136, "Link training failed for link 4(0x1)", -days(1)), xid(136, "link 7(0x1)")
            ),
            "REBOOT",
            id="a 136 on another link after a reboot",
        ),
        pytest.param([xid(137, "interrupt hit on link 11")], "LEAVE ALONE", id="a lone 137"),
        pytest.param(
            again(xid(137, "hit on link 11", -days(1)), xid(137, "hit on link 11")),
            "UNVERIFIED",
            id="a 137 that comes back on its link",
        ),
    ],
)
def test_links_of_hopper(records: list[AnyRecord], verdict: str) -> None:
    assert judged(*records).verdict.value == verdict


def x149(
    words: str, seconds: float = 0, *, link: int = 8, pci: str = GPU, more: str = "Fatal XC0 i0"
) -> XidEvent:
    text = f"NETIR_LINK_DOWN {more} Link {link:02} ({words} 0x00000000 0x0 0x0 0x0 0x0)"
    return xid(149, text, seconds, pci=pci)


OWN_SIGNAL = "0x00440411"  # row of INVESTIGATE_LINK_SI, RESET_GPU
PEER_DOWN = "0x02114511"  # row of INVESTIGATE_PEER_DEVICE


@pytest.mark.parametrize(
    ("records", "verdict", "least"),
    [
        pytest.param([x149(OWN_SIGNAL)], "REBOOT", "REBOOT", id="its own signal was bad"),
        pytest.param(
            again(x149(OWN_SIGNAL, -days(1)), x149(OWN_SIGNAL)),
            *("REPLACE", "REPLACE"),
            id="again on the same link after a reboot",
        ),
        pytest.param(
            again(x149(OWN_SIGNAL, -days(1)), x149(OWN_SIGNAL, link=9)),
            *("REBOOT", "REBOOT"),
            id="again on another link after a reboot",
        ),
        pytest.param(
            again(x149(OWN_SIGNAL, -days(15)), x149(OWN_SIGNAL)),
            *("REBOOT", "REBOOT"),
            id="again after more than 14 days",
        ),
        pytest.param([x149(PEER_DOWN)], "REBOOT", "REBOOT", id="the other end went down"),
        pytest.param(
            again(x149(PEER_DOWN, -days(1)), x149(PEER_DOWN)),
            *("UNVERIFIED", "REBOOT"),
            id="the other end went down again: look there",
        ),
        pytest.param(
            [x149(OWN_SIGNAL, more="Nonfatal XC0 i0")],
            *("MONITOR", "MONITOR"),
            id="the printed Nonfatal wins over the table",
        ),
        pytest.param([x149("0xffffffff")], "REBOOT", "REBOOT", id="undecoded and Fatal"),
        pytest.param(
            [x149("0xffffffff", more="Nonfatal XC0 i0")],
            *("MONITOR", "MONITOR"),
            id="undecoded and Nonfatal",
        ),
        pytest.param(
            [xid(149, "NETIR_LINK_DOWN Fatal XC0 i0 Link 08 (0x00440411", cut=True)],
            *("REBOOT", "REBOOT"),
            id="cut before its registers, with its word",
        ),
        pytest.param(
            [x149(OWN_SIGNAL, more="Fatal XC0 i1")],
            *("LEAVE ALONE", "none"),
            id="an injected test",
        ),
        pytest.param(
            again(x149(OWN_SIGNAL, -days(1), more="Fatal XC0 i1"), x149(OWN_SIGNAL)),
            *("REBOOT", "REBOOT"),
            id="an injected test is no first occurrence",
        ),
        pytest.param(
            [xid(45, "Ch 1 caused by previous Xid 149")],
            *("REBOOT", "REBOOT"),
            id="a 149 that only a 45 names",
        ),
        pytest.param(
            [xid(45, "Ch 1", root=148)],
            *("UNVERIFIED", "MONITOR"),
            id="a 148 that only a 45 names",
        ),
        pytest.param(
            [xid(45, "Ch 1", root=148), xid(154, ACTION + "0x1 (GPU Reset Required)", 100)],
            *("REBOOT", "REBOOT"),
            id="a 148 that only a 45 names, and the action the driver asks for",
        ),
        pytest.param([xid(155, "event")], "MONITOR", "MONITOR", id="a software-defined link event"),
        pytest.param(
            again(xid(155, "event", -days(1)), xid(155, "event")),
            *("UNVERIFIED", "MONITOR"),
            id="a software-defined link event that comes back",
        ),
        pytest.param(
            [
                xid(137, "RLW_RXPIPE interrupt hit on link 8 on GPU0: PRIV Error"),
                x149(OWN_SIGNAL, 5),
            ],
            *("REBOOT", "REBOOT"),
            id="a 137 within 5 s of a link-down on its link follows that decode",
        ),
    ],
)
def test_links_of_blackwell(records: list[AnyRecord], verdict: str, least: str) -> None:
    records = [
        r.model_copy(update={"root": 149})
        if isinstance(r, XidEvent) and "caused by previous Xid 149" in r.text
        else r
        for r in records
    ]
    found = judged(*records, instance_type=B200)
    assert (found.verdict.value, found.minimum_action) == (verdict, least)


FOLLOWS = "RLW_REMAP Fatal XC0 i0 Link 08 (0x00000004 0x00000001 0x0 0x0 0x0 0x0)"


@pytest.mark.parametrize(
    ("to", "seconds", "verdict", "least"),
    [
        pytest.param("0x1 (GPU Reset Required)", 59, "REBOOT", "REBOOT", id="a reset"),
        pytest.param("0x3 (Drain P2P)", 5, "UNVERIFIED", "stop peer jobs", id="a drain"),
        pytest.param("0x1 (GPU Reset Required)", 500, "REBOOT", "REBOOT", id="a later reset"),
        pytest.param("0x0 (None)", 5, "LEAVE ALONE", "none", id="nothing"),
    ],
)
def test_a_row_that_follows_the_154_takes_its_value(
    to: str, seconds: float, verdict: str, least: str
) -> None:
    records = [xid(145, FOLLOWS), xid(154, ACTION + to, seconds)]
    found = judged(*records, instance_type=B200)
    assert (found.verdict.value, found.minimum_action) == (verdict, least)


def test_a_155_with_links_down_needs_the_reboot() -> None:
    facts = NodeFacts(gpus=(gpu(fabric_state="In Progress"),))
    assert judged(xid(155, "event"), facts=facts, instance_type=B200).verdict == "REBOOT"


def test_five_gpus_that_point_at_a_sixth_are_its_consequences() -> None:
    others = [x149(PEER_DOWN, n / 1000, pci=pci) for n, pci in enumerate((GPU2, GPU3), start=1)]
    found = judged(x149(OWN_SIGNAL), *others, instance_type=B200)
    assert found.cause is not None
    assert (found.verdict, found.cause.pci) == ("REBOOT", GPU)
    assert [g.pci for g in found.grounds] == [GPU]


def test_a_printed_word_against_the_table_is_a_contradiction() -> None:
    found = judged(x149(OWN_SIGNAL, more="Nonfatal XC0 i0"), instance_type=B200)
    assert "the printed word wins" in found.contradictions[0]


def test_an_event_known_only_from_another_is_provisional() -> None:
    found = judged(xid(45, "Ch 1", root=149), instance_type=B200)
    assert (found.confidence, found.fault_class) == ("provisional", "software_link")
