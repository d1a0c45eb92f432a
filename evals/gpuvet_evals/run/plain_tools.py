"""The tools every side has: AWS reads from the recording, files, the time, skills, a question.

Names and inputs are those of AWS DevOps Agent, so that a journal reads the same. Nothing here can
change anything: reads pass gpuvet's recorded door, everything else is refused as AWS refuses it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

from gpuvet.aws.reads import READS
from gpuvet.case import Case
from gpuvet.errors import NotReadOnly
from gpuvet.model.evidence import Envelope, Status
from gpuvet_evals.journal import mapping
from gpuvet_evals.lint import REPEATED_REPETITION

Json = dict[str, Any]
Pages = tuple[Mapping[str, Any], ...]
MAX_RESULT = 48_000  # characters, some 12,000 tokens: from there on the agent itself cuts
_PREVIEW = 4_000  # characters, some 1,000 tokens, as the agent shows
_TOKENS = frozenset({"NextToken", "nextToken", "nextForwardToken", "nextBackwardToken"})
DOCS_ACCOUNT = "111122223333"


class ToolResult(NamedTuple):
    """What a tool says, and whether that is an error."""

    text: str
    is_error: bool = False


class SkillFiles(NamedTuple):
    """The skill under test."""

    name: str
    description: str
    body: str  # SKILL.md
    resources: Mapping[str, str]  # path, such as references/xids.md, to text


@dataclass
class PlainTools:
    """The tools over one world; a run has its own, since queries and throttles have a state."""

    case: Case | None
    files: Mapping[str, str]
    skill: SkillFiles | None
    now: datetime
    loads: list[str] = field(default_factory=list[str])

    def definitions(self) -> Sequence[Json]:
        """Return the tools beside the plain ones: none."""
        return ()

    def call(self, name: str, given: object) -> ToolResult:
        """Return what a tool says; a wrong name or input is an error in its words."""
        tool = _TOOLS.get(name)
        if tool is None:
            return ToolResult(f"no tool {name!r}; there are {', '.join(_TOOLS)}", is_error=True)
        if not isinstance(given, dict):
            return ToolResult("the input must be an object", is_error=True)
        fields = mapping(cast("object", given))
        required = tool.schema["required"]
        if missing := [key for key in required if key not in fields]:
            return ToolResult(f"the input lacks {', '.join(missing)}", is_error=True)
        if unknown := sorted(set(fields) - set(tool.schema["properties"])):
            return ToolResult(f"unknown input {', '.join(unknown)}", is_error=True)
        result = tool.run(self, fields)
        return result._replace(text=_cut(result.text))

    def use_aws(self, given: Mapping[str, Any]) -> ToolResult:
        """Answer one read of the recording."""
        service, wanted = str(given["service_name"]), str(given["operation_name"])
        parameters = given.get("parameters", {})
        if not isinstance(parameters, dict):
            return ToolResult("parameters must be an object", is_error=True)
        operation = operation_of(service, wanted)
        region = given.get("aws_region")
        read = self._read(operation, mapping(cast("object", parameters)), region)
        return read if isinstance(read, ToolResult) else self._shown(operation, read)

    def query_logs(self, given: Mapping[str, Any]) -> ToolResult:
        """Run one Logs Insights query to its end."""
        names, text = given["log_group_names"], str(given["query"])
        if not isinstance(names, list):
            return ToolResult("log_group_names must be a list", is_error=True)
        try:
            start, end = (_epoch(given[key]) for key in ("start_time", "end_time"))
        except (ValueError, TypeError) as error:
            return ToolResult(f"a time that cannot be read: {error}", is_error=True)
        parameters: Json = {
            "logGroupNames": names,
            "queryString": text,
            "startTime": start,
            "endTime": end,
        }
        started = self._read("logs:StartQuery", parameters, given.get("aws_region"))
        if isinstance(started, ToolResult):
            return started
        if not started.value:
            return self._shown("logs:StartQuery", started)
        query = {"queryId": started.value[0].get("queryId")}
        found = self._read("logs:GetQueryResults", query, given.get("aws_region"))
        if isinstance(found, ToolResult) or not found.value:
            return found if isinstance(found, ToolResult) else self._shown("logs:StartQuery", found)
        return ToolResult(_json({"queryLanguage": "CWLI", **_merged(found.value)}))

    def read_file(self, given: Mapping[str, Any]) -> ToolResult:
        """Return a file that came with the question."""
        name = str(given["file_path"])
        text = self.files.get(name)
        if text is None:
            known = ", ".join(self.files) or "none"
            return ToolResult(f"no file {name!r}; attached are: {known}", is_error=True)
        return ToolResult(text)

    def tell_time(self, given: Mapping[str, Any]) -> ToolResult:
        """Return the world's clock, or a written time, as epoch seconds."""
        expression = str(given["expression"]).strip()
        try:
            at = self.now if expression.lower() == "now" else _moment(expression)
        except ValueError:
            return ToolResult("give 'now' or a time in ISO 8601", is_error=True)
        shown = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        return ToolResult(f"{at.timestamp()} ({shown}, weekday: {at.strftime('%A')})")

    def ask_user(self, given: Mapping[str, Any]) -> ToolResult:
        """Answer for a user who is not there."""
        return ToolResult(f"The user has not answered: {given['question']}", is_error=True)

    def read_skill(self, given: Mapping[str, Any]) -> ToolResult:
        """Load the skill."""
        name = str(given["skill_id"])
        if self.skill is None or name != self.skill.name:
            return ToolResult(f"Skill not found: {name}", is_error=True)
        self.loads.append(name)
        return ToolResult(_json({"content": self.skill.body}))

    def read_resource(self, given: Mapping[str, Any]) -> ToolResult:
        """Return a file of the skill."""
        name, path = str(given["skill_id"]), str(given["path"])
        if self.skill is None or name != self.skill.name:
            return ToolResult(f"Skill not found: {name}", is_error=True)
        text = self.skill.resources.get(path.removeprefix("./"))
        if text is None:
            known = ", ".join(self.skill.resources)
            return ToolResult(f"no resource {path!r}; there are {known}", is_error=True)
        return ToolResult(_json({"content": text}))

    def _read(
        self, operation: str, parameters: Mapping[str, Any], region: object
    ) -> Envelope[Pages] | ToolResult:
        if self.case is None:
            return ToolResult(
                "API call failed: no AWS account is connected to this conversation", is_error=True
            )
        if REPEATED_REPETITION.search(str(parameters.get("queryString", ""))):
            # The service matches in linear time, the recording does not.
            message = "this recording runs no pattern that repeats a repetition"
            return _api_error(operation, self._account, "MalformedQueryException", message)
        where = region if isinstance(region, str) and region else None
        try:
            return self.case.aws.read(operation, parameters, region=where)
        except NotReadOnly:
            service, _, name = operation.partition(":")
            message = f"User is not authorized to perform: {service}:{name}"
            return _api_error(operation, self._account, "AccessDeniedException", message)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return _api_error(operation, self._account, "ValidationException", str(error))

    def _shown(self, operation: str, read: Envelope[Pages]) -> ToolResult:
        if read.value and read.status in {Status.OK, Status.OK_EMPTY, Status.PARTIAL}:
            return ToolResult(_json({self._account: _merged(read.value)}))
        note = read.notes[0] if read.notes else "no answer"
        if read.error_code is None:
            return ToolResult(f"API call failed: {operation}: {note}", is_error=True)
        return _api_error(operation, self._account, read.error_code, note)

    @property
    def _account(self) -> str:
        return (self.case.meta.account if self.case else None) or DOCS_ACCOUNT


