"""Job specs: text in, findings or a simulation out. Strings the parts together, holds no rule."""

import re
from collections.abc import Iterator
from pathlib import Path

from gpuvet.checks.registry import is_selected, require_known, run
from gpuvet.checks.spec import CODES, DOCUMENT_CHECKS, FIELD_CHECKS, JOB_CHECKS, MONITOR_CHECKS
from gpuvet.errors import SpecSyntaxError, UsageError
from gpuvet.model.check import (
    CheckOptions,
    Finding,
    Severity,
    SkippedDocument,
    SpecReport,
    Suppressed,
)
from gpuvet.model.job_spec import CheckContext, DocumentRole, JobSpec, Manifest, SpecFile
from gpuvet.parse.job_yaml import read_spec_file
from gpuvet.parse.untrusted import clean

MAX_MESSAGE = 600
# With {% if %} lines in between, what is missing or doubled may well be there after rendering.
_UNDECIDED_IN_TEMPLATES = frozenset(
    {"HPJ002", "HPJ015", "HPJ021", "HPJ032", "HPJ035", "HPJ044", "HPJ047", "HPJ055", "HPJ060"}
    | {"HPJ062", "HPJ064", "HPJ066", "HPJ071", "HPJ105", "HPJ106", "HPJ107", "HPJ136", "HPJ146"}
)
_SUPPRESSION = re.compile(
    r"#\s*gpuvet:\s*ignore(?P<file>-file)?\b[\s:\[(]*"
    r"(?P<codes>HPJ\d{0,3}(?:[\s,]+HPJ\d{0,3})*)[\])]?[\s:.,-]*(?P<reason>[^\n]*)"
)


def agent_version(text: str | None) -> tuple[int, ...] | None:
    """Return a version such as 1.1.3 as numbers.

    Raises:
        UsageError: it is not made of numbers and dots.
    """
    if text is None:
        return None
    if not re.fullmatch(r"v?\d{1,4}(?:\.\d{1,4}){0,3}", text):
        raise UsageError(f"agent version {text[:40]!r} is not like 1.1.3")
    return tuple(int(part) for part in text.removeprefix("v").split("."))


def check_text(text: str, *, file: str = "-", options: CheckOptions | None = None) -> SpecReport:
    """Return what the checks say of one file, by line.

    Args:
        text: The file, at most 1 MiB: YAML or JSON, one or more documents.
        file: Its name, for the findings.
        options: What else is known, and which checks are wanted.

    Raises:
        UsageError: an option is not understood, or the file is too large.
    """
    options = options or CheckOptions()
    require_known((*options.select, *options.ignore), CODES)
    context = CheckContext(
        instance_type=options.instance_type,
        agent_version=agent_version(options.agent_version),
        script=options.script,
        quota_pods=options.quota_pods,
    )
    spec = read_spec_file(file, text, context)
    found = [finding for manifest in spec.manifests for finding in _findings(manifest, file)]
    wanted = [each for each in found if is_selected(each.code, options.select, options.ignore)]
    return _report(spec, wanted)


def _findings(manifest: Manifest, file: str) -> Iterator[Finding]:
    for finding in _all_findings(manifest, file):
        if not (manifest.template_lines and finding.code in _UNDECIDED_IN_TEMPLATES):
            yield finding


def _all_findings(manifest: Manifest, file: str) -> Iterator[Finding]:
    yield from run(DOCUMENT_CHECKS, manifest, file)
    job = manifest.job
    if job is None:
        return
    yield from run(FIELD_CHECKS, job, file)
    if not job.is_fragment:
        yield from run(JOB_CHECKS, job, file)
    yield from run(MONITOR_CHECKS, job, file)


def _report(spec: SpecFile, findings: list[Finding]) -> SpecReport:
    kept, suppressed, notes = _suppress(spec.text, findings)
    ordered = sorted(kept, key=lambda each: (each.line, each.column, each.code, each.message))
    jobs = [each.job for each in spec.manifests if each.job is not None]
    return SpecReport(
        file=spec.name,
        findings=tuple(_cleaned(finding) for finding in ordered),
        suppressed=suppressed,
        skipped=tuple(_skipped(spec)),
        notes=notes,
        jobs=sum(not job.is_fragment for job in jobs),
        monitors=sum(len(job.rules) for job in jobs),
    )


def _cleaned(finding: Finding) -> Finding:
    return finding._replace(
        message=clean(finding.message, limit=MAX_MESSAGE),
        fix=clean(finding.fix, limit=MAX_MESSAGE),
        path=clean(finding.path),
    )


