"""`gpuvet spec`: check, simulate, suggest, explain, schema and observe."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuvet.commands.common import Subparsers
from gpuvet.errors import UsageError

if TYPE_CHECKING:
    from gpuvet.model.check import CheckOptions, Severity, SpecReport

_FAIL_ON = ("error", "warning", "risk", "advice")  # risk is the other commands' word for warning
_MAX_READ = (1 << 20) + 1  # one byte more than a manifest may have


def add_parser(subparsers: Subparsers) -> None:
    """Add the command and its verbs to the command line."""
    parser = subparsers.add_parser(
        "spec",
        help="check a HyperPodPyTorchJob, simulate its log monitors, propose better ones",
        description="Job specs of the HyperPod training operator. Everything works offline.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add_check(verbs)
    _add_simulate(verbs)
    _add_suggest(verbs)
    explain = verbs.add_parser(
        "explain", help="what a check means", description="What a check looks for, and why."
    )
    explain.add_argument("code", metavar="CODE", help="e.g. HPJ133")
    explain.set_defaults(run=run_explain)
    schema = verbs.add_parser(
        "schema",
        help="the JSON Schema of the job, for editors",
        description="Writes the JSON Schema (draft 7) of HyperPodPyTorchJob to stdout.",
    )
    schema.set_defaults(run=run_schema)
    observe = verbs.add_parser(
        "observe",
        help="ServiceMonitor, queries and alerts for the operator's metrics",
        description="Writes a ServiceMonitor and a PrometheusRule for the training operator's "
        "seven metrics, fitted to the restart budget of the job in FILE.",
    )
    observe.add_argument("file", metavar="FILE", help="the job; - reads stdin")
    observe.set_defaults(run=run_observe)


def _add_check(verbs: Any) -> None:  # noqa: ANN401  (argparse's subparsers are private types)
    check = verbs.add_parser(
        "check",
        help="check job specs and log monitors",
        description="Checks HyperPodPyTorchJob manifests, bare logMonitoringConfiguration lists "
        "and ServiceMonitors. A comment `# gpuvet: ignore HPJ133 reason` on the line, or alone "
        "above it, suppresses a finding.",
    )
    check.add_argument("files", nargs="+", metavar="FILE", help="YAML or JSON; - reads stdin")
    check.add_argument("--instance-type", metavar="TYPE", help="where the manifest names none")
    check.add_argument("--agent-version", metavar="V", help="of hyperpod-elastic-agent: 1.1.3")
    check.add_argument("--script", metavar="FILE", help="the training script, to read only")
    check.add_argument("--quota-pods", type=int, metavar="N", help="pods the team's quota allows")
    check.add_argument("--select", action="append", metavar="CODES", help="only these: HPJ12,HPJ05")
    check.add_argument("--ignore", action="append", metavar="CODES", help="all but these")
    check.add_argument(
        "--fail-on", choices=_FAIL_ON, help="lowest severity that ends with 1; default: error"
    )
    check.add_argument(
        "--skip-others",
        action="store_true",
        help="files with no job and no monitors are fine (for hooks); otherwise they end with 3",
    )
    check.add_argument("--fix", action="store_true", help="print mechanical fixes as a diff")
    check.add_argument("--write", action="store_true", help="with --fix: change the files instead")
    check.add_argument("--no-config", action="store_true", help="read no .gpuvet.toml")
    check.add_argument(
        "--format",
        choices=("text", "markdown", "json", "sarif", "github"),
        default="text",
        help="default: text",
    )
    check.set_defaults(run=run_check)


def _add_simulate(verbs: Any) -> None:  # noqa: ANN401  (argparse's subparsers are private types)
    simulate = verbs.add_parser(
        "simulate",
        help="run the log monitors over logs",
        description="Steps every rule over a log exactly as the elastic agent does, with the "
        "log's own clock. Each --log is one pod or one attempt.",
    )
    simulate.add_argument("file", metavar="FILE", help="the job or its monitors; - reads stdin")
    simulate.add_argument("--log", action="append", required=True, metavar="LOG", dest="logs")
    simulate.add_argument("--stage-start", metavar="T", help="second 0; default: the first stamp")
    simulate.add_argument("--end-seconds", type=float, metavar="N", help="length of the watch")
    simulate.add_argument("--log-format", choices=("raw", "console_tee"), help="default: look")
    simulate.add_argument("--agent-version", metavar="V", help="of hyperpod-elastic-agent")
    simulate.add_argument("--svg", metavar="FILE", help="also draw the (first) log's time line")
    simulate.add_argument("--format", choices=("text", "json"), default="text")
    simulate.set_defaults(run=run_simulate)


def _add_suggest(verbs: Any) -> None:  # noqa: ANN401  (argparse's subparsers are private types)
    suggest = verbs.add_parser(
        "suggest",
        help="propose log monitors from a log",
        description="Measures a good run and proposes monitors with reasons; proves that the good "
        "run never trips them and says when a bad one would.",
    )
    suggest.add_argument("--log", required=True, metavar="GOOD", help="stdout of a healthy run")
    suggest.add_argument("--log-bad", action="append", default=[], metavar="BAD")
    suggest.add_argument("--log-format", choices=("raw", "console_tee"), help="default: look")
    suggest.add_argument("--stage-start", metavar="T", help="start of the good run's stage")
    suggest.add_argument("--format", choices=("text", "yaml", "json"), default="text")
    suggest.set_defaults(run=run_suggest)


def run_check(args: argparse.Namespace) -> int:
    """Check the files; 1 when a finding reaches --fail-on, 3 when nothing was there to check."""
    from gpuvet.commands.spec_config import Settings, read_settings
    from gpuvet.modes.spec import check_text, worst

    settings = Settings() if args.no_config else read_settings(_start(args.files))
    options = _options(args, settings)
    texts = [(name, _read(name)) for name in args.files]
    reports = tuple(check_text(text, file=_shown(name), options=options) for name, text in texts)
    if args.fix:
        _fix(texts, reports, write=args.write)
    else:
        sys.stdout.write(_written(args.format, reports, [text for _, text in texts]))
    fail_on = args.fail_on or settings.fail_on or "error"
    if fail_on not in _FAIL_ON:
        raise UsageError(f"fail-on {fail_on!r} is not one of {', '.join(_FAIL_ON)}")
    if _reaches(worst(reports), fail_on):
        return 1
    judged = any(report.jobs or report.monitors or report.findings for report in reports)
    has_other = any(report.skipped for report in reports)
    return 0 if judged or args.skip_others or not (has_other or texts) else 3


def _start(files: Sequence[str]) -> Path:
    first = next((name for name in files if name != "-"), None)
    return Path(first).resolve().parent if first else Path.cwd()


def _options(args: argparse.Namespace, settings: Any) -> "CheckOptions":  # noqa: ANN401 (late import)
    from gpuvet.model.check import CheckOptions
    from gpuvet.modes.spec import read_script

    return CheckOptions(
        instance_type=args.instance_type or settings.instance_type,
        agent_version=args.agent_version or settings.agent_version,
        script=read_script(Path(args.script) if args.script else None),
        quota_pods=args.quota_pods if args.quota_pods is not None else settings.quota_pods,
        select=_codes(args.select) or settings.select,
        ignore=_codes(args.ignore) or settings.ignore,
    )


def _codes(given: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(code.strip() for each in given or () for code in each.split(",") if code.strip())


def _read(name: str) -> str:
    """Return a file's text; UTF-16 with its mark and UTF-8 with or without one are understood."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_MAX_READ)
        else:
            with Path(name).open("rb") as file:
                data = file.read(_MAX_READ)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}") from None
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: not text: {error.reason} at byte {error.start}") from None


