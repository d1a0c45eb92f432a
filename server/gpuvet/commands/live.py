"""A live account as a command's case: identity, region, nodes and budget from its arguments."""

import argparse
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from gpuvet.aws.budget import CLI_SECONDS, Budget
from gpuvet.aws.door import AwsDoor
from gpuvet.aws.live_account import LiveAccounts
from gpuvet.aws.login import Admitted, admitted
from gpuvet.case import Case, load_case
from gpuvet.case.container import Container
from gpuvet.case.live_case import live_case
from gpuvet.case.recording import read_recording, recorded_case
from gpuvet.commands.common import clock
from gpuvet.commands.progress import on_terminal
from gpuvet.commands.recording import (
    Taken,
    check_arguments,
    keep_heading,
    restoring,
    taken,
    use_given,
)
from gpuvet.errors import UsageError
from gpuvet.model.target import Target, read_target

_SPAN = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)\s*(s|m|h)?")
_UNITS = {"s": 1, "m": 60, "h": 3600, None: 1}


@contextmanager
def opened_case(args: argparse.Namespace) -> Generator[Case, None, None]:
    """Give what a command is about: the case at a path, or nodes of a live account.

    With `--record` what is read meanwhile is written at the end; with `--map` what is printed
    meanwhile has its originals back.

    Raises:
        UsageError: Neither or both are named, the account cannot be asked at all, or there is no
            place for a recording.
    """
    check_arguments(args)
    target = read_target(args.cluster, args.instances, args.tag)
    if args.case is None:
        with taken(args) as recorder:
            yield _live(args, target, recorder)
        return
    if not target.is_empty:
        raise UsageError("give --case, or one of --cluster, --instances, --tag; not both")
    with path_case(args, args.case) as case:
        yield case


@contextmanager
def path_case(args: argparse.Namespace, path: str) -> Generator[Case, None, None]:
    """Give the case at a path; a recording also gives what its command was given.

    Raises:
        UsageError: It cannot be read, or `--map` does not belong to it.
    """
    recorded = read_recording(Container(Path(path))) if Path(path).exists() else None
    if recorded is None:
        with restoring(args, None):
            yield load_case(Path(path), question=args.question)
        return
    use_given(args, recorded.heading)
    with restoring(args, recorded.heading.map):
        yield recorded_case(recorded, question=args.question, has_window=False)


def _live(args: argparse.Namespace, target: Target, recorder: Taken | None) -> Case:
    if target.is_empty:
        raise UsageError(
            "nothing says which nodes: give --cluster NAME or ARN, --instances i-…,i-…, "
            "--tag K=V, or --case PATH"
        )
    budget = Budget(read_seconds(args.deadline, CLI_SECONDS))
    opened = LiveAccounts(login_of(args)).enter(budget=budget)
    now = clock()
    door: AwsDoor = opened.door
    if recorder is not None:
        keep_heading(
            args,
            now,
            account=opened.who.account,
            region=opened.who.region,
            question=args.question,
            target=target,
            max_scan_gb=args.max_scan_gb,
        )
        door = recorder.around(door)
    return live_case(
        door,
        target,
        now=now,
        region=opened.who.region,
        account=opened.who.account,
        question=args.question,
        max_scan_gb=args.max_scan_gb,
        tell=_say,
        progress=on_terminal(),
    )


def _say(text: str) -> None:
    sys.stderr.write(f"gpuvet: {text}\n")


def login_of(args: argparse.Namespace) -> Admitted:
    """Return the identities and regions named on the command line, else those in force.

    Raises:
        UsageError: One of them cannot be what it is given as.
    """
    in_force = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    regions = args.region or ([in_force] if in_force else [])
    return admitted(args.profile or (), regions, args.role or (), args.external_id or ())


def read_seconds(text: str | None, default: float) -> float:
    """Return a span such as 90s, 10m or 1h in seconds.

    Raises:
        UsageError: It is none, or is zero.
    """
    if text is None:
        return default
    found = _SPAN.fullmatch(text.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        raise UsageError(f"{text[:40]!r} is no time to wait; write 90s, 10m or 1h")
    return seconds
