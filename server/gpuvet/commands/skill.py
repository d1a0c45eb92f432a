"""`gpuvet skill`: the skill as a folder or a zip, checked before it leaves."""

import argparse
import sys
from pathlib import Path

from gpuvet.commands.common import Subparsers
from gpuvet.errors import UsageError


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "skill",
        help="export the skill, or check one before it is published",
        description="export DIR writes DIR/gpuvet with SKILL.md and its references; with --zip a "
        "file with SKILL.md at its root. check DIR names what breaks the format. scan PATH… names "
        "ids that are not on the list of invented ones.",
    )
    parser.add_argument("verb", choices=("export", "check", "scan"))
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--zip", action="store_true", help="export into the file PATH instead")
    parser.add_argument("--author", metavar="USER", help="GitHub user who publishes the skill")
    parser.add_argument(
        "--published", action="store_true", help="check also what DevOps Agent's catalogue asks"
    )
    parser.add_argument(
        "--allow",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="invented ids, each with its reason; repeat it",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Export, or list what is wrong: 0 nothing, 1 something, 2 cannot be done."""
    if args.verb == "scan":
        return _scan(args)
    if len(args.paths) != 1:
        raise UsageError(f"skill {args.verb} takes one PATH")
    (path,) = args.paths
    return _check(path, published=args.published) if args.verb == "check" else _export(path, args)


def _export(path: Path, args: argparse.Namespace) -> int:
    from gpuvet.hosts.skill import export, zipped

    if args.zip:
        path.write_bytes(zipped(args.author))
        sys.stdout.write(f"{path}\n")
    else:
        sys.stdout.write(f"{export(path, args.author)}\n")
    return 0


def _check(path: Path, *, published: bool) -> int:
    from gpuvet.hosts.skill import skill_faults

    faults = skill_faults(path, published=published)
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    return 1 if faults else 0


def _scan(args: argparse.Namespace) -> int:
    from gpuvet.hosts.identifiers import read_allowed, scan

    allowed: dict[str, str] = {}
    for path in args.allow:
        allowed.update(read_allowed(path))
    # A list is no publication: it names ids to say that they are nobody's.
    found = [
        one
        for one in scan(args.paths, allowed)
        if Path(one.place.rpartition(":")[0]) not in args.allow
    ]
    sys.stdout.writelines(f"{one.place}: {one.kind} {one.identifier}\n" for one in found)
    return 1 if found else 0
