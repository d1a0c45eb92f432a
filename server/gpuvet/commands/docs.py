"""`gpuvet docs build`: writes the generated part of references/."""

import argparse
import sys
from pathlib import Path

from gpuvet.commands.common import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "docs",
        help="write the generated part of references/ and of the packages",
        description="Tables and JSON Schemas from the code they describe; the plugin, the snippets "
        "and the deployment files from the same and from skill/.",
    )
    parser.add_argument("verb", choices=("build", "check"))
    parser.add_argument("--root", default=".", metavar="DIR", help="the checkout; default: here")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the pages and the files of the packages, or list the stale ones."""
    from gpuvet.docs import build, check
    from gpuvet.hosts.files import stale_files, write_files

    root = Path(args.root)
    if args.verb == "build":
        # The packages carry the pages: those come first.
        for name in (*build(root), *write_files(root)):
            sys.stdout.write(f"wrote {name}\n")
        return 0
    stale = (*check(root), *stale_files(root))
    for name in stale:
        sys.stdout.write(f"stale: {name}\n")
    return 1 if stale else 0
