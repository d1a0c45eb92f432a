"""Consequences are put aside (verdict-rules §4)."""

import pytest
from node_world import GPU, GPU2, NODE, at, judged, next_line, node_of, sxid, xid

from gpuvet.calculators.events import prepare_events
from gpuvet.calculators.sympathy import put_aside
from gpuvet.model.events import AnyRecord, Shutdown, TimeQuality

PEER = "NETIR_LINK_DOWN Fatal XC0 i0 Link 01 (0x02114511 0x0 0x0 0x0 0x0 0x0)"
OWN = "NETIR_LINK_DOWN Fatal XC0 i0 Link 08 (0x00440411 0x0 0x0 0x0 0x0 0x0)"
ECHO = "RLW_REMAP Nonfatal XC0 i0 Link 01 (0x00000004 0x00000008 0x0 0x0 0x0 0x0)"
LINK = "NVLink: fatal error detected on link 6"
SECONDARY = "NVLink: fatal error detected on link 6(0x2, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
PRIMARY = "NVLink: fatal error detected on link 6(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"


def shutdown(seconds: float) -> Shutdown:
    return Shutdown(
        node=NODE,
        stream="messages",
        line=next_line(),
        raw="Power key pressed short.",
        at=at(seconds),
        time_quality=TimeQuality.EXACT,
    )


def aside(*records: AnyRecord, left_at: float | None = None) -> set[tuple[int, str | None]]:
    node = node_of(*records, left_at=None if left_at is None else at(left_at))
    events = prepare_events(node)
    by_code = {
        code: [o for o in events.occurrences if o.code == code]
        for code in {o.code for o in events.occurrences}
    }
    found = put_aside(events.occurrences, by_code, node, events.clock)
    return {(occurrence.code, occurrence.pci) for occurrence, _ in found}


CASES = [
    ("a 43 up to 300 s after any Xid", xid(31, "x", -300, pci=GPU2), xid(43, "Ch"), True),
    ("a 43 over 300 s after", xid(31, "x", -301, pci=GPU2), xid(43, "Ch"), False),
    ("a 43 before", xid(31, "x", 1), xid(43, "Ch"), False),
    ("a 43 after a 154", xid(154, "to 0x1", -5), xid(43, "Ch"), False),
    ("a 43 after a 45", xid(45, "Ch", -5), xid(43, "Ch"), False),
    ("a 45 after a 79", xid(79, "x", -5), xid(45, "Ch"), True),
    ("a 45 that names the 79, much later", xid(79, "x", -4000), xid(45, "Ch", root=79), True),
    ("a 119 up to 300 s after a 79 of its GPU", xid(79, "x", -300), xid(119, "x"), True),
    ("a 119 over 300 s after", xid(79, "x", -301), xid(119, "x"), False),
    ("a 119 after another GPU's 79", xid(79, "x", -5, pci=GPU2), xid(119, "x"), False),
    ("a 74 up to 60 s after another GPU's 79", xid(79, "x", -60, pci=GPU2), xid(74, LINK), True),
    ("a 74 up to 30 s before it", xid(79, "x", 30, pci=GPU2), xid(74, LINK), True),
    ("a 74 over 30 s before it", xid(79, "x", 31, pci=GPU2), xid(74, LINK), False),
    ("a 74 after its own GPU's 79", xid(79, "x", -5), xid(74, LINK), False),
    *(
        (f"a 74 after another GPU's {c}", xid(c, "x", -5, pci=GPU2), xid(74, LINK), True)
        for c in (46, 62, 95, 110, 119, 140, 143, 158)
    ),
    ("a 74 after another GPU's 94", xid(94, "x", -5, pci=GPU2), xid(74, LINK), False),
    ("a 74 after a fatal SXid", sxid(22011, -60, fatal=True), xid(74, LINK), True),
    ("a 74 after an SXid listed as fatal", sxid(22011, -60), xid(74, LINK), True),
    ("a 74 after a Non-fatal SXid", sxid(22011, -60, fatal=False), xid(74, LINK), False),
    ("a peer's 149 beside the origin", xid(149, OWN, 1, pci=GPU2), xid(149, PEER), True),
    ("the origin beside a peer's 149", xid(149, PEER, 1, pci=GPU2), xid(149, OWN), False),
    ("a 74 that follows another's bit", xid(74, PRIMARY, -5, pci=GPU2), xid(74, SECONDARY), True),
    ("a 74 that follows long after", xid(74, PRIMARY, -90, pci=GPU2), xid(74, SECONDARY), False),
    ("a 31 up to 30 s after a 48 of its GPU", xid(48, "x", -30), xid(31, "x"), True),
    ("a 31 over 30 s after", xid(48, "x", -31), xid(31, "x"), False),
    ("a 31 after another GPU's 48", xid(48, "x", -5, pci=GPU2), xid(31, "x"), False),
    *(
        (f"a 13 after a {c} of its GPU", xid(c, "x", -5), xid(13, "x"), True)
        for c in (48, 79, 95, 140)
    ),
    (
        "a 94 after another GPU's 48 keeps its verdict",
        xid(48, "x", -5, pci=GPU2),
        xid(94, "x"),
        False,
    ),
    ("a 145 of remapping after a link drop", xid(149, OWN, -30, pci=GPU2), xid(145, ECHO), True),
    ("a 145 of remapping over 30 s after", xid(149, OWN, -31, pci=GPU2), xid(145, ECHO), False),
    (
        "a 145 of remapping after a fatal link SXid",
        sxid(20034, -5, fatal=True, link=3),
        xid(145, ECHO),
        True,
    ),
    ("a 43 after the node began to go down", shutdown(-900), xid(43, "Ch"), True),
    ("a 43 up to 60 s before", shutdown(60), xid(43, "Ch"), True),
    ("a 43 over 60 s before", shutdown(61), xid(43, "Ch"), False),
]