def _skipped(spec: SpecFile) -> Iterator[SkippedDocument]:
    for each in spec.manifests:
        if each.role is DocumentRole.OTHER and each.fault is None:
            kind = clean(each.kind, limit=80) or "document without a kind"
            name = clean(each.root.at("metadata", "name").words or "", limit=80)
            line = each.document.first_line if each.document else 0
            why = "not a HyperPodPyTorchJob, log monitors or a ServiceMonitor"
            yield SkippedDocument(line=line, name=f"{kind} {name}".strip(), why=why)


def _suppress(
    text: str, findings: list[Finding]
) -> tuple[list[Finding], tuple[Suppressed, ...], tuple[str, ...]]:
    """Take out what `# gpuvet: ignore HPJ133 reason` names; without a reason it does not count."""
    if "gpuvet:" not in text:
        return findings, (), ()
    lines = text.splitlines()
    marks: list[tuple[int | None, tuple[str, ...], str]] = []
    notes: list[str] = []
    for number, line in enumerate(lines, 1):
        match = _SUPPRESSION.search(line)
        if match is None:
            continue
        reason = match["reason"].strip()
        if len(reason) < 3:
            notes.append(f"line {number}: a suppression without a reason is not honoured")
            continue
        target = None if match["file"] else _target_line(lines, number)
        marks.append((target, tuple(re.findall(r"HPJ\d*", match["codes"])), reason))
    return _split_by(findings, marks, tuple(notes))


def _target_line(lines: list[str], number: int) -> int:
    """Return the line a comment speaks of: its own, or the next one when it stands alone."""
    if not lines[number - 1].lstrip().startswith("#"):
        return number
    for following in range(number, len(lines)):
        if lines[following].strip() and not lines[following].lstrip().startswith("#"):
            return following + 1
    return number


def _split_by(
    findings: list[Finding],
    marks: list[tuple[int | None, tuple[str, ...], str]],
    notes: tuple[str, ...],
) -> tuple[list[Finding], tuple[Suppressed, ...], tuple[str, ...]]:
    kept: list[Finding] = []
    suppressed: list[Suppressed] = []
    for each in findings:
        reason = next(
            (
                reason
                for line, codes, reason in marks
                if line in {None, each.line} and each.code.startswith(codes)
            ),
            None,
        )
        if reason is None:
            kept.append(each)
        else:
            suppressed.append(
                Suppressed(
                    code=each.code, line=each.line, path=clean(each.path), reason=clean(reason)
                )
            )
    return kept, tuple(suppressed), notes


def fixed_text(text: str, report: SpecReport) -> tuple[str, tuple[Finding, ...]]:
    """Return the text with every mechanical fix made, and the findings that were mended.

    Comments, order and layout stay: only the faulty words are replaced. Where two edits overlap
    the first one in the file is made; a second run makes the other.
    """
    made: list[Finding] = []
    edits = sorted(
        ((edit, finding) for finding in report.findings for edit in finding.edits),
        key=lambda pair: (pair[0].start, pair[0].end),
    )
    parts: list[str] = []
    position = 0
    for edit, finding in edits:
        if edit.start < position:
            continue
        parts += (text[position : edit.start], edit.text)
        position = edit.end
        made.append(finding)
    return "".join((*parts, text[position:])), tuple(made)


def bounded(report: SpecReport, *, most: int = 40) -> SpecReport:
    """Return a report with at most so many findings, the strongest, and a note of the others."""
    if len(report.findings) <= most:
        return report
    order = [*Severity]
    strongest = sorted(report.findings, key=lambda each: order.index(each.severity))[:most]
    kept = tuple(each for each in report.findings if each in strongest)
    left = len(report.findings) - most
    note = f"{left} more findings of lower severity were left out; narrow with select"
    return report._replace(findings=kept, notes=(*report.notes, note))


def worst(reports: tuple[SpecReport, ...]) -> Severity | None:
    """Return the strongest severity found."""
    for severity in Severity:
        if any(report.number_of(severity) for report in reports):
            return severity
    return None


def job_of(text: str, file: str) -> JobSpec:
    """Return the first job, or the bare monitors, of a file.

    Raises:
        UsageError: the file holds neither, or is not YAML.
    """
    spec = read_spec_file(file, text)
    for manifest in spec.manifests:
        if manifest.fault is not None:
            message, line, column = manifest.fault
            raise SpecSyntaxError(f"{file}:{line}:{column}: {message}", line=line, column=column)
    jobs = [each.job for each in spec.manifests if each.job is not None]
    with_rules = [job for job in jobs if job.rules]
    if not jobs:
        raise UsageError(
            f"{file}: neither a HyperPodPyTorchJob nor a logMonitoringConfiguration stands there"
        )
    return (with_rules or jobs)[0]


def read_script(path: Path | None) -> str | None:
    """Return the text of a training script.

    Raises:
        UsageError: it cannot be read.
    """
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
