"""The entry of the MCP registry, server.json, and the registry's rules for one.

The owner in its name is filled in by whoever publishes: none is invented here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuvet.hosts.words import NAME, SUMMARY, TITLE, VERSION
from gpuvet.model.untyped import is_array, is_object

OWNER = "OWNER"  # stands for the GitHub owner until the first release
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

_NAME = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_RANGE = re.compile(r"[\^~<>=*|]|\b[xX]\b|latest", re.IGNORECASE)
_TRANSPORTS = frozenset({"stdio", "streamable-http", "sse"})
_REGISTRIES = frozenset({"pypi", "npm", "oci", "nuget", "mcpb"})
_MOST_NAME, _MOST_TITLE, _MOST_DESCRIPTION, _MOST_VERSION = 200, 100, 100, 255


def entry(owner: str = OWNER) -> dict[str, Any]:
    """Return server.json."""
    return {
        "$schema": SCHEMA,
        "name": f"io.github.{owner}/{NAME}",
        "title": TITLE,
        "description": SUMMARY,
        "version": VERSION,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": NAME,
                "version": VERSION,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [{"type": "positional", "value": "serve"}],
                "environmentVariables": [
                    _variable("AWS_PROFILE", "Profile of ~/.aws/config that may read."),
                    _variable("AWS_REGION", "Region of the clusters, e.g. us-west-2."),
                ],
            }
        ],
    }


def _variable(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "isRequired": False, "isSecret": False}


def entry_faults(value: object) -> tuple[str, ...]:
    """Return what of a server.json breaks the registry's rules, in words."""
    return tuple(_faults(value)) if is_object(value) else ("it is no object",)


def _faults(value: Mapping[str, Any]) -> Iterator[str]:
    for key, most in (("name", _MOST_NAME), ("description", _MOST_DESCRIPTION)):
        if not _is_text(value.get(key), most):
            yield f"{key} has not 1 to {most} characters"
    if not _NAME.fullmatch(str(value.get("name", ""))):
        yield "name is not NAMESPACE/NAME with one slash"
    if "title" in value and not _is_text(value["title"], _MOST_TITLE):
        yield f"title has not 1 to {_MOST_TITLE} characters"
    yield from _version_faults("version", value.get("version"))
    if not str(value.get("$schema", "")).startswith("https://static.modelcontextprotocol.io/"):
        yield "$schema does not name the registry's schema"
    packages = value.get("packages", [])
    if not is_array(packages):
        yield "packages is no list"
        return
    for number, package in enumerate(packages):
        if is_object(package):
            yield from (f"packages[{number}]: {fault}" for fault in _package_faults(package))
        else:
            yield f"packages[{number}] is no object"


def _package_faults(package: Mapping[str, Any]) -> Iterator[str]:
    if package.get("registryType") not in _REGISTRIES:
        yield f"registryType is none of {', '.join(sorted(_REGISTRIES))}"
    if not _is_text(package.get("identifier"), _MOST_NAME):
        yield "identifier is missing"
    yield from _version_faults("version", package.get("version"))
    transport = package.get("transport")
    if not is_object(transport) or transport.get("type") not in _TRANSPORTS:
        yield f"transport.type is none of {', '.join(sorted(_TRANSPORTS))}"
    elif transport["type"] != "stdio" and not str(transport.get("url", "")).startswith("http"):
        yield "a remote transport has no url"
    for variable in package.get("environmentVariables", []):
        if not is_object(variable) or not _is_text(variable.get("name"), _MOST_NAME):
            yield "an environment variable has no name"
    for argument in package.get("packageArguments", []):
        kind = argument.get("type") if is_object(argument) else None
        if kind not in {"positional", "named"} or (kind == "named" and not argument.get("name")):
            yield "a package argument is neither positional nor named"


def _version_faults(key: str, version: object) -> Iterator[str]:
    if not _is_text(version, _MOST_VERSION):
        yield f"{key} has not 1 to {_MOST_VERSION} characters"
    elif _RANGE.search(str(version)):
        yield f"{key} {version!r} is not one exact version"


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most
