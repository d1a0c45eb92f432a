"""The generated files of the packages: which there are, written or compared."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from gpuvet.hosts.devops_agent import deployment_files
from gpuvet.hosts.icon import icon_png
from gpuvet.hosts.plugin import FOLDER as PLUGIN
from gpuvet.hosts.plugin import as_json, plugin_files
from gpuvet.hosts.registry import entry
from gpuvet.hosts.snippets import FOLDER, snippet_files


def host_files() -> Mapping[str, bytes]:
    """Return every generated file by its path in the checkout."""
    texts = {
        **plugin_files(),
        **snippet_files(),
        **deployment_files(),
        f"{FOLDER}/server.json": as_json(entry()),
    }
    files = {name: text.encode() for name, text in texts.items()}
    return MappingProxyType({**files, f"{PLUGIN}/.claude-plugin/icon.png": icon_png()})


def stale_files(root: Path) -> tuple[str, ...]:
    """Return the paths of files that are missing, not current, or no longer part of the plugin."""
    files = host_files()
    stale = [name for name, content in files.items() if _content_of(root / name) != content]
    there = sorted(p for p in (root / PLUGIN).rglob("*") if p.is_file())
    left = [path.relative_to(root).as_posix() for path in there]
    return (*stale, *(name for name in left if name not in files))


def write_files(root: Path) -> tuple[str, ...]:
    """Write what is not current and remove what is no longer part; return the paths."""
    files, stale = host_files(), stale_files(root)
    for name in stale:
        path = root / name
        if name in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[name])
        else:
            path.unlink()
    return stale


def _content_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
