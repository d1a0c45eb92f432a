"""The skill's text: whole, short, and naming only calls that exist and that a world answers."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import botocore.session
import pytest
from botocore.validate import ParamValidator

from gpuvet.aws.reads import READS
from gpuvet.case.load import load_case
from gpuvet.model.evidence import Reason, Status
from gpuvet.model.untyped import is_array, is_object

ROOT = Path(__file__).parents[2]
SKILL = (ROOT / "skill" / "SKILL.md").read_text(encoding="utf-8")
CALLS = (ROOT / "references" / "plain-calls.md").read_text(encoding="utf-8")
TEMPLATES = (ROOT / "references" / "answer-templates.md").read_text(encoding="utf-8")
SCENARIOS = sorted((ROOT / "tests" / "cases" / "scenarios").glob("s0*.json"))
_OPERATION = re.compile(r"`([a-z0-9-]+:[A-Z][A-Za-z]+)`")
_EXAMPLE = re.compile(r"^([a-z0-9-]+:[A-Z][A-Za-z]+) (\{.*\})$", re.MULTILINE)
_QUERY = re.compile(r"^filter .*$", re.MULTILINE)
QUERY_NAMES = ("kernel", "hours", "driver", "nccl", "hole", "head node")
_START = datetime(2026, 3, 12, 9, tzinfo=UTC)
_END = datetime(2026, 3, 12, 12, tzinfo=UTC)


class Example(NamedTuple):
    """One call as plain-calls.md shows it."""

    operation: str
    params: dict[str, Any]


def test_the_skill_stays_under_four_hundred_lines() -> None:
    assert len(SKILL.splitlines()) < 400


def test_the_description_fits_the_publishers_limit() -> None:
    description = re.search(r"^description: (.+)$", SKILL, re.MULTILINE)

    assert description is not None
    assert 1 <= len(description.group(1)) <= 1024


def test_every_linked_reference_exists() -> None:
    linked = set(re.findall(r"\((references/[^)#]+)\)", SKILL))

    assert {name for name in linked if not (ROOT / name).is_file()} == set()
    assert len(linked) >= 10


def test_every_heading_that_is_linked_exists() -> None:
    headings = {
        re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in SKILL.splitlines()
        if line.startswith("#")
    }

    assert set(re.findall(r"\(#([a-z-]+)\)", SKILL)) <= headings


def test_every_call_that_skill_and_reference_name_is_a_read_of_the_written_list() -> None:
    known = set(READS)
    named = set(_OPERATION.findall(SKILL)) | {example.operation for example in examples()}

    assert named - known == set()
    assert len(named) > 25


def test_the_reference_shows_the_parameters_of_every_call_the_skill_names() -> None:
    shown = {example.operation for example in examples()}

    assert set(_OPERATION.findall(SKILL)) - shown == set()


@pytest.mark.parametrize("mode", ["Incident", "Audit", "Preflight"])
def test_a_mode_without_the_tools_names_at_least_five_calls_of_its_own(mode: str) -> None:
    assert len(set(_OPERATION.findall(section(mode)))) >= (2 if mode == "Audit" else 5)


@pytest.mark.parametrize("mode", ["Incident", "Audit", "Preflight", "Job spec"])
def test_every_mode_has_a_template_of_its_answer(mode: str) -> None:
    assert re.search(rf"^## {mode}\n```\n(?:.*\n)+?```$", TEMPLATES, re.MULTILINE)


def test_the_examples_are_calls_as_the_service_models_have_them() -> None:
    session = botocore.session.get_session()
    for operation, params in examples():
        service, _, name = operation.partition(":")
        model = session.get_service_model(service).operation_model(name)
        shape = model.input_shape
        assert shape is not None
        report = ParamValidator().validate(_with_times(params), shape)
        assert report.generate_report() == "", operation


def test_the_queries_fit_the_services_limit_with_a_hundred_streams() -> None:
    queries = _QUERY.findall(CALLS)
    streams = ", ".join(f'"{"s" * 70}"' for _ in range(100))

    assert len(queries) == len(QUERY_NAMES)
    assert [q for q in queries if len(q.replace('"STREAM"', streams)) > 10_000] == []


@pytest.mark.parametrize("world", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_every_step_is_answered_by_a_recorded_world(world: Path) -> None:
    aws = load_case(world).aws
    silent: list[str] = []
    for operation, params in examples():
        if operation in {"logs:StartQuery", "logs:GetQueryResults"}:
            continue
        region = "us-east-1" if operation.startswith("health:") else None
        answer = aws.read(operation, _with_times(filled(params, world)), region=region)
        if answer.reason is Reason.NOT_RECORDED:
            silent.append(f"{operation} {params}")

    assert silent == []


@pytest.mark.parametrize("world", SCENARIOS, ids=[path.stem for path in SCENARIOS])
@pytest.mark.parametrize("query", _QUERY.findall(CALLS), ids=QUERY_NAMES)
def test_every_query_is_answered_by_a_recorded_world(world: Path, query: str) -> None:
    aws = load_case(world).aws
    group, stream = first_stream(world)
    started = aws.read(
        "logs:StartQuery",
        {
            "logGroupNames": [group],
            "startTime": int(_START.timestamp()),
            "endTime": int(_END.timestamp()),
            "queryString": query.replace('"STREAM"', json.dumps(stream)),
        },
    )
    assert started.status is Status.OK
    assert started.value is not None
    found = aws.read("logs:GetQueryResults", {"queryId": started.value[0]["queryId"]})

    assert found.status in {Status.OK, Status.OK_EMPTY}
    assert found.value is not None
    assert found.value[-1]["status"] == "Complete"


def examples() -> Iterator[Example]:
    """Yield every call that plain-calls.md shows with its parameters."""
    for operation, params in _EXAMPLE.findall(CALLS):
        yield Example(operation, json.loads(params))


def section(mode: str) -> str:
    """Return the skill's part that does a mode with plain calls."""
    start = SKILL.index(f"### {mode} without the tools")
    end = SKILL.find("\n##", start + 4)
    return SKILL[start:end]


def filled(params: Mapping[str, Any], world: Path) -> dict[str, Any]:
    """Return parameters with the placeholders replaced by what a world knows."""
    document = json.loads(world.read_text(encoding="utf-8"))
    group, stream = first_stream(world)
    text = json.dumps(params)
    words = {"NAME": document["request"]["cluster"], "GROUP": group, "STREAM": stream}
    for word, value in words.items():
        text = text.replace(f'"{word}"', json.dumps(value))
    return dict(json.loads(text))


def first_stream(world: Path) -> tuple[str, str]:
    """Return a log group of a world that has streams, and one of them."""
    groups = json.loads(world.read_text(encoding="utf-8"))["log_store"]
    for name, group in groups.items():
        for stream in group["streams"]:
            return name, stream
    raise AssertionError(world)


def _with_times(params: Mapping[str, Any]) -> dict[str, Any]:
    times = {"T0": _START, "T1": _END}

    def replaced(value: object) -> object:
        if is_object(value):
            return {key: replaced(inner) for key, inner in value.items()}
        if is_array(value):
            return [replaced(inner) for inner in value]
        return times.get(value, value) if isinstance(value, str) else value

    return {key: replaced(value) for key, value in params.items()}
