"""Pages to text: benchmark.md and one self-contained benchmark.html."""

from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gpuvet.parse.untrusted import mask, show
from gpuvet_evals.report.page import Page, bounds_text, difference_text, percent, rate_text
from gpuvet_evals.untrusted import code_span

_TEMPLATES = Path(__file__).parent / "templates"


def markdown(page: Page) -> str:
    """Return the report for a pull request: figures, flips, runs; no answers."""
    return (
        f"{_environment(escape=False).get_template('benchmark.md.j2').render(page=page).strip()}\n"
    )


def html(page: Page) -> str:
    """Return the report as one file: no script, no link to elsewhere, everything escaped."""
    return (
        f"{_environment(escape=True).get_template('benchmark.html.j2').render(page=page).strip()}\n"
    )


def _environment(*, escape: bool) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        autoescape=escape,  # noqa: S701 - off for Markdown alone, where code spans do it
        undefined=StrictUndefined,
        finalize=_fit_to_print,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    filters: dict[str, Callable[..., str]] = {
        "bounds": bounds_text,
        "code": code_span,
        "difference": difference_text,
        "percent": percent,
        "rate": rate_text,
    }
    for name, shown_as in filters.items():
        environment.filters[name] = shown_as
    return environment


def _fit_to_print(value: object) -> object:
    """Mask and escape whatever a template puts out; only line ends stay."""
    if not isinstance(value, str) or hasattr(value, "__html__"):  # markup of a macro of ours
        return value
    return "\n".join(show(line) for line in mask(value).split("\n"))
