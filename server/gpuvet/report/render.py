"""One Jinja environment; every report is a value and a template."""

from collections.abc import Mapping
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from gpuvet.parse.accounts import without_accounts
from gpuvet.report import words


@cache
def environment(*, plain: bool = False) -> Environment:
    """Return the environment of all text templates; HTML has its own, which escapes.

    Args:
        plain: For a terminal: untrusted text is only bounded and made visible, not escaped as
            Markdown asks.
    """
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
        code=words.plain if plain else words.code,
        plain=words.plain,
        cell=words.plain if plain else words.cell,
        whole=words.whole_plain if plain else words.whole,
        sentence=words.sentence_plain if plain else words.sentence,
        some=words.some,
    )
    shared: dict[str, object] = {
        "span": words.span,
        "counted": words.counted,
        "hour_end": words.hour_end,
    }
    env.globals.update(shared)  # pyright: ignore[reportArgumentType, reportCallIssue]  (its own defaults narrow the type)
    return env


def render(template: str, values: Mapping[str, object], *, plain: bool = False) -> str:
    """Return a template filled in, with runs of blank lines folded and accounts cut short.

    Reports are pasted into tickets and chats; the account in full stands in the JSON.
    """
    text = without_accounts(environment(plain=plain).get_template(template).render(values))
    lines = [line.rstrip() for line in (text.replace("**", "") if plain else text).splitlines()]
    kept = [line for i, line in enumerate(lines) if line or (i and lines[i - 1])]
    return "\n".join(kept).strip("\n") + "\n"