def operation_of(service: str, name: str) -> str:
    """Return `service:Operation` from a name in any spelling: snake case, with dashes, Pascal."""
    bare = name.replace("_", "").replace("-", "").lower()
    for row in READS.values():
        if row.service == service and row.name.lower() == bare:
            return row.operation
    pascal = "".join(part[:1].upper() + part[1:] for part in name.replace("-", "_").split("_"))
    return f"{service}:{pascal}"


class _Tool(NamedTuple):
    description: str
    schema: Json
    run: Callable[[PlainTools, Mapping[str, Any]], ToolResult]


def tool_definitions() -> list[Json]:
    """Return the tools as the Messages API takes them."""
    return [
        {"name": name, "description": tool.description, "input_schema": tool.schema}
        for name, tool in _TOOLS.items()
    ]


def _schema(properties: Mapping[str, Json], *required: str) -> Json:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


_TEXT: Json = {"type": "string"}
_TOOLS: Mapping[str, _Tool] = {
    "use_aws": _Tool(
        "Calls one read operation of an AWS API and returns all pages. Anything that changes "
        "something is refused. Times in results are UTC.",
        _schema(
            {
                "aws_account_id": _TEXT,
                "aws_region": _TEXT,
                "service_name": {"type": "string", "description": "boto3's client name, e.g. ec2"},
                "operation_name": {
                    "type": "string",
                    "description": "in snake case, e.g. describe_instances",
                },
                "parameters": {"type": "object", "description": "as the API names them"},
            },
            "service_name",
            "operation_name",
        ),
        PlainTools.use_aws,
    ),
    "query_cloudwatch_logs": _Tool(
        "Runs one CloudWatch Logs Insights query to its end and returns its rows. Only fields, "
        "display, filter (=, !=, in, like text or /regex/, and, or, not), stats by, sort, limit.",
        _schema(
            {
                "aws_region": _TEXT,
                "log_group_names": {"type": "array", "items": _TEXT},
                "query": _TEXT,
                "start_time": {"type": "string", "description": "ISO 8601 or epoch seconds"},
                "end_time": {"type": "string", "description": "ISO 8601 or epoch seconds"},
            },
            "log_group_names",
            "query",
            "start_time",
            "end_time",
        ),
        PlainTools.query_logs,
    ),
    "fs_read": _Tool(
        "Returns a file that the user attached.",
        _schema({"file_path": _TEXT}, "file_path"),
        PlainTools.read_file,
    ),
    "datetime": _Tool(
        "Returns the present time for 'now', or the epoch seconds of a time in ISO 8601.",
        _schema({"expression": _TEXT}, "expression"),
        PlainTools.tell_time,
    ),
    "skill_read": _Tool(
        "Loads a skill by its id: instructions for a kind of task.",
        _schema({"skill_id": _TEXT}, "skill_id"),
        PlainTools.read_skill,
    ),
    "read_skill_resource": _Tool(
        "Returns a file that a loaded skill points to.",
        _schema({"skill_id": _TEXT, "path": _TEXT}, "skill_id", "path"),
        PlainTools.read_resource,
    ),
    "ask_user": _Tool(
        "Asks the user a question and ends the turn; nobody may be there to answer.",
        _schema({"question": _TEXT}, "question"),
        PlainTools.ask_user,
    ),
}


