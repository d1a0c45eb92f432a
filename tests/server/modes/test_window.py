"""Which window is meant: as asked, the case's, or one around the failure."""

from datetime import UTC, datetime

import pytest

from gpuvet.errors import BadWindow
from gpuvet.model.case import CaseForm, CaseMeta
from gpuvet.model.evidence import Window
from gpuvet.modes.window import Asked, resolve

NOW = datetime(2026, 3, 3, 12, tzinfo=UTC)
MORNING = Window(
    start=datetime(2026, 3, 2, 7, tzinfo=UTC), end=datetime(2026, 3, 2, 12, tzinfo=UTC)
)


def meta(window: Window | None = None) -> CaseMeta:
    return CaseMeta(id="c", form=CaseForm.FOLDER, window=window)


def test_a_failure_outside_the_cases_window_widens_it_to_the_hours_around_it() -> None:
    found = resolve(meta(MORNING), Asked(failure_at="2026-03-03T10:04:12Z"), NOW)
    assert found.window == Window(
        start=MORNING.start, end=datetime(2026, 3, 3, 11, 4, 12, tzinfo=UTC)
    )
    assert found.source.endswith("widened to hold the failure")


def test_a_failure_inside_leaves_the_window_as_it_is() -> None:
    found = resolve(meta(MORNING), Asked(failure_at="2026-03-02T10:04:12Z"), NOW)
    assert found.window == MORNING


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        pytest.param(
            Asked(since="2026-03-02T07:00:00Z", failure_at="2026-03-01T10:00:00Z"),
            "outside the window",
            id="a failure before what is asked for",
        ),
        pytest.param(Asked(failure_at="2030-01-01T00:00:00Z"), "after now", id="in the future"),
        pytest.param(
            Asked(since="2026-03-02T07:00:00Z", until="2026-03-02T06:00:00Z"),
            "end after it starts",
            id="backwards",
        ),
        pytest.param(Asked(since="yesterday"), "no time", id="no time"),
        pytest.param(Asked(since="2026-03-02T07:00:00"), "no zone", id="no zone"),
    ],
)
def test_times_that_cannot_be_meant_are_refused(asked: Asked, told: str) -> None:
    with pytest.raises(BadWindow, match=told):
        resolve(meta(), asked, NOW)
