"""The GSP stopped answering: Xid 119 and 120 (verdict-rules §8)."""

import pytest
from node_world import (
    AT,
    GPU2,
    NODE,
    OTHER,
    at,
    boundary,
    days,
    judged,
    node_of,
    reboot,
    verdicts,
    xid,
)

from gpuvet.model.events import AnyRecord, BoundaryKind

TIMEOUT = "Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 76"


def again(*more: AnyRecord, code: int = 119) -> list[AnyRecord]:
    return [xid(code, TIMEOUT, -days(1)), reboot(-3600), xid(code, TIMEOUT), *more]


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        pytest.param([xid(119, TIMEOUT)], "REBOOT", id="the first time"),
        pytest.param([xid(120, "GSP error")], "REBOOT", id="a GSP error"),
        pytest.param(again(), "REPLACE", id="again on one GPU alone"),
        pytest.param(
            again(xid(119, TIMEOUT, 60, pci=GPU2)), "REBOOT", id="again while another GPU shows it"
        ),
        pytest.param(
            [xid(79, "x", -300), xid(119, TIMEOUT)], "REBOOT", id="after a lost GPU: that decides"
        ),
    ],
)
def test_a_silent_gsp_needs_the_reboot_and_rarely_a_new_gpu(
    records: list[AnyRecord], verdict: str
) -> None:
    assert judged(*records).verdict.value == verdict


def test_its_class_is_driver_config() -> None:
    assert judged(xid(119, TIMEOUT)).fault_class == "driver_config"


@pytest.mark.parametrize(
    ("flavour", "told", "never"),
    [
        pytest.param(
            True, "the open kernel module needs its GSP firmware", "turned off", id="open"
        ),
        pytest.param(False, "turned off (NVreg_EnableGpuFirmware=0)", "needs its GSP", id="closed"),
        pytest.param(None, "was not read (boot banner)", "turned off", id="unknown"),
    ],
)
def test_the_fix_depends_on_the_flavour_of_the_module(
    flavour: bool | None, told: str, never: str
) -> None:
    banner = boundary(BoundaryKind.DRIVER_RELOAD, -7200, driver_open=flavour)
    notes = "\n".join(judged(banner, xid(119, TIMEOUT)).notes)
    assert told in notes
    assert never not in notes


@pytest.mark.parametrize(
    ("hours", "verdict"), [(23, "REBOOT"), (50, "REPLACE")], ids=["within a day", "later"]
)
def test_two_nodes_soon_after_a_driver_change_are_never_replaced(hours: int, verdict: str) -> None:
    nodes = [
        node_of(*again(), node=NODE, driver_version="570.1"),
        node_of(*again(), node=OTHER, driver_version="580.2"),
    ]
    changed = at(-hours * 3600, AT)
    assert verdicts(*nodes, driver_changed_at=changed) == {NODE: verdict, OTHER: verdict}


def test_a_banner_with_another_version_is_a_driver_change() -> None:
    banners = [
        boundary(BoundaryKind.DRIVER_RELOAD, -days(2), driver_version="570.133.20"),
        boundary(BoundaryKind.DRIVER_RELOAD, -3600, driver_version="580.95.05"),
    ]
    nodes = [
        node_of(*banners, *again(), node=NODE, driver_version="570.1"),
        node_of(*banners, *again(), node=OTHER, driver_version="580.2"),
    ]
    assert verdicts(*nodes) == {NODE: "REBOOT", OTHER: "REBOOT"}


@pytest.mark.parametrize(
    ("driver", "verdict"),
    [("570.133.20", "REBOOT"), ("580.95.05", "REPLACE")],
    ids=["the same driver", "another driver"],
)
def test_other_nodes_with_the_same_driver_must_be_clean(driver: str, verdict: str) -> None:
    found = verdicts(
        node_of(*again(), driver_version="570.133.20"),
        node_of(xid(120, "GSP error", 7200), node=OTHER, driver_version=driver),
    )
    assert found[NODE] == verdict