def _shown(name: str) -> str:
    return "stdin" if name == "-" else name


def _written(form: str, reports: tuple["SpecReport", ...], texts: Sequence[str]) -> str:
    from gpuvet.report import spec

    if form == "json":
        return _json(
            {
                "schema": "gpuvet/spec-check/1",
                "findings": [each.as_json() for r in reports for each in r.findings],
                "suppressed": [
                    each._asdict() | {"file": r.file} for r in reports for each in r.suppressed
                ],
                "skipped": [
                    each._asdict() | {"file": r.file} for r in reports for each in r.skipped
                ],
                "notes": [f"{r.file}: {note}" for r in reports for note in r.notes],
            }
        )
    if form == "sarif":
        from gpuvet import __version__
        from gpuvet.checks.spec_pages import rule_texts
        from gpuvet.report.sarif import sarif

        return _json(sarif(reports, rule_texts(), version=__version__))
    if form == "github":
        return spec.github_annotations(reports)
    if form == "markdown":
        return spec.spec_markdown(reports)
    return "\n".join(
        spec.spec_text(report, text) for report, text in zip(reports, texts, strict=True)
    )


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _reaches(found: "Severity | None", bar: str) -> bool:
    from gpuvet.model.check import Severity

    order = [*Severity]
    lowest = Severity("warning" if bar == "risk" else bar)
    return found is not None and order.index(found) <= order.index(lowest)


