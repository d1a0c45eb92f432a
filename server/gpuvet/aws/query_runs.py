"""Runs Logs Insights queries through the AWS door, several at once, until each is answered.

A query runs at the service and not here: one thread starts a few, asks for the oldest, and
starts the next. An answer that is full is partial; its rows are in the order of time, so the
question goes on from the last of them. Whatever could not be read is named with the groups and
the span it would have covered.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from gpuvet.aws.door import AwsDoor
from gpuvet.aws.log_queries import MOST_ROWS
from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.evidence import Envelope, Reason, Status, Window
from gpuvet.model.untyped import is_number, object_at, text_at

Row = Mapping[str, str]
Read = tuple[str, Mapping[str, Any]]  # operation and parameters

# coverage.md: an account may run more, but shares them with dashboards and schedules.
MOST_AT_ONCE = 4
# Ours: what one question keeps in memory of one answer.
_MOST_KEPT = 400_000
# Ours: other reads made before the results of a query are asked for: about as long as it takes.
_OTHERS_A_QUERY = 4
# What a refusal says that concerns the groups of a query, and not the question as a whole.
SCAN_LIMIT = "ScanLimit"
_SECOND = timedelta(seconds=1)


class Ask(NamedTuple):
    """One question to the service.

    Attributes:
        groups: Log groups, at most 50.
        query: As `log_queries` writes it.
        window: Start included, end not.
        order: The column its rows are sorted by, where it is a time.
    """

    groups: tuple[str, ...]
    query: str
    window: Window
    order: str | None = None


class Unread(NamedTuple):
    """A part of a question that was not answered in full."""

    groups: tuple[str, ...]
    window: Window
    status: Status
    reason: Reason | None


class Found(NamedTuple):
    """What a question came to."""

    rows: tuple[Row, ...]
    unread: tuple[Unread, ...] = ()
    evidence: str | None = None  # of its first query

    def missed(self, group: str) -> tuple[Unread, ...]:
        """Return what of a group was not read."""
        return tuple(one for one in self.unread if group in one.groups)


@dataclass(slots=True)
class _Progress:
    rows: list[Row] = field(default_factory=list[Row])
    unread: list[Unread] = field(default_factory=list[Unread])
    evidence: str | None = None
    open_runs: int = 1


@dataclass(slots=True)
class _Run:
    """One query of a question: its groups and window may be a part of the question's."""

    ask: Ask
    groups: tuple[str, ...]
    window: Window
    query_id: str = ""


