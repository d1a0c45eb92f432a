"""A live account as a command's case: identity, region, nodes and budget from its arguments."""

import argparse
import os
import re
from pathlib import Path

from gpuvet.aws.budget import CLI_SECONDS, Budget
from gpuvet.aws.live_account import LiveAccounts
from gpuvet.aws.login import Admitted, admitted
from gpuvet.case import Case, load_case
from gpuvet.case.live_case import live_case
from gpuvet.commands.common import clock
from gpuvet.commands.progress import on_terminal
from gpuvet.errors import UsageError
from gpuvet.model.target import read_target

_SPAN = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)\s*(s|m|h)?")
_UNITS = {"s": 1, "m": 60, "h": 3600, None: 1}


def case_of(args: argparse.Namespace) -> Case:
    """Return what a command is about: the case at a path, or nodes of a live account.

    Raises:
        UsageError: Neither or both are named, or the account cannot be asked at all.
    """
    target = read_target(args.cluster, args.instances, args.tag)
    if args.case is not None:
        if not target.is_empty:
            raise UsageError("give --case, or one of --cluster, --instances, --tag; not both")
        return load_case(Path(args.case), question=args.question)
    if target.is_empty:
        raise UsageError(
            "nothing says which nodes: give --cluster NAME or ARN, --instances i-…,i-…, "
            "--tag K=V, or --case PATH"
        )
    budget = Budget(read_seconds(args.deadline, CLI_SECONDS))
    opened = LiveAccounts(login_of(args)).enter(budget=budget)
    return live_case(
        opened.door,
        target,
        now=clock(),
        region=opened.who.region,
        account=opened.who.account,
        question=args.question,
        max_scan_gb=args.max_scan_gb,
        progress=on_terminal(),
    )


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
