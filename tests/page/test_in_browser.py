"""The page in a real browser: it runs, stays inside its limits, and nothing hostile acts."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, browser, chromium
from fleet import fleet

from gpuvet.case.load import load_case
from gpuvet.modes.audit import audit_report
from gpuvet.modes.window import Asked
from gpuvet.report.html import audit_page

if chromium() is None:
    pytest.skip("no Chromium on this machine: the page is not tried", allow_module_level=True)

START = datetime(2026, 3, 9, tzinfo=UTC)
LATE = datetime(2026, 4, 1, tzinfo=UTC)
GROUP = "/fleet/kernel"
HOSTILE = (
    "</script><script>window.hit=1</script>",
    '"><img src="http://127.0.0.1:9/x" onerror="window.hit=1">',
    "<svg onload=window.hit=1><iframe src=javascript:window.hit=1>",
    "<style>*{display:none!important}</style><base href=http://127.0.0.1:9/>",
    "<meta http-equiv=refresh content=0;url=http://127.0.0.1:9/>",
)


def node_id(number: int) -> str:
    return f"i-0{number:016x}"


def write_case(folder: Path, nodes: int, hours: int) -> None:
    """Write a fleet with holes, faults, a reboot, and hostile text in logs, notes and names."""
    bins: list[dict[str, Any]] = []
    for number in range(nodes):
        dark = range(number % hours, number % hours + number % 9) if number % 5 == 0 else range(0)
        stream = f"messages/{node_id(number)}"
        counted = {
            f"{START + timedelta(hours=h):%Y-%m-%dT%H:00Z}": 0 if h in dark else 30 + h % 20
            for h in range(hours)
        }
        bins.append({"node": node_id(number), "stream": stream, "hourly_counts": counted})
    last = START + timedelta(hours=hours - 1)
    window = [f"{START:%Y-%m-%dT%H:%MZ}", f"{last:%Y-%m-%dT%H:%MZ}"]
    table = {"group": GROUP, "window_utc": window, "bins": bins}
    (folder / "hourly_bins.json").write_text(json.dumps(table), encoding="utf-8")
    search = {
        "query": "filter @message like /NVRM: Xid/",
        "rows": [],
        "status": "Complete",
        "streams": [one["stream"] for one in bins],
        "group": GROUP,
    }
    (folder / "search.json").write_text(json.dumps(search), encoding="utf-8")
    at = START + timedelta(hours=3, minutes=7)
    lines = [
        f"{at + timedelta(seconds=n):%Y-%m-%dT%H:%M:%S}.000000+00:00 ip-10-0-0-1 kernel: "
        f"[ 99.{n:06d}] NVRM: Xid (PCI:0000:53:00): {code}, pid=1, name={text}, {text}"
        for n, (code, text) in enumerate(zip((79, 31, 13, 63, 48), HOSTILE, strict=True))
    ]
    boot = at + timedelta(minutes=20)
    lines.append(f"{boot:%Y-%m-%dT%H:%M:%S}.000000+00:00 ip-10-0-0-1 kernel: Linux version 6.1")
    log = folder / f"messages.{node_id(1)}.log"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    notes = "\n".join(f"2026-03-09T03:00:00Z logrotate ran {text}" for text in HOSTILE)
    (folder / "notes.txt").write_text(notes, encoding="utf-8")


def write_page(folder: Path, nodes: int, hours: int) -> Path:
    case = folder / "case"
    case.mkdir()
    write_case(case, nodes, hours)
    question = f"Were there GPU errors last week? {HOSTILE[0]}"
    report = audit_report(load_case(case, question=question), Asked(), clock=LATE)
    path = folder / "page.html"
    path.write_text(audit_page(report), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as found:
        found.size(1280, 900)
        yield found


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(tmp_path_factory.mktemp("small"), nodes=12, hours=48)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "page.html"
    report = audit_report(fleet(1_000, 168), Asked(), clock=LATE)
    path.write_text(audit_page(report), encoding="utf-8")
    return path


def test_hostile_text_runs_nothing_loads_nothing_and_breaks_nothing(
    chrome: Browser, small: Path
) -> None:
    chrome.visit(small)
    for key in ("Tab", "Tab"):
        chrome.key(key)
    chrome.evaluate("document.querySelectorAll('.mark').forEach(m => m.focus())")
    chrome.evaluate("document.querySelectorAll('th button').forEach(b => b.click())")
    assert chrome.evaluate("window.hit === undefined")
    asked = [e["request"]["url"] for e in chrome.of("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == 1
    assert (
        chrome.evaluate("document.querySelectorAll('main script, img, iframe, base').length") == 0
    )
    assert chrome.evaluate("document.styleSheets.length") == 1
    assert chrome.of("Runtime.exceptionThrown") == []
    assert "<img src=" in chrome.evaluate("document.querySelector('#faults').textContent")


def test_a_foreign_script_would_not_run_even_inside_the_page(chrome: Browser, small: Path) -> None:
    chrome.visit(small)
    chrome.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
        "document.body.append(s); })()"
    )
    chrome.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hit=1\">')"
    )
    chrome.evaluate("new Promise(d => setTimeout(d, 100))")
    assert chrome.evaluate("window.hit === undefined")
    refused = [e["entry"]["text"] for e in chrome.of("Log.entryAdded")]
    assert any("Content Security Policy" in text for text in refused)


def test_the_map_is_read_by_keys_and_every_hole_says_why(chrome: Browser, small: Path) -> None:
    chrome.visit(small)
    chrome.evaluate("document.getElementById('cells').focus()")
    seen: set[str] = set()
    for _ in range(47):
        chrome.key("ArrowRight")
        seen.add(str(chrome.evaluate("document.getElementById('detail').textContent")))
    holes = [text for text in seen if "no line arrived" in text]
    assert holes
    assert all("no evidence names a reason" in text or "log rotation" in text for text in holes)
    assert all(GROUP in text for text in seen)


def test_marks_are_reached_by_keys_and_tell_their_evidence(chrome: Browser, small: Path) -> None:
    chrome.visit(small)
    chrome.evaluate("document.querySelector('.mark').focus()")
    first = chrome.evaluate("document.getElementById('detail').textContent")
    chrome.key("ArrowRight")
    second = chrome.evaluate("document.getElementById('detail').textContent")
    assert "Faults" in first
    assert "ev-" in first
    assert first != second
    assert chrome.evaluate("document.querySelectorAll('.mark[tabindex=\"0\"]').length") == 1


def test_every_mark_of_the_lanes_stands_in_the_table_too(chrome: Browser, small: Path) -> None:
    chrome.visit(small)
    told = chrome.evaluate("document.querySelector('#events').textContent")
    data = json.loads(chrome.evaluate("document.getElementById('data').textContent"))
    assert data["marks"]
    assert [mark[5] for mark in data["marks"] if mark[5] not in told] == []


def test_tables_sort_by_number_and_say_so(chrome: Browser, small: Path) -> None:
    chrome.visit(small)
    head = "document.querySelectorAll('#nodes th')[2]"
    column = "[...document.querySelectorAll('#nodes tbody tr')].map(r => r.cells[2].textContent)"
    chrome.evaluate(f"{head}.querySelector('button').click()")
    assert chrome.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending"
    hours = [int(text.split(" of ")[0]) for text in chrome.evaluate(column)]
    assert hours == sorted(hours)
    assert len(set(hours)) > 1


def test_finding_narrows_the_map(chrome: Browser, small: Path) -> None:
    chrome.visit(small)
    full = chrome.evaluate("document.getElementById('space').offsetHeight")
    chrome.evaluate(
        f"(() => {{ const f = document.getElementById('find'); f.value = '{node_id(1)}';"
        "f.dispatchEvent(new Event('input')); })()"
    )
    assert chrome.evaluate("document.getElementById('space').offsetHeight") < full


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_seen_holes_and_paper_differ_in_brightness(
    scheme: str, chrome: Browser, small: Path
) -> None:
    chrome.media(scheme=scheme)
    chrome.visit(small)
    names = ("card", "live", "hole", "hatch", "fault", "ink")
    levels = {
        name: brightness(
            chrome.evaluate(
                f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"
            )
        )
        for name in names
    }
    chrome.media(scheme="light")
    assert contrast(levels["ink"], levels["card"]) >= 7
    assert contrast(levels["hatch"], levels["hole"]) >= 4.5
    assert contrast(levels["fault"], levels["live"]) >= 2
    assert contrast(levels["live"], levels["hatch"]) >= 2


def brightness(colour: str) -> float:
    """Return the relative luminance of #rrggbb (WCAG 2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_a_narrow_screen_scrolls_no_further_than_its_width(chrome: Browser, small: Path) -> None:
    chrome.size(390, 844)
    chrome.visit(small)
    assert chrome.evaluate("document.documentElement.scrollWidth") <= 390
    chrome.size(1280, 900)


def test_print_shows_every_row_of_the_map_and_every_text(chrome: Browser, small: Path) -> None:
    chrome.visit(small)
    chrome.media(kind="print")
    chrome.evaluate("dispatchEvent(new Event('beforeprint'))")
    whole = "document.getElementById('cells').offsetHeight === space.offsetHeight"
    assert chrome.evaluate(
        f"(() => {{ const space = document.getElementById('space'); return {whole}; }})()"
    )
    cut = "[...document.querySelectorAll('.wide')].some(w => w.scrollHeight > w.clientHeight + 1)"
    assert not chrome.evaluate(cut)
    chrome.media()
    assert chrome.pdf().startswith(b"%PDF")


def test_a_thousand_nodes_over_a_week_stay_within_the_limits(chrome: Browser, large: Path) -> None:
    assert large.stat().st_size < 5_000_000
    chrome.visit(large)
    count = (
        "(() => { let n = 0; const w = document.createTreeWalker(document, NodeFilter.SHOW_ALL);"
        "while (w.nextNode()) n++; return n; })()"
    )
    assert chrome.evaluate(count) <= 20_000
    assert chrome.of("Runtime.exceptionThrown") == []