@pytest.mark.parametrize(
    ("cause", "effect_of", "follows"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_an_event_follows_another_inside_its_window(
    cause: AnyRecord, effect_of: AnyRecord, follows: bool
) -> None:
    code = effect_of.model_dump()["code"]
    assert ((code, GPU) in aside(cause, effect_of)) == follows


def test_a_45_that_names_an_xid_follows_that_one_only() -> None:
    found = judged(xid(79, "x", -5, pci=GPU2), xid(45, "Ch", root=31))
    assert (
        "Xid 45 on 0000:53:00 is a consequence (follows Xid 31 on 0000:53:00, which it names)"
        in (found.notes)
    )


def test_the_end_of_the_instance_explains_its_teardown() -> None:
    assert aside(xid(45, "Ch"), left_at=30) == {(45, GPU)}
    assert aside(xid(45, "Ch"), left_at=61) == set()


def test_a_teardown_does_not_follow_a_consequence() -> None:
    # The 119 belongs to the 79 of 400 s ago; the 43 is too late for the 79 and has no other cause.
    assert aside(xid(79, "x", -400), xid(119, "x", -200), xid(43, "Ch", pci=GPU2)) == {(119, GPU)}


def test_a_burst_reaches_as_far_as_its_last_line() -> None:
    flood = [xid(31, "x", -900 + 100 * n) for n in range(9)]
    assert aside(*flood, xid(43, "Ch", 150, pci=GPU2)) == {(43, GPU2)}


def test_what_stands_before_its_cause_in_one_second_does_not_follow_it() -> None:
    assert aside(xid(31, "x"), xid(48, "x")) == set()
    assert aside(xid(48, "x"), xid(31, "x")) == {(31, GPU)}


def test_a_node_with_consequences_only_is_of_class_sympathetic() -> None:
    found = judged(shutdown(-5), xid(45, "Ch"))
    assert (found.verdict, found.fault_class) == ("LEAVE ALONE", "sympathetic")
    assert "Xid 45 on 0000:53:00 is a consequence (follows the node's own shutdown)" in found.notes