class QueryRuns:
    """The queries of one question; each is run once, however often it is asked for."""

    def __init__(
        self,
        door: AwsDoor,
        most: int = MOST_AT_ONCE,
        *,
        planned: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Run nothing yet.

        Args:
            door: The AWS door.
            most: How many queries run at once.
            planned: Told of queries that will be run, for whoever shows how far it has got.
        """
        self._door = door
        self._planned = planned
        self._most = self._depth = most
        self._waiting: deque[_Run] = deque()
        self._flying: deque[_Run] = deque()
        self._others: deque[Read] = deque()
        self._progress: dict[Ask, _Progress] = {}

    def begin(self, asks: Iterable[Ask]) -> None:
        """Start what will be asked for, as far as there is room; nothing is waited for."""
        new = [ask for ask in dict.fromkeys(asks) if ask not in self._progress]
        for ask in new:
            self._progress[ask] = _Progress()
            self._waiting.append(_Run(ask, ask.groups, ask.window))
        if new:
            self._planned(len(new))
        self._start_some()

    def found(self, asks: Sequence[Ask]) -> list[Found]:
        """Return the answers, in the order of the questions."""
        self.begin(asks)
        wanted = set(asks)
        while any(self._progress[ask].open_runs for ask in wanted):
            self._start_some(first=wanted)
            run = next((run for run in self._flying if run.ask in wanted), None)
            if run is None and not self._flying:
                continue  # what was wanted has ended as it started
            self._collect(run or self._flying[0])
        kept = (self._progress[ask] for ask in asks)
        return [Found(tuple(one.rows), tuple(one.unread), one.evidence) for one in kept]

    def _start_some(self, first: Iterable[Ask] = ()) -> None:
        wanted = set(first)
        if wanted:
            ahead = [run for run in self._waiting if run.ask in wanted]
            behind = [run for run in self._waiting if run.ask not in wanted]
            self._waiting = deque([*ahead, *behind])
        while self._waiting and len(self._flying) < self._depth:
            if not self._start(self._waiting.popleft()):
                return

    def _start(self, run: _Run) -> bool:
        """Start one query; False where there is no room for it now."""
        params = {
            "logGroupNames": list(run.groups),
            "queryString": run.ask.query,
            "startTime": int(run.window.start.timestamp()),
            "endTime": int(run.window.end.timestamp()),
            "limit": MOST_ROWS,
        }
        started = self._door.read("logs:StartQuery", params)
        progress = self._progress[run.ask]
        progress.evidence = progress.evidence or started.evidence
        run.query_id = next((i for p in started.value or () if (i := text_at(p, "queryId"))), "")
        if run.query_id:
            self._flying.append(run)
            return True
        if started.reason is Reason.THROTTLED and self._flying:
            # The quota is full, and some of it is ours: what runs has to end first.
            self._depth = max(1, len(self._flying))
            self._waiting.appendleft(run)
            return False
        self._fail(run, started)
        return True

    def meanwhile(self, reads: Iterable[Read]) -> None:
        """Take other reads of the account to make while queries run; the door remembers them."""
        self._others.extend(reads)

    def _collect(self, run: _Run) -> None:
        self._flying.remove(run)
        for _ in range(min(_OTHERS_A_QUERY, len(self._others))):
            self._door.read(*self._others.popleft())
        ended = self._door.read("logs:GetQueryResults", {"queryId": run.query_id})
        self._depth = min(self._most, self._depth + 1)
        pages = ended.value or ()
        if not pages or any(page.get("status") != "Complete" for page in pages):
            status = Status.UNVERIFIED if ended.status.is_complete else ended.status
            reason = Reason.TIMED_OUT if ended.status.is_complete else ended.reason
            self._close(run, Unread(run.groups, run.window, status, reason))
            return
        rows = [_row(cells) for page in pages for cells in page.get("results", ())]
        self._keep(run, [row for row in rows if self._is_inside(run, row)])
        if len(rows) >= MOST_ROWS or not ended.status.is_complete or _has_more(pages, len(rows)):
            self._go_on(run, rows, ended)
        else:
            self._close(run)

    @staticmethod
    def _is_inside(run: _Run, row: Row) -> bool:
        """Leave out what begins at the end: StartQuery's end is included, a window's is not."""
        at = as_datetime(row.get(run.ask.order)) if run.ask.order else None
        return at is None or at < run.window.end

    def _keep(self, run: _Run, rows: Sequence[Row]) -> None:
        self._progress[run.ask].rows.extend(rows)

    def _go_on(self, run: _Run, rows: Sequence[Row], ended: Envelope[Any]) -> None:
        """Ask again from the last row of a full answer, whose own time may not be complete."""
        reason = ended.reason or Reason.ROW_CAP
        last = as_datetime(rows[-1].get(run.ask.order)) if rows and run.ask.order else None
        progress = self._progress[run.ask]
        if last is None:
            self._close(run, Unread(run.groups, run.window, Status.PARTIAL, reason))
            return
        last = last.replace(microsecond=0)
        grain = timedelta(hours=1) if run.ask.order == "hour" else _SECOND
        is_stuck = last <= run.window.start
        following = last + grain if is_stuck else last
        if is_stuck:  # one grain alone fills an answer: its rest cannot be asked for
            full = Window(start=last, end=min(last + grain, run.window.end))
            progress.unread.append(Unread(run.groups, full, Status.PARTIAL, reason))
        else:
            order = run.ask.order or ""
            progress.rows = [r for r in progress.rows if not _is_from(r, order, last, run)]
        if following >= run.window.end:
            self._close(run)
        elif len(progress.rows) >= _MOST_KEPT:
            rest = Window(start=following, end=run.window.end)
            self._close(run, Unread(run.groups, rest, Status.PARTIAL, Reason.ROW_CAP))
        else:
            rest = Window(start=following, end=run.window.end)
            self._waiting.appendleft(_Run(run.ask, run.groups, rest))

    def _fail(self, run: _Run, started: Envelope[Any]) -> None:
        """Close what could not be started; several groups are tried one by one.

        One denied group denies the whole query, and one big group may take it over the limit.
        """
        alone = started.reason is Reason.DENIED or started.error_code == SCAN_LIMIT
        absent = started.status is Status.NOT_FOUND
        if len(run.groups) > 1 and (alone or absent):
            progress = self._progress[run.ask]
            progress.open_runs += len(run.groups) - 1
            for group in reversed(run.groups):
                self._waiting.appendleft(_Run(run.ask, (group,), run.window))
            return
        status = Status.UNVERIFIED if started.status.is_complete else started.status
        self._close(run, Unread(run.groups, run.window, status, started.reason))

    def _close(self, run: _Run, unread: Unread | None = None) -> None:
        progress = self._progress[run.ask]
        progress.open_runs -= 1
        if unread is not None:
            progress.unread.append(unread)


def _row(cells: Sequence[Mapping[str, str]]) -> Row:
    return {cell["field"]: cell["value"] for cell in cells if "field" in cell and "value" in cell}


def _has_more(pages: Sequence[Mapping[str, Any]], rows: int) -> bool:
    """Say whether the service counts more rows than it gave."""
    counts = (object_at(page, "statistics").get("resultCount") for page in pages)
    return any(is_number(count) and count > rows for count in counts)


def _is_from(row: Row, order: str, last: datetime, run: _Run) -> bool:
    """Say whether a row of this run's groups lies at or after a time: it will come again."""
    at = as_datetime(row.get(order))
    if at is None or at < last:
        return False
    return at >= run.window.start and group_of(row, run.groups) in run.groups


def group_of(row: Row, groups: Sequence[str]) -> str:
    """Return the group a row comes from: `@log` is `<account>:<group>`."""
    label = row.get("@log")
    if label is None:
        return groups[0] if len(groups) == 1 else ""
    return label.partition(":")[2] or label


def hour_window(hour: datetime) -> Window:
    """Return the epoch hour that holds a time."""
    start = hour.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return Window(start=start, end=start + timedelta(hours=1))
