"""An audit of a big fleet: the judging, and its JSON, Markdown and HTML against plain json.dumps.

The baseline is `json.dumps` of the very bins the audit rests on: node by hour by lines. Where a
Chromium is installed, the page of 1,000 nodes over a week is opened and scrolled as well.
"""

import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from browser import browser, chromium
from fleet import bins, fleet, node_id

from benchmarks.measure import interleaved, peak_rss_mib, report, say
from gpuvet.model.audit import AuditReport
from gpuvet.modes.audit import audit_report
from gpuvet.modes.window import Asked
from gpuvet.report.audit import audit_markdown
from gpuvet.report.html import audit_page

_CLOCK = datetime(2027, 1, 1, tzinfo=UTC)
_PAGE_NODES, _PAGE_HOURS = 1_000, 168
_WATCH = (
    "window.long = []; new PerformanceObserver(l => { for (const e of l.getEntries())"
    " window.long.push([e.startTime, e.duration]); })"
    ".observe({type: 'longtask', buffered: true}); 0"
)
_SCROLL = """(async () => {
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const map = document.getElementById('scroll'), page = document.documentElement;
  const began = performance.now();
  for (let i = 0; i < 120; i++) { map.scrollTop = i * map.scrollHeight / 120; await frame(); }
  for (let i = 0; i < 60; i++) { scrollTo(0, i * page.scrollHeight / 60); await frame(); }
  for (const wide of document.querySelectorAll('.wide'))
    for (let i = 0; i < 20; i++) { wide.scrollTop = i * wide.scrollHeight / 20; await frame(); }
  await new Promise(done => setTimeout(done, 300));
  return Math.max(0, ...window.long.filter(e => e[0] >= began).map(e => e[1]));
})()"""
_PAINT = """new Promise(done => new PerformanceObserver(
  list => done(list.getEntries()[0].startTime)).observe({type: 'paint', buffered: true}))"""
_COUNT = (
    "(() => { let n = 0; const w = document.createTreeWalker(document, NodeFilter.SHOW_ALL);"
    " while (w.nextNode()) n++; return n; })()"
)


def run(*, nodes: int, hours: int, runs: int) -> None:
    """Print the medians of each form of one audit, and what the browser says of its page."""
    counted = {
        node_id(n): {f"{at:%Y-%m-%dT%H:00Z}": lines for at, lines in bins(n, hours).items()}
        for n in range(nodes)
    }
    say(f"audit: {nodes:,} nodes x {hours} h, {runs} runs each")
    made: list[AuditReport] = []
    case = fleet(nodes, hours)
    judging = {"judge": lambda: made.append(audit_report(case, Asked(), clock=_CLOCK))}
    report(interleaved(judging, 1), "judge")
    audit = made[0]
    subjects: dict[str, Callable[[], object]] = {
        "json.dumps of the bins": lambda: json.dumps(counted),
        "JSON": lambda: audit.model_dump_json(by_alias=True, indent=2),
        "Markdown": lambda: audit_markdown(audit),
        "HTML": lambda: audit_page(audit),
    }
    report(interleaved(subjects, runs), "json.dumps of the bins")
    say(f"HTML {len(audit_page(audit)) / 1e6:.2f} MB; peak RSS {peak_rss_mib() or 0:.0f} MiB")
    if chromium() is not None:
        _in_browser()


def _in_browser() -> None:
    page = audit_page(audit_report(fleet(_PAGE_NODES, _PAGE_HOURS), Asked(), clock=_CLOCK))
    with tempfile.TemporaryDirectory() as folder, browser() as chrome:
        path = Path(folder) / "page.html"
        path.write_text(page, encoding="utf-8")
        chrome.size(1280, 900)
        chrome.visit(path)
        paint = chrome.evaluate(_PAINT)
        chrome.evaluate(_WATCH)
        longest = chrome.evaluate(_SCROLL)
        say(
            f"page of {_PAGE_NODES:,} nodes x {_PAGE_HOURS} h: {len(page) / 1e6:.2f} MB, "
            f"{chrome.evaluate(_COUNT):,} DOM nodes, first paint {paint:.0f} ms, "
            f"longest task in a scripted scroll {longest:.0f} ms (0: none over 50 ms)"
        )
