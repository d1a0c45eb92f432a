"""`gpuvet audit`: can these logs be trusted, over a fleet and a period."""

import argparse
import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gpuvet.commands.common import Subparsers, add_live, add_times, clock
from gpuvet.errors import UsageError

if TYPE_CHECKING:
    from gpuvet.case import Case
    from gpuvet.model.audit import AuditReport

# Ours: an audit of 4,096 nodes over a week has about 30 MB.
MOST_BASELINE_BYTES = 256 * 1024 * 1024


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "audit",
        help="can these logs be trusted: which hours of which nodes could be seen",
        description="What may be claimed of each node and of the fleet, every hole with its "
        "reason, faults and their recurrence, lost GPU hours, and what would show more.",
    )
    parser.add_argument(
        "--case",
        action="append",
        metavar="PATH",
        help="a folder, archive or file with logs and recorded replies; again for more clusters",
    )
    parser.add_argument("--question", metavar="TEXT", help="what is being asked, in your words")
    add_live(parser)
    add_times(parser)
    parser.add_argument(
        "--format",
        choices=("text", "markdown", "json", "html"),
        default="text",
        help="default: text; html is one self-contained page",
    )
    parser.add_argument("--full", action="store_true", help="the whole report with its tables")
    add_audit_options(parser)
    parser.set_defaults(run=run)


def add_audit_options(parser: argparse.ArgumentParser) -> None:
    """Add `--baseline`, `--price-per-gpu-hour` and `--currency`."""
    parser.add_argument(
        "--baseline", metavar="OLD.json", help="an earlier audit as JSON: what is new, what healed"
    )
    parser.add_argument(
        "--price-per-gpu-hour", type=float, metavar="N", help="names money for lost hours"
    )
    parser.add_argument("--currency", metavar="WORD", help="of that price, as you write it")


def run(args: argparse.Namespace) -> int:
    """Audit one case or several, or nodes of a live account, and print the report."""
    from gpuvet.commands.live import path_case
    from gpuvet.commands.recording import check_arguments
    from gpuvet.modes.audit_fleet import audit_fleet

    now = clock()
    if not args.case:
        return _of_account(args, now)
    check_arguments(args)
    if len(args.case) == 1:
        with path_case(args, args.case[0]) as case:
            return answer(case, args, now)
    if args.map is not None:
        raise UsageError("--map belongs to one recording; give one --case")

    def read(path: str) -> "AuditReport":
        one = argparse.Namespace(**vars(args))  # each recording knows its own window
        with path_case(one, path) as case:
            return _audited(case, one, now)

    report = audit_fleet([(Path(path).name, partial(read, path)) for path in args.case])
    return printed(report, args)


def _of_account(args: argparse.Namespace, now: datetime) -> int:
    """Audit each cluster that is named, in each region and under each profile."""
    from gpuvet.commands.live import opened_case
    from gpuvet.commands.recording import refuse_recording
    from gpuvet.modes.audit_fleet import audit_fleet

    asked = one_by_one(args)
    if len(asked) == 1:
        with opened_case(args) as case:
            return answer(case, args, now)
    refuse_recording(args, "record each cluster, region and profile by itself")

    def read(one: argparse.Namespace) -> "AuditReport":
        with opened_case(one) as case:
            return _audited(case, args, now)

    return printed(audit_fleet([(name, partial(read, one)) for name, one in asked]), args)


def one_by_one(args: argparse.Namespace) -> list[tuple[str, argparse.Namespace]]:
    """Return the arguments for every cluster, region and profile alone, each with its name."""
    clusters = [c.strip() for c in (args.cluster or "").split(",") if c.strip()] or [None]
    found: list[tuple[str, argparse.Namespace]] = []
    for profile in args.profile or [None]:
        for region in args.region or [None]:
            for cluster in clusters:
                one = argparse.Namespace(**vars(args))
                one.cluster = cluster
                one.profile = [profile] if profile else None
                one.region = [region] if region else None
                name = " ".join(part for part in (cluster, region, profile) if part)
                found.append((name or "the account", one))
    return found


def answer(case: "Case", args: argparse.Namespace, now: datetime) -> int:
    """Print the audit report of a case; return its exit code."""
    return printed(_audited(case, args, now), args)


def _audited(case: "Case", args: argparse.Namespace, now: datetime) -> "AuditReport":
    from gpuvet.modes.audit import Price, audit_report
    from gpuvet.modes.window import Asked

    asked = Asked(since=args.since, until=args.until, failure_at=args.failure_at)
    price = getattr(args, "price_per_gpu_hour", None)
    if price is not None and not 0 <= price < 1_000_000:
        raise UsageError(f"a price of {price:g} per GPU hour; give a number from 0 up")
    currency = getattr(args, "currency", None)
    return audit_report(case, asked, clock=now, price=Price(price, (currency or "")[:12] or None))


def printed(report: "AuditReport", args: argparse.Namespace) -> int:
    """Print a report as asked; return its exit code."""
    from gpuvet.modes.audit import exit_code
    from gpuvet.modes.audit_fleet import with_baseline
    from gpuvet.report.audit import audit_markdown, audit_short

    baseline = getattr(args, "baseline", None)
    if baseline is not None:
        report = with_baseline(report, read_baseline(Path(baseline)))
    if args.format == "json":
        sys.stdout.write(report.model_dump_json(by_alias=True, indent=2) + "\n")
    elif args.format == "html":
        from gpuvet.report.html import audit_page

        sys.stdout.write(audit_page(report))
    elif args.format == "markdown":
        sys.stdout.write(report.markdown if args.full else report.short)
    else:
        sys.stdout.write((audit_markdown if args.full else audit_short)(report, plain=True))
    return exit_code(report)


def read_baseline(path: Path) -> "AuditReport":
    """Return an earlier audit.

    Raises:
        UsageError: The file cannot be read, is too big, or is no audit of ours.
    """
    from pydantic import ValidationError

    from gpuvet.model.audit import AuditReport

    try:
        if path.stat().st_size > MOST_BASELINE_BYTES:
            raise UsageError(f"baseline {path.name!r} is larger than 256 MiB; give an audit's JSON")
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"baseline {path.name!r} cannot be read: {error.strerror}") from error
    try:
        return AuditReport.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise UsageError(
            f"baseline {path.name!r} is no audit as JSON: {where}: {first['msg']}; "
            "make one with 'gpuvet audit --format json'"
        ) from error
