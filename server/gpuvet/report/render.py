"""One Jinja environment; every report is a value and a template."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from gpuvet.report import words


@cache
def environment() -> Environment:
    """Return the environment of all text templates; HTML has its own, which escapes."""
    env = Environment(
        loader=PackageLoader("gpuvet.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 (text and Markdown; raw text passes words.code or words.plain)
    )
    env.filters.update(
        utc=words.utc,
        hour=words.hour,
        code=words.code,
        plain=words.plain,
        cell=words.cell,
        some=words.some,
    )
    env.globals.update(span=words.span, counted=words.counted)
    return env


def render(template: str, **values: Any) -> str:  # noqa: ANN401 (values go to the template as they are)
    """Return a template filled in, with runs of blank lines folded."""
    text = environment().get_template(template).render(**values)
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for i, line in enumerate(lines) if line or (i and lines[i - 1])]
    return "\n".join(kept).strip("\n") + "\n"
