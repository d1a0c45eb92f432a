"""One self-contained HTML page of a report: no request, no foreign script.

Its own Jinja environment escapes everything; the policy in its head allows exactly the script and
the style sheet whose hashes it names, so that nothing else could run even if it got in.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpuvet.model.audit import AuditReport
from gpuvet.model.preflight import PreflightReport
from gpuvet.model.report import IncidentReport
from gpuvet.report.page import Page
from gpuvet.report.page_audit import audit_model
from gpuvet.report.page_incident import incident_model
from gpuvet.report.page_preflight import preflight_model

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def audit_page(report: AuditReport) -> str:
    """Return an audit as one HTML file."""
    return page(audit_model(report))


def incident_page(report: IncidentReport) -> str:
    """Return an incident as one HTML file."""
    return page(incident_model(report))


def preflight_page(report: PreflightReport) -> str:
    """Return a preflight as one HTML file."""
    return page(preflight_model(report))


def page(model: Page) -> str:
    """Return a page laid out, with its data, script, style and policy inside."""
    style, script = _asset("page.css"), _asset("page.js")
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=model,
            style=Markup(style),  # noqa: S704 (our own files, hashed into the policy)
            script=Markup(script),  # noqa: S704 (likewise)
            data=Markup(json_for_html(model.data)),  # noqa: S704 (escaped for a script element)
            policy=policy(style, script),
        )
    )
    # ASCII only: whatever encoding a shell gives a redirected file, a browser reads it right.
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def json_for_html(data: Mapping[str, Any]) -> str:
    """Return JSON in which nothing ends a script element or begins a comment or an entity."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for sign, escape in _UNSAFE.items():
        text = text.replace(sign, escape)
    return text


def policy(style: str, script: str) -> str:
    """Return the content security policy: our one script and style, nothing from anywhere."""
    return "; ".join(_directives(style, script))


def _directives(style: str, script: str) -> Iterator[str]:
    yield "default-src 'none'"
    yield f"script-src '{_digest(script)}'"
    yield f"style-src '{_digest(style)}'"
    yield "img-src data:"
    yield "base-uri 'none'"
    yield "form-action 'none'"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    """Return one of our own files, with line ends as the browser will read them."""
    text = (files("gpuvet.report") / "templates" / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("gpuvet.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
