"""`python -m tests.picture FILE.png`: draws the README's picture anew from a made-up fleet."""

import argparse
import tempfile
from datetime import timedelta
from pathlib import Path

from browser import browser
from fleet import START, fleet

from gpuvet.modes.audit import audit_report
from gpuvet.modes.window import Asked
from gpuvet.report.html import audit_page

_NODES, _HOURS = 40, 96
_WIDTH, _HEIGHT = 1200, 860


def main() -> None:
    """Audit the fleet, open the page in Chromium and save what a reader sees first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    clock = START + timedelta(hours=_HOURS)
    html = audit_page(audit_report(fleet(_NODES, _HOURS), Asked(), clock=clock))
    with tempfile.TemporaryDirectory() as folder, browser() as chrome:
        page = Path(folder) / "audit.html"
        page.write_text(html, encoding="utf-8")
        chrome.size(_WIDTH, _HEIGHT)
        chrome.visit(page)
        chrome.screenshot(file, whole=False)


if __name__ == "__main__":
    main()
