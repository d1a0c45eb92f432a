"""The command line: imports the one command that runs and turns its end into an exit code."""

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from gpuvet import __version__
from gpuvet.errors import GpuvetError, UsageError

EXIT_CODES = """\
exit codes:
  0  nothing to act on
  1  findings: a verdict of REPLACE, REBOOT, UNVERIFIED or MONITOR, a leading branch, Ready No,
     a spec error
  2  wrong use, or input that cannot be read
  3  no finding, but too little was seen to say so
  4  a bug of ours
"""


class Command(NamedTuple):
    """One command: its module is imported when it runs, and not before."""

    name: str
    module: str
    summary: str


COMMANDS = (
    Command("triage", "gpuvet.commands.triage", "pick the mode from the question, and run it"),
    Command("verdict", "gpuvet.commands.verdict", "one verdict per node, with its grounds"),
    Command("incident", "gpuvet.commands.incident", "what failed, why, and what to do"),
    Command("preflight", "gpuvet.commands.preflight", "will this run survive until its end"),
    Command("audit", "gpuvet.commands.audit", "can these logs be trusted, node by hour"),
    Command("spec", "gpuvet.commands.spec", "check a HyperPodPyTorchJob and its log monitors"),
    Command("xid", "gpuvet.commands.xid", "explain an Xid, an SXid or a raw driver line"),
    Command("answer", "gpuvet.commands.answer", "check a drafted answer against the evidence"),
    Command("doctor", "gpuvet.commands.doctor", "what the credentials and the account let us see"),
    Command("iam-policy", "gpuvet.commands.iam_policy", "print the IAM policy that reading takes"),
    Command("serve", "gpuvet.commands.serve", "run the MCP server"),
    Command("demo", "gpuvet.commands.demo", "judge the case that comes with the package"),
    Command("docs", "gpuvet.commands.docs", "write the generated part of references/"),
    Command("skill", "gpuvet.commands.skill", "export the skill for an assistant, or check it"),
)


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser; with `only`, the other commands stay one line of help.

    Args:
        only: Name of the one command whose module is imported.
    """
    parser = argparse.ArgumentParser(
        prog="gpuvet",
        description="Deterministic, read-only triage of GPU training clusters on AWS.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gpuvet {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS:
        if only is None or only == command.name:
            import_module(command.module).add_parser(commands)
        else:
            commands.add_parser(command.name, help=command.summary)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _survive_old_consoles()
    named = next((c.name for c in COMMANDS if words[:1] == [c.name]), None)
    parser = build_parser(named or "")
    try:
        args = parser.parse_args(words)
    except SystemExit as ended:  # argparse has printed help or the usage error
        return ended.code if isinstance(ended.code, int) else 2
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    return _run(args)


def _run(args: argparse.Namespace) -> int:
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except UsageError as error:
        print(f"gpuvet {args.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return _bug(args.command, error)
        print(f"gpuvet {args.command}: the output cannot be written: {error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except KeyboardInterrupt:
        print(f"gpuvet {args.command}: interrupted", file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001 (the outermost edge: a bug gets its own exit code)
        return _bug(args.command, error)
    return code


def _bug(command: str, error: Exception) -> int:
    import traceback

    known = "" if isinstance(error, GpuvetError) else f"{type(error).__name__}: "
    print(f"gpuvet {command}: a bug of ours: {known}{error}", file=sys.stderr)
    traceback.print_exception(error, file=sys.stderr)
    return 4


def _survive_old_consoles() -> None:
    """Show what a console cannot print as an escape instead of failing on it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
