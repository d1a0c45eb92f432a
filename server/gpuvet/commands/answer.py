"""`gpuvet answer`: lints a drafted answer against the evidence of its run."""

import argparse
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuvet.commands.common import Subparsers, add_times, clock
from gpuvet.errors import UsageError

if TYPE_CHECKING:
    from gpuvet.model.answer import AnswerCheck
    from gpuvet.modes.answer import Evidence

_MODES = ("incident", "preflight", "audit")
_FAIL_ON = ("error", "warning", "risk")  # risk is the other commands' word for warning
_MOST_READ = 200_000  # characters; a longer draft is refused by its length all the same


def add_parser(subparsers: Subparsers) -> None:
    """Add the command and its verbs to the command line."""
    parser = subparsers.add_parser(
        "answer",
        help="check a drafted answer against the evidence of its run",
        description="Works offline, and by rule: the same draft and evidence, the same findings.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add_check(verbs)
    rules = verbs.add_parser(
        "rules", help="what is checked", description="Prints every rule: why, fix and source."
    )
    rules.set_defaults(run=run_rules)


def _add_check(verbs: Any) -> None:  # noqa: ANN401  (argparse's subparsers are private types)
    check = verbs.add_parser(
        "check",
        help="lint a draft",
        description="Ids, numbers and times traceable; groups and streams as the service writes "
        "them; no absence without hours; verdicts, labels and branches as the evidence has them; "
        "nothing proposed told as done; no account id.",
    )
    check.add_argument("draft", metavar="FILE", help="the answer as it would be shown; - is stdin")
    check.add_argument(
        "--case", metavar="PATH", help="a case: its reports are made, its files are searched"
    )
    check.add_argument(
        "--evidence",
        metavar="FILE",
        action="append",
        default=[],
        help="a JSON report of gpuvet, journal_records.json, or any text; may be given again",
    )
    check.add_argument("--question", metavar="TEXT", help="what was asked; its figures count")
    check.add_argument(
        "--mode", choices=_MODES, action="append", help="with --case: only this mode's report"
    )
    add_times(check)
    check.add_argument(
        "--fail-on", choices=_FAIL_ON, default="error", help="lowest severity that ends with 1"
    )
    check.add_argument(
        "--format", choices=("text", "markdown", "json"), default="text", help="default: text"
    )
    check.set_defaults(run=run_check)


def run_check(args: argparse.Namespace) -> int:
    """Lint a draft; 0 clean, 1 findings, 2 unreadable, 3 not in English and without findings."""
    from gpuvet.modes.answer import check_answer, hold
    from gpuvet.report.answer import answer_text

    draft = _draft(args.draft)
    found = check_answer(draft, hold(_evidence(args, clock())))
    if args.format == "json":
        sys.stdout.write(found.model_dump_json(by_alias=True, indent=2) + "\n")
    elif args.format == "markdown":
        sys.stdout.write(found.markdown)
    else:
        sys.stdout.write(answer_text(found, args.draft if args.draft != "-" else "stdin"))
    return _exit_code(found, args.fail_on)


def run_rules(_args: argparse.Namespace) -> int:
    """Print the rules."""
    from gpuvet.checks.answer_pages import answer_checks_page

    sys.stdout.write(answer_checks_page())
    return 0


def _exit_code(found: "AnswerCheck", fail_on: str) -> int:
    from gpuvet.modes.answer import WORDING

    counted = found.errors if fail_on == "error" else found.errors + found.warnings
    if counted:
        return 1
    return 3 if WORDING in found.not_judged else 0


def _draft(name: str) -> str:
    if name == "-":
        return sys.stdin.read(_MOST_READ)
    try:
        with Path(name).open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_READ)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(
            f"wanted a draft at {name}: {reason}; give a file, or - for stdin"
        ) from error


def _evidence(args: argparse.Namespace, now: datetime) -> "Evidence":
    from gpuvet.modes.answer import Evidence, of_file, of_question

    found = Evidence()
    for name in args.evidence:
        path = Path(name)
        found += _of_case(args, name, now) if path.is_dir() else of_file(path)
    if args.case is not None:
        found += _of_case(args, args.case, now)
    if found.rows and args.question:
        found += of_question(args.question)
    return found


def _of_case(args: argparse.Namespace, name: str, now: datetime) -> "Evidence":
    """Return a case as evidence: the reports of the modes, and its own text."""
    from gpuvet.case import load_case
    from gpuvet.case.raw_text import raw_texts
    from gpuvet.modes.answer import of_case, of_raw
    from gpuvet.modes.window import Asked

    path = Path(name)
    case = load_case(path, question=args.question)
    asked = Asked(since=args.since, until=args.until, failure_at=args.failure_at)
    return of_case(case, asked, now, modes=args.mode or _MODES) + of_raw(raw_texts(path), path.name)
