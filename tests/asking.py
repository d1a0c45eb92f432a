"""Asking a server as a client does, over a case or over a recorded account that is like a live one.

The account's door can be put behind another one, so that a test can take sources away.
"""

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from live.scenarios import document, door
from live.scenarios import now as now_of
from mcp import Client
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent

from gpuvet.app import build_server
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.watched import WatchedAws
from gpuvet.case.live_case import live_case
from gpuvet.errors import UsageError
from gpuvet.model.access import AccessReport
from gpuvet.model.progress import Progress, silent
from gpuvet.model.target import read_target
from gpuvet.model.untyped import is_array, is_object
from gpuvet.tools.arguments import Where
from gpuvet.tools.case_judge import CaseJudge
from gpuvet.tools.request import AccountDoor, Opened

CASES = Path(__file__).parent / "cases"
SCENARIOS = {path.stem[:3]: path for path in sorted((CASES / "scenarios").glob("s*.json"))}


class RecordedAccount:
    """Evidence of a live account whose door is any door; see `Evidence`."""

    def __init__(
        self,
        aws: AwsDoor,
        *,
        now: datetime,
        account: str,
        region: str,
        allowed_groups: tuple[str, ...] = (),
    ) -> None:
        self._aws = aws
        self._now = now
        self._account = account
        self._region = region
        self._allowed_groups = allowed_groups
        self.clocks: list[datetime] = []  # of every question

    def case(
        self,
        where: Where,
        *,
        question: str | None = None,
        now: datetime | None = None,
        progress: Progress = silent,
    ) -> Opened:
        """Return the nodes as a live case."""
        self.clocks.append(now or self._now)
        case = live_case(
            self._aws,
            read_target(where.cluster, where.instances, where.tag),
            now=self.clocks[-1],
            region=self._region,
            account=self._account,
            question=question,
            progress=progress,
        )
        return Opened(case, self.clocks[-1], self._allowed_groups)

    def account(
        self, where: Where, *, now: datetime | None = None, progress: Progress = silent
    ) -> AccountDoor:
        """Return the door."""
        del where
        watched = WatchedAws(self._aws, progress)
        return AccountDoor(watched, now or self._now, self._account, self._region)

    def access(self, where: Where, *, progress: Progress = silent) -> AccessReport:
        """Refuse: nobody signed in."""
        del where, progress
        raise UsageError("a recorded account has no credentials")


def recorded_account(
    name: str,
    behind: Callable[[AwsDoor], AwsDoor] = lambda aws: aws,
    *,
    allowed_groups: tuple[str, ...] = (),
) -> tuple[RecordedAccount, dict[str, Any]]:
    """Return a scenario as a live account, and the arguments that ask its question."""
    scenario = document(SCENARIOS[name])
    evidence = RecordedAccount(
        behind(door(scenario)),
        now=now_of(scenario),
        account=scenario["account_id"],
        region=scenario["region"],
        allowed_groups=allowed_groups,
    )
    window: Mapping[str, Any] = scenario["request"].get("window") or {}
    times = {"since": window.get("start"), "until": window.get("end")}
    asked = {"cluster": scenario["request"]["cluster"], **times}
    return evidence, {key: value for key, value in asked.items() if value}


def live_server(evidence: RecordedAccount) -> MCPServer:
    """Return a server over an account."""
    return build_server(evidence, is_account=True)


def case_server(path: Path) -> MCPServer:
    """Return a server over a case."""
    return build_server(CaseJudge(path))


@asynccontextmanager
async def connected(server: MCPServer) -> AsyncGenerator[Client]:
    """Connect a client in memory."""
    async with Client(server) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    """Return the text half of an answer."""
    return "".join(part.text for part in result.content if isinstance(part, TextContent))


def page_of(result: CallToolResult) -> dict[str, Any]:
    """Return the structured half of an answer, which must be one."""
    assert not result.is_error, text_of(result)
    page: dict[str, Any] | None = result.structured_content
    assert page is not None
    return page


def size_of(page: Mapping[str, Any]) -> int:
    """Return the characters of a structured half."""
    return len(json.dumps(page, separators=(",", ":")))


def plain(text: str) -> str:
    """Return Markdown without what only guards it: backslashes and code spans."""
    return re.sub(r"\\([\\`*_\[\]<>|#!~])", r"\1", text).replace("`", "")


def leaves(value: object) -> Iterator[str]:
    """Yield every text and number of a structured half, as text writes it."""
    if is_object(value):
        for inner in value.values():
            yield from leaves(inner)
    elif is_array(value):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, bool):
        yield "yes" if value else "no"
    elif isinstance(value, float):
        yield f"{value:g}"
    elif value is not None:
        yield re.sub(r"(T\d\d:\d\d:\d\d)\.\d+(?=Z)", r"\1", str(value))
