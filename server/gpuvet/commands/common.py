"""Arguments that commands share, spelled once, and the only clock."""

import argparse
from datetime import UTC, datetime
from typing import Any, Protocol

from gpuvet.aws.budget import CLI_SECONDS, SCAN_GB


class Arguments(Protocol):
    """Whatever takes arguments: a parser or a group of one."""

    def add_argument(self, *names: str, **how: Any) -> Any:  # noqa: ANN401 (argparse's own)
        """Add an argument."""
        ...


class Subparsers(Protocol):
    """The part of argparse's subparsers that a command needs."""

    def add_parser(
        self,
        name: str,
        *,
        help: str,  # noqa: A002 (argparse's own word)
        description: str,
    ) -> argparse.ArgumentParser:
        """Add a command."""
        ...


def add_case(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add `--case` and `--question`."""
    parser.add_argument(
        "--case",
        required=required,
        metavar="PATH",
        help="a folder, .zip, .tar(.gz, .xz) or file with logs and recorded replies",
    )
    parser.add_argument("--question", metavar="TEXT", help="what is being asked, in your words")


def add_live(parser: argparse.ArgumentParser) -> None:
    """Add which nodes of a live account, and how it is asked."""
    which = parser.add_argument_group("a live account, instead of --case")
    which.add_argument(
        "--cluster", metavar="NAME|ARN", help="a HyperPod, EKS or ParallelCluster cluster"
    )
    which.add_argument("--instances", metavar="IDS", help="instance ids, with commas between")
    which.add_argument("--tag", metavar="K=V", help="instances that carry this tag")
    add_login(which)
    which.add_argument(
        "--deadline",
        metavar="TIME",
        help=f"answer within this time, e.g. 90s, 10m; default {CLI_SECONDS:g}s",
    )
    which.add_argument(
        "--max-scan-gb",
        type=float,
        default=SCAN_GB,
        metavar="GB",
        help=f"most that log queries may scan; default {SCAN_GB:g}",
    )
    kept = parser.add_argument_group("a recording")
    kept.add_argument(
        "--record",
        metavar="CASE.zip",
        help="keep every reply, with stand-ins for what names anybody, to be asked again by --case",
    )
    kept.add_argument(
        "--record-raw",
        action="store_true",
        help="keep identifiers as they are in --record; secrets are masked all the same",
    )
    kept.add_argument(
        "--record-key",
        metavar="FILE",
        help="the same key and replies give the same stand-ins; default: a random key",
    )
    kept.add_argument(
        "--map",
        metavar="CASE.map.json",
        help="with --case: put the originals back into the answer of a recording",
    )


def add_login(parser: Arguments) -> None:
    """Add `--profile`, `--region`, `--role` and `--external-id`; a server may be given several."""
    parser.add_argument("--profile", action="append", metavar="NAME", help="an AWS profile")
    parser.add_argument("--region", action="append", metavar="REGION", help="an AWS region")
    parser.add_argument("--role", action="append", metavar="ARN", help="a role to assume")
    parser.add_argument(
        "--external-id", action="append", metavar="ID", help="the external id the role asks for"
    )


def add_times(parser: argparse.ArgumentParser) -> None:
    """Add `--since`, `--until` and `--failure-at`."""
    form = "ISO 8601 with Z, or back from now as 90m, 24h, 7d"
    parser.add_argument("--since", metavar="TIME", help=f"start of the window: {form}")
    parser.add_argument("--until", metavar="TIME", help="end of the window; default now")
    parser.add_argument("--failure-at", metavar="TIME", help="when the job failed")


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add `--format`."""
    parser.add_argument(
        "--format", choices=("text", "markdown", "json"), default="text", help="default: text"
    )


def clock() -> datetime:
    """Return the present in UTC; cases with a clock of their own never ask for it."""
    return datetime.now(UTC)  # noqa: TID251 (the edge that may read the clock)
