"""Findings as SARIF 2.1.0, for code scanning."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gpuvet.model.check import Finding, Severity, SpecReport, Suppressed

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}


class RuleText:
    """What SARIF wants to know of a check."""

    __slots__ = ("code", "fix", "name", "severity", "why")

    def __init__(self, code: str, name: str, severity: Severity, why: str, fix: str) -> None:
        self.code, self.name, self.severity, self.why, self.fix = code, name, severity, why, fix


def sarif(
    reports: Sequence[SpecReport], rules: Sequence[RuleText], *, version: str
) -> dict[str, Any]:
    """Return one run over all files; every rule that was found is described."""
    used = {finding.code for report in reports for finding in report.findings}
    used |= {each.code for report in reports for each in report.suppressed}
    listed = [rule for rule in rules if rule.code in used]
    index = {rule.code: number for number, rule in enumerate(listed)}
    results = [_result(each, index) for report in reports for each in report.findings]
    results += [
        _suppressed(each, report.file, index) for report in reports for each in report.suppressed
    ]
    driver = {
        "name": "gpuvet",
        "semanticVersion": version,
        "rules": [_rule(rule) for rule in listed],
    }
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }


def _rule(rule: RuleText) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(part.title() for part in rule.name.split("-")),
        "shortDescription": {"text": _text(rule.name.replace("-", " "))},
        "fullDescription": {"text": _text(rule.why)},
        "help": {"text": _text(rule.fix)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, index: Mapping[str, int]) -> dict[str, Any]:
    region: dict[str, int] = {}
    if finding.line:
        region = {"startLine": finding.line, "startColumn": max(finding.column, 1)}
        if (finding.end_line, finding.end_column) > (finding.line, finding.column):
            region |= {"endLine": finding.end_line, "endColumn": finding.end_column}
    return {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": _text(f"{finding.message}. {finding.why} Fix: {finding.fix}")},
        "locations": [_location(finding.file, region, finding.path)],
    }


def _suppressed(each: Suppressed, file: str, index: Mapping[str, int]) -> dict[str, Any]:
    return {
        "ruleId": each.code,
        "ruleIndex": index[each.code],
        "message": {"text": _text(f"suppressed: {each.reason}")},
        "locations": [_location(file, {"startLine": max(each.line, 1)}, each.path)],
        "suppressions": [{"kind": "inSource", "justification": each.reason}],
    }


def _location(file: str, region: Mapping[str, int], path: str) -> dict[str, Any]:
    uri = quote(file.replace("\\", "/"), safe="/._-~") if file != "-" else "stdin"
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if region:
        physical["region"] = dict(region)
    location: dict[str, Any] = {"physicalLocation": physical}
    if path:
        location["logicalLocations"] = [{"fullyQualifiedName": path}]
    return location


def _text(text: str) -> str:
    """Return message text; SARIF doubles braces, which otherwise stand for arguments (§3.11.5)."""
    return text.replace("{", "{{").replace("}", "}}")