def _fix(
    texts: Sequence[tuple[str, str]], reports: tuple["SpecReport", ...], *, write: bool
) -> None:
    """Print the mechanical fixes as a diff, or make them."""
    import difflib

    from gpuvet.modes.spec import fixed_text

    for (name, text), report in zip(texts, reports, strict=True):
        fixed, made = fixed_text(text, report)
        if write and name != "-" and made:
            with Path(name).open("w", encoding="utf-8", newline="") as file:
                file.write(fixed)
            sys.stdout.write(f"{name}: {len(made)} fixed\n")
        elif not write or name == "-":
            diff = difflib.unified_diff(
                text.splitlines(keepends=True),
                fixed.splitlines(keepends=True),
                fromfile=f"a/{_shown(name)}",
                tofile=f"b/{_shown(name)}",
            )
            sys.stdout.write("".join(line if line.endswith("\n") else f"{line}\n" for line in diff))
        codes = ", ".join(sorted({finding.code for finding in made})) or "none"
        left = len(report.findings) - len(made)
        sys.stderr.write(f"{_shown(name)}: mechanical fixes: {codes}; {left} findings need you\n")


def run_simulate(args: argparse.Namespace) -> int:
    """Simulate each log; 1 when a rule trips, cannot be loaded or does not finish."""
    from gpuvet.modes.spec_simulate import simulate_spec
    from gpuvet.report.simulation import several_text

    spec = _read(args.file)
    results = [
        simulate_spec(
            spec,
            file=_shown(args.file),
            log=_log(name),
            name=name,
            log_format=args.log_format,
            stage_start=args.stage_start,
            end_seconds=args.end_seconds,
            agent=args.agent_version,
        )
        for name in args.logs
    ]
    if args.svg:
        from gpuvet.report.svg import simulation_svg

        with Path(args.svg).open("w", encoding="utf-8", newline="\n") as file:
            file.write(simulation_svg(results[0]))
    if args.format == "json":
        dumped = [
            {"schema": "gpuvet/spec-simulate/1"}
            | each.model_dump(exclude={"findings"})
            | {"findings": [finding.as_json() for finding in each.findings]}
            for each in results
        ]
        sys.stdout.write(_json(dumped[0] if len(dumped) == 1 else {"logs": dumped}))
    else:
        sys.stdout.write(several_text(results))
    return int(any(each.needs_action for each in results))


def _log(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name}: no such log file")
    return path


def run_suggest(args: argparse.Namespace) -> int:
    """Propose monitors; 1 when a bad log was given and no rule would trip on it."""
    from gpuvet.modes.spec_suggest import suggest_monitors
    from gpuvet.report.suggestion import suggestion_text

    proposal = suggest_monitors(
        log=_log(args.log),
        bad_logs=tuple(_log(name) for name in args.log_bad),
        log_format=args.log_format,
        stage_start=args.stage_start,
    )
    if args.format == "json":
        sys.stdout.write(_json({"schema": "gpuvet/spec-suggest/1"} | proposal.model_dump()))
    elif args.format == "yaml":
        sys.stdout.write(proposal.yaml)
    else:
        sys.stdout.write(suggestion_text(proposal))
    return int(bool(proposal.bad_runs) and not all(each.first_trip for each in proposal.bad_runs))


def run_explain(args: argparse.Namespace) -> int:
    """Explain one check."""
    from gpuvet.checks.spec_pages import explanation

    sys.stdout.write(explanation(args.code))
    return 0


def run_schema(args: argparse.Namespace) -> int:  # noqa: ARG001  (every command takes args)
    """Write the JSON Schema."""
    from gpuvet.report.spec_schema import job_schema

    sys.stdout.write(_json(job_schema()))
    return 0


def run_observe(args: argparse.Namespace) -> int:
    """Write ServiceMonitor and alert rules."""
    from gpuvet.modes.spec import job_of
    from gpuvet.modes.spec_simulate import restart_policy
    from gpuvet.report.observe import observe_yaml

    job = job_of(_read(args.file), _shown(args.file))
    cutoffs = [rule.cutoff.integer for rule in job.rules if rule.cutoff.integer]
    sys.stdout.write(observe_yaml(restart_policy(job), min(cutoffs, default=None)))
    return 0
