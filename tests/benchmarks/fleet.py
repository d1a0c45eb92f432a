"""Coverage and incident of a fleet on the simulated account: calls and time beside their floor.

The floor has for each question to the logs the least queries that name their streams (its rows
by the row cap, its streams by those whose names fit a query), each started once and read in the
largest pages at the moment it ends, four at a time, all together scanning what ours scanned. It
finds the streams for nothing; groups are looked up, and what is not about logs is read, as we do.

The plain way asks two queries of each node and source (hours, and kernel lines), with our own
concurrency, waits and retries, after listing nodes and streams. Beyond a size its figures are
reckoned from those of that size. Log calls are held against log calls.
"""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from simulated import limits
from simulated.account import Account, Params
from simulated.clients import live_door
from simulated.clock import SimulatedClock
from simulated.fleet import ACCOUNT, CLUSTER, NOW, REGION, Kind, fleet, xid

from benchmarks.measure import peak_rss_mib, say
from gpuvet.aws.log_asks import hours_around
from gpuvet.aws.log_queries import MOST_CHARACTERS, MOST_ROWS, Part, bins_query, kernel_query
from gpuvet.aws.query_runs import MOST_AT_ONCE, Ask, QueryRuns
from gpuvet.case.live_case import live_case
from gpuvet.model.evidence import Window
from gpuvet.model.target import Target
from gpuvet.modes.incident import incident_report
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked

ROOT = Path(__file__).resolve().parents[2]
SIZES = (16, 256, 1024, 4096)
# Beyond these the plain way is not run; what it would come to grows with the nodes.
PLAIN_MOST = 1024
WINDOW = Window(start=NOW - timedelta(hours=25), end=NOW + timedelta(hours=1))
_LOG_CALLS = ("logs:StartQuery", "logs:GetQueryResults", "logs:StopQuery")
# Everything about logs is held against the floor; the rest is the same for every way of asking.
_LOGS = (*_LOG_CALLS, "logs:DescribeLogGroups", "logs:DescribeLogStreams")


class Watched(Account):
    """An account whose own work is told apart from ours."""

    own_cpu = 0.0

    def call(self, operation: str, params: Params) -> dict[str, Any]:
        """See `Account.call`."""
        start = time.process_time()
        try:
            return super().call(operation, params)
        finally:
            Watched.own_cpu += time.process_time() - start


def watched(kind: Kind, nodes: int) -> Watched:
    """Return an account with one broken node."""
    made = fleet(kind, nodes)
    xid(made.carrier(3), 79, NOW - timedelta(hours=3))
    return Watched(made, SimulatedClock(made.now))


def ours(kind: Kind, nodes: int, mode: str) -> dict[str, float]:
    """Return what one question of ours takes."""
    account = watched(kind, nodes)
    asked = Target(tag=("fleet", CLUSTER)) if kind == "ec2" else Target(cluster=CLUSTER)
    start = time.process_time()
    case = live_case(live_door(account), asked, now=NOW, region=REGION, account=ACCOUNT)
    report: Callable[..., Any] = {"coverage": verdict_report, "incident": incident_report}[mode]
    report(case, Asked(), clock=NOW)
    cpu = time.process_time() - start - Watched.own_cpu
    return {**_told(account), "cpu": cpu, "rss": peak_rss_mib() or 0.0, **floor_of(account)}


def _told(account: Account) -> dict[str, float]:
    return {
        "calls": float(account.calls),
        "log_calls": float(sum(account.made[name] for name in _LOGS)),
        "queries": float(account.made["logs:StartQuery"]),
        "seconds": account.clock.seconds,
        "throttled": float(sum(account.throttled.values())),
        "gigabytes": account.scanned / 1e9,
    }


def floor_of(account: Account) -> dict[str, float]:
    """Return the least calls and time for the questions that were asked of an account's logs."""
    streams = sum(1 for _ in account.fleet.carriers())
    longest = max(len(stream.name) for _, stream in account.fleet.carriers())
    fit = (MOST_CHARACTERS - len(bins_query(Part((), ("",))))) // (longest + 4)
    questions = _questions(account)
    queries = sum(
        max(1, math.ceil(rows / MOST_ROWS)) + (math.ceil(streams / fit) if by_stream else 0)
        for rows, by_stream in questions
    )
    pages = sum(max(1, math.ceil(rows / limits.ROWS_A_PAGE)) for rows, _ in questions)
    log_calls = queries + max(queries, pages) + account.made["logs:DescribeLogGroups"]
    other = account.calls - sum(account.made[name] for name in _LOGS)
    rounds = math.ceil(queries / MOST_AT_ONCE)
    seconds = rounds * _lasting(account, queries) + (log_calls + other) * limits.CALL_SECONDS
    return {"floor_queries": queries, "floor_calls": log_calls + other, "floor_seconds": seconds}


