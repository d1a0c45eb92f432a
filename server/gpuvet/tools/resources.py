"""Resources: the skill, its references, and one page for each code."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.resources import FunctionResource, Resource

from gpuvet.assets import assets_root, references, skill_text, title_of
from gpuvet.errors import UsageError

SKILL_URI = "gpuvet://skill/SKILL.md"
XID_URI = "gpuvet://xid/{code}"
SXID_URI = "gpuvet://sxid/{code}"
SPEC_CHECK_URI = "gpuvet://spec-check/{code}"

_TYPES = {".md": "text/markdown", ".json": "application/json"}


def add_resources(server: MCPServer) -> None:
    """Add every resource; their texts are read when they are asked for."""
    for resource in (_skill(), *map(_reference, references())):
        server.add_resource(resource)
    for uri, name, title, page in (
        (XID_URI, "xid", "What an Xid means", _xid_page),
        (SXID_URI, "sxid", "What an SXid means", _sxid_page),
        (SPEC_CHECK_URI, "spec-check", "What a check of a job spec looks for", _spec_check_page),
    ):
        server.resource(uri, name=name, title=title, mime_type="text/markdown")(page)


def _skill() -> Resource:
    return FunctionResource(
        uri=SKILL_URI,
        name="SKILL.md",
        title="gpuvet: when to use which mode, and the rules",
        mime_type=_TYPES[".md"],
        fn=skill_text,
    )


def _reference(name: str) -> Resource:
    path = assets_root() / "references" / name
    return FunctionResource(
        uri=f"gpuvet://references/{name}",
        name=name,
        title=title_of(path),
        mime_type=_TYPES.get(path.suffix, "text/plain"),
        fn=partial(_text_of, path),
    )


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _xid_page(code: str) -> str:
    """Meaning, verdict and sources of an Xid."""
    return _code_page(code, is_switch=False)


def _sxid_page(code: str) -> str:
    """Meaning, verdict and sources of an SXid."""
    return _code_page(code, is_switch=True)


def _code_page(code: str, *, is_switch: bool) -> str:
    from gpuvet.catalog.kinds import CodeKind
    from gpuvet.explain.text import as_markdown
    from gpuvet.explain.xid import explain_code

    if not (code.isascii() and code.isdigit() and len(code) <= 5):
        raise ResourceNotFoundError("a code is a number of up to five digits")
    return as_markdown(explain_code(int(code), CodeKind.SXID if is_switch else CodeKind.XID))


def _spec_check_page(code: str) -> str:
    """What a check looks for, why, and how to mend it."""
    from gpuvet.checks.spec_pages import explanation

    try:
        return explanation(code)
    except UsageError as error:
        raise ResourceNotFoundError(str(error)) from error


def codes_of(uri: str) -> Callable[[], tuple[str, ...]] | None:
    """Return what lists the codes that a template takes."""
    return {XID_URI: _xids, SXID_URI: _sxids, SPEC_CHECK_URI: _spec_checks}.get(uri)


def _xids() -> tuple[str, ...]:
    from gpuvet.catalog.xids import xids

    return tuple(map(str, sorted(xids())))


def _sxids() -> tuple[str, ...]:
    from gpuvet.catalog.sxids import sxids

    return tuple(map(str, sorted(sxids())))


def _spec_checks() -> tuple[str, ...]:
    from gpuvet.checks.spec_pages import check_texts

    return tuple(sorted(check.code for check in check_texts()))
