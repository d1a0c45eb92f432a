"""The tool that says what a code or a driver line means."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from pydantic import Field

from gpuvet.catalog.kinds import CodeKind
from gpuvet.errors import UsageError
from gpuvet.explain.line import explain_lines
from gpuvet.explain.text import as_markdown
from gpuvet.explain.xid import XidExplanation, explain_code
from gpuvet.model.base import Value
from gpuvet.tools.arguments import Arguments
from gpuvet.tools.request import Reply, Request

_MOST_LINES = 8


class ExplanationPage(Value):
    """What codes or lines mean."""

    schema_: str = Field(
        default="gpuvet/xid/1", validation_alias="schema", serialization_alias="schema"
    )
    explanations: tuple[XidExplanation, ...]


class XidQuestion(Arguments):
    """What `explain_xid` takes."""

    code: int | None = Field(None, description="Xid or SXid number, e.g. 79.", ge=0, le=99_999)
    line: str | None = Field(
        None, description="A raw driver log line instead of a code.", max_length=4000
    )
    kind: Literal["xid", "sxid"] = Field("xid", description="'sxid' for NVSwitch errors.")


def explain_xid(request: Request, asked: XidQuestion) -> Reply[ExplanationPage]:
    """Explain an Xid or SXid code, or decode a raw line (74, 144 to 150, 154 included).

    Returns meaning, verdict first time and on recurrence, what evidence would change it, where
    published sources disagree and which decided. Says nothing about a node.
    """
    del request  # no account is asked
    if (asked.code is None) == (asked.line is None):
        raise UsageError("give either code (a number such as 79) or line (a raw log line)")
    if asked.line is None:
        return _of_code(asked.code or 0, CodeKind(asked.kind))
    return _page(explain_lines(asked.line))


@lru_cache(maxsize=512)
def _of_code(code: int, kind: CodeKind) -> Reply[ExplanationPage]:
    """Return what the tables say of a code; they do not change while a server runs."""
    return _page((explain_code(code, kind),))


def _page(explained: Iterable[XidExplanation]) -> Reply[ExplanationPage]:
    answer = ExplanationPage(explanations=tuple(explained)[:_MOST_LINES])
    return Reply(answer, "\n".join(as_markdown(e) for e in answer.explanations))