def _questions(account: Account) -> list[tuple[int, bool]]:
    """Return the questions to the logs: rows of each, and whether it was about nodes' streams."""
    found: dict[str, list[Any]] = {}
    for one in account.queries.values():
        kind = one.text.partition("|")[2] or one.text
        row = found.setdefault(f"{kind}{one.statistics['bytesScanned'] > 1e9}", [0, False])
        row[0] += len(one.rows)
        row[1] = row[1] or "by @log, @logStream" in one.text or "fields @timestamp" in one.text
    return [(rows, by_stream) for rows, by_stream in found.values()]


def _lasting(account: Account, queries: int) -> float:
    """Return how long each of some queries takes that share what ours scanned."""
    each = account.scanned / queries / limits.SCANNED_A_SECOND
    return limits.QUERY_SECONDS + each + limits.RESULTS_LAG_SECONDS


def plain(kind: Kind, nodes: int) -> dict[str, float]:
    """Return what two queries of each node and source take: hours, and kernel lines."""
    account = watched(kind, nodes)
    door = live_door(account, seconds=1e9)
    for pages in ("sagemaker:ListClusterNodes", "ec2:DescribeInstances"):
        if (kind == "hyperpod") == pages.startswith("sagemaker"):
            door.read(pages, {"ClusterName": CLUSTER} if kind == "hyperpod" else {})
    runs = QueryRuns(door)
    for name in account.fleet.groups:
        door.read("logs:DescribeLogStreams", {"logGroupName": name})
    asks = [
        Ask((stream.group,), query(Part((stream.group,), (stream.name,))), hours_around(WINDOW))
        for _, stream in account.fleet.carriers()
        for query in (bins_query, kernel_query)
    ]
    runs.found(asks)
    return _told(account)


def run(*, sizes: tuple[int, ...] = SIZES, kinds: tuple[Kind, ...] = ("parallelcluster",)) -> None:
    """Measure and print, each size in a process of its own."""
    say(
        "kind            mode      nodes | calls floor ratio | queries | sim s floor ratio | "
        "own CPU s  MiB |  GB | throttled | log calls, plain way  ratio, its sim s"
    )
    for kind in kinds:
        for nodes in sizes:
            base = _apart("plain", kind, min(nodes, PLAIN_MOST), "")
            grown = max(1.0, nodes / PLAIN_MOST)
            for mode in ("coverage", "incident"):
                own = _apart("ours", kind, nodes, mode)
                plain_calls, plain_seconds = base["log_calls"] * grown, base["seconds"] * grown
                mark = "" if grown == 1.0 else " (reckoned)"
                say(
                    f"{kind:15s} {mode:8s} {nodes:6d} | {own['calls']:5.0f} "
                    f"{own['floor_calls']:5.0f} {own['calls'] / own['floor_calls']:5.2f} | "
                    f"{own['queries']:7.0f} | {own['seconds']:5.1f} {own['floor_seconds']:5.1f} "
                    f"{own['seconds'] / own['floor_seconds']:5.2f} | {own['cpu']:9.2f} "
                    f"{own['rss']:4.0f} | {own['gigabytes']:3.1f} | {own['throttled']:9.0f} | "
                    f"{own['log_calls']:9.0f} {plain_calls:10.0f} "
                    f"{plain_calls / own['log_calls']:6.0f}x {plain_seconds:8.0f}{mark}"
                )


def _apart(what: str, kind: Kind, nodes: int, mode: str) -> dict[str, float]:
    code = (
        "import json,sys\nfrom benchmarks import fleet\n"
        "what, kind, nodes, mode = sys.argv[1:]\n"
        "made = fleet.ours(kind, int(nodes), mode) if what == 'ours' else "
        "fleet.plain(kind, int(nodes))\nprint(json.dumps(made))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, what, kind, str(nodes), mode],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env={"PYTHONPATH": os.pathsep.join(str(ROOT / f) for f in ("server", "tests"))},
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found
