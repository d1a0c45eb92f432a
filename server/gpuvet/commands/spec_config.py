"""Settings of `gpuvet spec check` from `.gpuvet.toml` or `[tool.gpuvet.spec]` of pyproject.toml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpuvet.errors import UsageError
from gpuvet.model.untyped import is_object

_KEYS = {
    "select": list,
    "ignore": list,
    "instance-type": str,
    "agent-version": str,
    "fail-on": str,
    "quota-pods": int,
}


class Settings(NamedTuple):
    """What a configuration file says; the command line wins over it."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    instance_type: str | None = None
    agent_version: str | None = None
    fail_on: str | None = None
    quota_pods: int | None = None


def read_settings(start: Path) -> Settings:
    """Return the settings of the nearest file at `start` or above, up to the repository's root.

    Raises:
        UsageError: the file is not TOML, or holds a key or a type that is not known.
    """
    for folder in (start, *start.parents):
        own, shared = folder / ".gpuvet.toml", folder / "pyproject.toml"
        if own.is_file():
            return _settings(_load(own), own)
        if shared.is_file():
            table = _table(_load(shared), "tool", "gpuvet", "spec")
            if table is not None:
                return _settings(table, shared)
        if (folder / ".git").exists():
            break
    return Settings()


def _load(path: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path.name} is not TOML: {error}") from None
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read: {error.strerror}") from None


def _table(values: Mapping[str, Any], *keys: str) -> Mapping[str, Any] | None:
    for key in keys:
        inner = values.get(key)
        if not is_object(inner):
            return None
        values = inner
    return values


def _settings(values: Mapping[str, Any], path: Path) -> Settings:
    values = _table(values, "spec") or values
    for key, value in values.items():
        if key not in _KEYS:
            raise UsageError(f"{path.name}: {key!r} is not one of {', '.join(_KEYS)}")
        is_bool = isinstance(value, bool)
        if is_bool or not isinstance(value, _KEYS[key]):
            raise UsageError(f"{path.name}: {key} must be a {_KEYS[key].__name__}")
    return Settings(
        select=_codes(values, "select", path),
        ignore=_codes(values, "ignore", path),
        instance_type=values.get("instance-type"),
        agent_version=values.get("agent-version"),
        fail_on=values.get("fail-on"),
        quota_pods=values.get("quota-pods"),
    )


def _codes(values: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...]:
    codes = values.get(key, [])
    if not all(isinstance(code, str) for code in codes):
        raise UsageError(f"{path.name}: {key} must be a list of codes")
    return tuple(codes)
