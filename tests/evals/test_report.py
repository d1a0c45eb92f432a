"""The pages: one file, nothing from a journal can act, and a real browser shows it."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gpuvet_evals.cli import main
from gpuvet_evals.journal_writer import JournalWriter
from gpuvet_evals.untrusted import code_span

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-component-update",
    "--disable-background-networking", "--disable-sync", "--virtual-time-budget=2000",
)  # fmt: skip
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
EVIL = (
    "</pre></script><script>document.title='owned'</script><img src=x onerror=\"document.title="
    "'owned'\"> {{ 7*7 }} [click](javascript:alert(1)) \u202egnp.exe \x1b[31m 4711 "
    "<style>*{display:none}</style><a href='https://example.com'>x</a>"
)


class Tags(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one tag."""
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def hostile_suite(folder: Path) -> Path:
    """A suite whose every text tries to act."""
    evals = {
        "skill_name": EVIL,
        "evals": [{"id": "e", "prompt": EVIL, "should_trigger": True, "assertions": [
            EVIL, {"text": EVIL, "evaluator": "regex", "pattern": "<script>.*"}]}],
    }  # fmt: skip
    version = folder / "functional" / "v1"
    for side in ("with_skill", "without_skill"):
        run = JournalWriter(side).user(EVIL).use("use_aws", {"service_name": EVIL}, text=EVIL)
        run.result(EVIL).summary(EVIL, label=EVIL).record(EVIL, {"title": EVIL}).final(EVIL)
        outputs = version / "iteration-1" / "e" / side / "outputs"
        outputs.mkdir(parents=True)
        (outputs / "journal_records.json").write_text(run.text(), encoding="utf-8")
    (version / "evals.json").write_text(json.dumps(evals), encoding="utf-8")
    assert main(["grade", str(version), "--quiet"]) == 0
    main(["report", str(version)])
    return version


def shared_report(journals: Path, folder: Path) -> Path:
    main(["grade", str(journals), "--to", str(folder), "--quiet"])
    main(["report", str(folder)])
    return folder / "functional" / "v1"


def dom(page: Path, profile: Path) -> str:
    """What the page becomes in a real browser."""
    done = subprocess.run(
        [str(CHROMIUM), *QUIET, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()],
        capture_output=True, encoding="utf-8", timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


def test_a_hostile_journal_puts_no_element_of_its_own_into_the_page(tmp_path: Path) -> None:
    page = (hostile_suite(tmp_path) / "benchmark.html").read_text(encoding="utf-8")

    found = Tags()
    found.feed(page)

    assert found.tags.isdisjoint({"script", "img", "a", "iframe", "object", "link", "form"})
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert page.count("<style>") == 1
    assert "49" not in re.findall(r"\b49\b", page)
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "default-src 'none'" in page


def test_a_page_asks_for_nothing_from_elsewhere(journals: Path, tmp_path: Path) -> None:
    page = (shared_report(journals, tmp_path) / "benchmark.html").read_text(encoding="utf-8")

    assert re.findall(r"(?:src|href|url)\s*[=(]\s*['\"]?[a-z]+:", page) == []
    assert "@import" not in page


def test_hostile_text_stays_in_code_spans_of_the_markdown(tmp_path: Path) -> None:
    text = (hostile_suite(tmp_path) / "benchmark.md").read_text(encoding="utf-8")

    outside = re.sub(r"(`+).*?\1", "", text)

    assert "<script" not in outside
    assert "javascript:" not in outside


@pytest.mark.parametrize("text", ["a`b", "``", "`", "a``b```c", "", " x "])
def test_a_code_span_is_longer_than_any_run_in_it(text: str) -> None:
    span = code_span(text)

    fence = re.match(r"`+", span)
    assert fence is not None
    assert span.endswith(fence[0])
    assert fence[0] not in span[len(fence[0]) : -len(fence[0])]


def test_the_markdown_of_the_shared_suite_is_this(journals: Path, tmp_path: Path) -> None:
    text = (shared_report(journals, tmp_path) / "benchmark.md").read_text(encoding="utf-8")

    golden = Path(__file__).parent / "golden" / "benchmark.md"
    assert text == golden.read_text(encoding="utf-8")


def test_the_page_shows_answer_evidence_timeline_assertions_and_flips(
    journals: Path, tmp_path: Path
) -> None:
    page = (shared_report(journals, tmp_path) / "benchmark.html").read_text(encoding="utf-8")

    assert '<mark class="unsupported">3,871</mark>' in page
    assert page.count('<div class="track">') == 16
    assert "kept out of every rate" in page
    assert "uplift" in page
    assert "too few evals to say" in page
    assert "sagemaker batch_reboot_cluster_nodes" in page


@needs_browser
def test_no_script_of_a_hostile_journal_runs_in_a_browser(tmp_path: Path) -> None:
    page = hostile_suite(tmp_path / "suite") / "benchmark.html"

    shown = dom(page, tmp_path / "profile")

    assert "<title>owned" not in shown
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


@needs_browser
def test_a_browser_paints_the_whole_page(journals: Path, tmp_path: Path) -> None:
    page = shared_report(journals, tmp_path / "suite") / "benchmark.html"
    picture = tmp_path / "page.png"
    arguments = [
        str(CHROMIUM), *QUIET, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1280,2400",
        f"--screenshot={picture}", page.as_uri(),
    ]  # fmt: skip
    subprocess.run(arguments, capture_output=True, timeout=120, check=True)

    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert picture.stat().st_size > 100_000  # a blank page of this size has 20 kB
