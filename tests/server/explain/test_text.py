"""Wording an explanation: verdict first, sections only where there is something to say."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpuvet.catalog.kinds import CodeKind
from gpuvet.catalog.sxids import sxids
from gpuvet.catalog.xids import xids
from gpuvet.explain.text import WIDTH, as_markdown, as_text, same_event, sections
from gpuvet.explain.xid import explain_code


@pytest.mark.parametrize(
    ("name", "code", "kind"),
    [
        pytest.param("explain/xid_79.txt", 79, CodeKind.XID, id="a lost GPU"),
        pytest.param("explain/xid_48.txt", 48, CodeKind.XID, id="a code that needs evidence"),
        pytest.param("explain/xid_99999.txt", 99999, CodeKind.XID, id="a code in no list"),
        pytest.param("explain/sxid_20034.txt", 20034, CodeKind.SXID, id="an NVSwitch error"),
    ],
)
def test_the_text_reads_as_agreed(
    golden: Callable[[str, str], None], name: str, code: int, kind: CodeKind
) -> None:
    golden(name, as_text(explain_code(code, kind)))


def test_the_markdown_reads_as_agreed(golden: Callable[[str, str], None]) -> None:
    golden("explain/xid_119.md", as_markdown(explain_code(119)))


def test_the_verdict_stands_on_the_second_line_of_every_text() -> None:
    for kind, codes in ((CodeKind.XID, xids()), (CodeKind.SXID, sxids())):
        for code in codes:
            explained = explain_code(code, kind)
            lines = as_text(explained).splitlines()
            assert lines[1].startswith(explained.verdict.value)
            assert max(map(len, lines)) <= WIDTH


def test_no_section_is_empty() -> None:
    for code in (*xids(), 99999):
        assert all(section.items for section in sections(explain_code(code)))


def test_markdown_fences_a_raw_line_so_that_it_cannot_close_the_fence() -> None:
    explained = replace(explain_code(79), line="x ```` [a](http://b) y")
    assert "`````text\nx ```` [a](http://b) y\n`````" in as_markdown(explained)


@pytest.mark.parametrize(
    ("code", "kind", "expected"),
    [
        (79, CodeKind.XID, "the same code on the same PCI id"),
        (149, CodeKind.XID, "the same code on the same PCI id and link"),
        (20034, CodeKind.SXID, "the same code on the same switch and link"),
    ],
)
def test_recurrence_names_what_must_agree(code: int, kind: CodeKind, expected: str) -> None:
    assert same_event(explain_code(code, kind)) == expected
