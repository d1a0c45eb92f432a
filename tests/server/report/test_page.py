"""The HTML page as text: self-contained, bounded, escaped twice over."""

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fleet import fleet

from gpuvet.case.load import load_case
from gpuvet.model.audit import AuditReport
from gpuvet.model.cause import TimelineEvent
from gpuvet.modes.audit import audit_report
from gpuvet.modes.incident import incident_report
from gpuvet.modes.window import Asked
from gpuvet.report.html import audit_page, incident_page, json_for_html
from gpuvet.report.page import MOST_MARKS, event_table, marks, spots

CASES = Path(__file__).parents[2] / "cases"
START = datetime(2026, 3, 14, tzinfo=UTC)
LATE = datetime(2027, 1, 1, tzinfo=UTC)
VOID = frozenset({"meta", "link", "input", "br"})


class Reader(HTMLParser):
    """Counts nodes, and collects what a page loads, runs and nests."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes, self.open = 0, list[str]()
        self.loads, self.handlers, self.texts = list[str](), list[str](), list[str]()
        self.raw: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Count an element; note what it would load or run."""
        self.nodes += 1
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.handlers.append(f"{tag} {name}")
            if name in {"src", "href", "action", "srcset", "data", "poster"}:
                self.loads.append(f"{tag} {value}")

    def handle_endtag(self, tag: str) -> None:
        """Hold the nesting to be right."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Count a text; keep scripts and styles apart from what a reader sees."""
        self.nodes += 1
        if self.open and self.open[-1] in {"script", "style"}:
            self.raw[f"{self.open[-1]}{len(self.raw)}"] = data
        else:
            self.texts.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def audit(name: str) -> AuditReport:
    path = next((CASES / "scenarios").glob(f"{name}*.json"))
    return audit_report(load_case(path), Asked(), clock=LATE)


PAGES = [
    pytest.param("s01", "audit", id="audit of a silent stream"),
    pytest.param("s06", "audit", id="audit of a replaced node"),
    pytest.param("s03", "incident", id="incident of ended capacity"),
    pytest.param("s05", "incident", id="incident of saturated storage"),
]


def page_of(name: str, mode: str) -> str:
    path = next((CASES / "scenarios").glob(f"{name}*.json"))
    if mode == "audit":
        return audit_page(audit(name))
    return incident_page(incident_report(load_case(path), Asked(), clock=LATE))


@pytest.mark.parametrize(("name", "mode"), PAGES)
def test_a_page_loads_nothing_and_holds_no_handler(name: str, mode: str) -> None:
    reader = read(page_of(name, mode))
    inside = [one for one in reader.loads if not re.fullmatch(r"a #[a-z]+|link data:,", one)]
    assert (inside, reader.handlers) == ([], [])


@pytest.mark.parametrize(("name", "mode"), PAGES)
def test_its_policy_allows_exactly_its_own_script_and_style(name: str, mode: str) -> None:
    page = page_of(name, mode)
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert found is not None
    policy = found[1].replace("&#39;", "'")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    raw = read(page).raw
    for kind, count in (("style", 1), ("script", 2)):
        blocks = [text for key, text in raw.items() if key.startswith(kind)]
        assert len(blocks) == count
        digest = b64encode(hashlib.sha256(blocks[-1].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(("name", "mode"), PAGES)
def test_the_data_of_the_map_reads_back(name: str, mode: str) -> None:
    blocks = [t for k, t in read(page_of(name, mode)).raw.items() if k.startswith("script")]
    data = json.loads(blocks[0])
    for node in data["nodes"]:
        letters = re.findall(r"(\d+)([A-Z])", node[4])
        assert sum(int(count) for count, _ in letters) == data["hours"]
        assert {letter for _, letter in letters} <= set(data["codes"])


HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!--<script>",
    "]]><svg onload=alert(1)>",
    "\u2028alert(1)\u2029",
    "\u202etxt.exe\u202c",
    "{{ 7*7 }}{% raw %}",
    "javascript:alert(1)",
    "&lt;b&gt;",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    report = audit("s01")
    sight = tuple(n.model_copy(update={"claim": text, "node": text}) for n in report.sight)
    hole = report.holes[0].model_copy(update={"stream": text, "group": text})
    event = TimelineEvent(at=START, source=text, what=f"Xid 79 {text}", node=text)
    hostile = report.model_copy(
        update={
            "sight": sight,
            "headline": text,
            "claim": text,
            "question": text,
            "holes": (hole,),
            "timeline": (event,),
            "context": (text,),
            "cluster": text,
        }
    )
    page, plain = audit_page(hostile), audit_page(report)
    reader, usual = read(page), read(plain)
    assert reader.loads == usual.loads
    assert reader.handlers == []
    assert len(reader.raw) == len(usual.raw)
    assert "\u2028" not in page
    shown = "".join(reader.texts)
    visible = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    assert visible in shown


def test_json_in_a_page_holds_no_sign_that_ends_a_script() -> None:
    text = json_for_html({"a": "</script>&\u2028\u2029<!--"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": "</script>&\u2028\u2029<!--"}


def big(nodes: int, hours: int = 168) -> AuditReport:
    return audit_report(fleet(nodes, hours), Asked(), clock=LATE)


@pytest.mark.parametrize(
    ("nodes", "most_nodes"),
    [
        pytest.param(1_000, 20_000, id="a thousand nodes over a week"),
        pytest.param(1_500, 20_000, id="more are cut to the same size"),
    ],
)
def test_a_page_stays_small(nodes: int, most_nodes: int) -> None:
    page = audit_page(big(nodes))
    assert len(page) < 5_000_000
    assert read(page).nodes < most_nodes - 2_500  # marks and sort buttons come by script


def test_what_is_cut_from_a_table_is_counted() -> None:
    page = audit_page(big(1_200, 24))
    assert "And 200 more, in the JSON of this report." in page


def test_marks_are_bounded_and_no_lane_goes_empty() -> None:
    events = [
        TimelineEvent(at=START + timedelta(hours=n), source="kernel", what=f"Xid {n}")
        for n in range(900)
    ]
    events.append(TimelineEvent(at=START, source="capacity", what="cr-1 ends"))
    found = marks(events, {})
    assert len(found) == MOST_MARKS
    assert len({mark[0] for mark in found}) == 2


def test_the_same_thing_on_several_nodes_within_an_hour_is_one_mark() -> None:
    events = [
        TimelineEvent(
            at=START + timedelta(minutes=n), source="kernel", what="Xid 79", node=f"i-{n}"
        )
        for n in range(5)
    ]
    place = {f"i-{n}": n for n in range(5)}
    (mark,) = marks(events, place)
    (row,) = event_table(events).rows
    assert (mark[3], mark[8]) == (0, 5)
    assert row[2] == "i-0, i-1 and 3 more"
    assert [spot[0] for spot in spots(events, place, {})] == [0, 1, 2, 3, 4]