def _api_error(operation: str, account: str, code: str, message: str) -> ToolResult:
    service, _, name = operation.partition(":")
    text = f"AWS API error ({service}.{name}, account {account}): {code} — {message}"
    return ToolResult(text, is_error=True)


def _merged(pages: Sequence[Mapping[str, Any]]) -> Json:
    """Return all pages as one: lists joined, tokens dropped, else the last page's value."""
    merged: Json = {}
    for page in pages:
        for key, value in page.items():
            if key in _TOKENS:
                continue
            before = merged.get(key)
            both = isinstance(before, list) and isinstance(value, list)
            merged[key] = [*before, *value] if both else value  # type: ignore[misc]  # both are lists
    return merged


def _json(value: object) -> str:
    return json.dumps(value, default=_as_text, ensure_ascii=False)


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return str(value)


def _epoch(value: object) -> int:
    if isinstance(value, str) and not value.strip().isdigit():
        return int(_moment(value).timestamp())
    return int(str(value))


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text.strip())
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _cut(text: str) -> str:
    """Return a text, or the head of a large one: the rest nobody can read in this run."""
    if len(text) <= MAX_RESULT:
        return text
    return (
        f"Cut: the result has {len(text):,} characters, and only the start is shown. "
        f"Ask for less: fewer fields, a shorter span, a filter.\n\n{text[:_PREVIEW]}"
    )
