"""Generated pages, in references/ and in the package: which there are, written or compared."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gpuvet.aws.iam_policy import policy_text
from gpuvet.aws.kubernetes_reads import cluster_role_text
from gpuvet.case.schemas import SCHEMAS, schema_text
from gpuvet.checks.answer_pages import answer_checks_page
from gpuvet.checks.preflight_pages import preflight_checks_page
from gpuvet.checks.spec_pages import spec_checks_page
from gpuvet.explain.pages import nvlink5_page, sxids_page, xids_page
from gpuvet.model.access import AccessReport
from gpuvet.model.answer import AnswerCheck
from gpuvet.model.audit import AuditReport
from gpuvet.model.inspection import LOOKS
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.report import IncidentReport, VerdictReport
from gpuvet.tools.definitions import definitions_text, tools_page

FOLDER = "references"


class PageMaker(NamedTuple):
    """One generated file."""

    path: str  # under its folder
    make: Callable[[], str]
    folder: str = FOLDER


def schema(value: type[BaseModel]) -> Callable[[], str]:
    """Return a maker of the JSON Schema of what a command prints."""

    def make() -> str:
        return (
            json.dumps(value.model_json_schema(by_alias=True, mode="serialization"), indent=1)
            + "\n"
        )

    return make


def source_schemas() -> str:
    """Return the JSON Schemas of the answers about single sources, each under its tool's name."""
    _, made = models_json_schema(
        [(answer, "serialization") for answer in LOOKS.values()], by_alias=True
    )
    named = {tool: {"$ref": f"#/$defs/{answer.__name__}"} for tool, answer in LOOKS.items()}
    return json.dumps({**made, "properties": named}, indent=1) + "\n"


PAGE_MAKERS: tuple[PageMaker, ...] = (
    PageMaker("xids.md", xids_page),
    PageMaker("sxids.md", sxids_page),
    PageMaker("nvlink5.md", nvlink5_page),
    PageMaker("spec-checks.md", spec_checks_page),
    PageMaker("preflight-checks.md", preflight_checks_page),
    PageMaker("answer-checks.md", answer_checks_page),
    PageMaker("schemas/answer.json", schema(AnswerCheck)),
    PageMaker("schemas/verdict.json", schema(VerdictReport)),
    PageMaker("schemas/incident.json", schema(IncidentReport)),
    PageMaker("schemas/preflight.json", schema(PreflightReport)),
    PageMaker("schemas/access.json", schema(AccessReport)),
    PageMaker("iam-policy.json", policy_text),
    PageMaker("kubernetes-role.yaml", cluster_role_text),
    PageMaker("schemas/audit.json", schema(AuditReport)),
    PageMaker("tools.md", tools_page),
    PageMaker("schemas/sources.json", source_schemas),
    PageMaker("tools/definitions.json", definitions_text, "server/gpuvet"),
    *(PageMaker(f"schemas/{name}", partial(schema_text, name)) for name in SCHEMAS),
)


def pages(makers: tuple[PageMaker, ...] = PAGE_MAKERS) -> Mapping[str, str]:
    """Return the text of every generated page by its path ."""
    return MappingProxyType({maker.path: maker.make() for maker in makers})


def build(root: Path, makers: tuple[PageMaker, ...] = PAGE_MAKERS) -> tuple[str, ...]:
    """Write the pages that are not current under `root`; return their paths."""
    stale = _stale(root, makers)
    for maker in stale:
        target = root / maker.folder / maker.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(maker.make(), encoding="utf-8", newline="\n")
    return tuple(maker.path for maker in stale)


def check(root: Path, makers: tuple[PageMaker, ...] = PAGE_MAKERS) -> tuple[str, ...]:
    """Return the paths of pages that are missing or not current."""
    return tuple(maker.path for maker in _stale(root, makers))


def _stale(root: Path, makers: tuple[PageMaker, ...]) -> tuple[PageMaker, ...]:
    return tuple(m for m in makers if _text_of(root / m.folder / m.path) != m.make())


def _text_of(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
