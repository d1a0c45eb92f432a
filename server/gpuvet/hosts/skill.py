"""The skill as one folder or one zip that needs nothing else of the repository.

The format of agent skills: a folder named like the skill, SKILL.md at its root, references one
level below. What programs read (JSON Schemas) stays out; links to it become plain words.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from gpuvet.assets import SKILL_FILE, references, skill_text
from gpuvet.errors import UsageError
from gpuvet.hosts.archive import zip_bytes
from gpuvet.hosts.words import NAME
from gpuvet.model.untyped import is_object
from gpuvet.parse.yaml_text import load_documents

_AUTHOR = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}")  # a GitHub user's name
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
_NOT_PLAIN = re.compile(r"^[^#\n]*?:\s+(?:[&*!]|[\[{](?!.*[\"']))|^\s*<<\s*:", re.MULTILINE)
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_MOST_LINES = 400  # ours
_MOST_NAME, _MOST_DESCRIPTION, _MOST_TITLE, _MOST_SUMMARY = 64, 1024, 100, 200


def skill_files(author: str | None = None) -> Mapping[str, str]:
    """Return the text of every file of the exported skill by its path in the folder.

    Args:
        author: GitHub user who publishes it; DevOps Agent's catalogue asks for one.

    Raises:
        UsageError: The author cannot be a GitHub user.
    """
    kept = {
        f"references/{name}": path.read_text(encoding="utf-8")
        for name, path in references().items()
        if "/" not in name and name != "README.md"
    }
    files = {SKILL_FILE: _authored(skill_text(), author), **kept}
    return MappingProxyType({name: _linked(name, text, files) for name, text in files.items()})


def _authored(text: str, author: str | None) -> str:
    if author is None:
        return text
    if not _AUTHOR.fullmatch(author):
        raise UsageError(f"--author {author!r} is no GitHub user name")
    front = _FRONT.match(text)
    if front is None or "\nmetadata:\n" not in front.group(1) + "\n":
        raise UsageError("SKILL.md has no metadata to name an author in")
    return text.replace("\nmetadata:\n", f'\nmetadata:\n  author: "{author}"\n', 1)


def _linked(name: str, text: str, files: Mapping[str, str]) -> str:
    """Return text whose links all lead to a file of the folder."""
    if not name.endswith(".md"):
        return text
    base = name.rpartition("/")[0]

    def kept(link: re.Match[str]) -> str:
        return link.group(0) if _joined(base, link.group(2)) in files else link.group(1)

    return _LINK.sub(kept, text)


def _joined(base: str, target: str) -> str:
    parts: list[str] = base.split("/") if base else []
    for part in target.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def export(target: Path, author: str | None = None) -> Path:
    """Write the skill into a new folder `target`/gpuvet and return that folder.

    Raises:
        UsageError: The folder is there and holds something, or cannot be written.
    """
    folder = target / NAME
    try:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} is there and not empty; name another place")
        for name, text in skill_files(author).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
    return folder


def zipped(author: str | None = None) -> bytes:
    """Return the skill as a zip with SKILL.md at its root; the same bytes every time."""
    return zip_bytes({name: text.encode() for name, text in skill_files(author).items()})


def skill_faults(folder: Path, *, published: bool = False) -> tuple[str, ...]:
    """Return what of a skill's folder breaks the format, in words; () where nothing does.

    Args:
        folder: Holds SKILL.md.
        published: Whether it must also have what DevOps Agent's catalogue asks for.
    """
    try:
        text = (folder / SKILL_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ("SKILL.md is missing or no UTF-8 text",)
    front = _FRONT.match(text)
    if front is None:
        return ("SKILL.md does not begin with front matter between lines of ---",)
    faults = [*_front_faults(front.group(1), folder.name, published=published)]
    if text.count("\n") > _MOST_LINES:
        faults.append(f"SKILL.md has more than {_MOST_LINES} lines")
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            faults.append(f"{name} is a link")
        elif path.is_file() and name.count("/") > 1:
            faults.append(f"{name} lies more than one level deep")
        elif path.suffix == ".md":
            faults.extend(_link_faults(path, folder))
    return tuple(faults)


def _link_faults(path: Path, folder: Path) -> list[str]:
    name = path.relative_to(folder).as_posix()
    base = name.rpartition("/")[0]
    found = _LINK.finditer(path.read_text(encoding="utf-8"))
    targets = {link.group(2) for link in found}
    return [
        f"{name} links to {target}, which is not there"
        for target in sorted(targets)
        if not (folder / _joined(base, target)).is_file()
    ]


def _front_faults(front: str, folder: str, *, published: bool) -> list[str]:
    faults: list[str] = []
    if _NOT_PLAIN.search(front):
        faults.append("the front matter is not plain: no anchors, tags, merges or flow collections")
    keys = re.findall(r"^(\w[\w-]*):", front, re.MULTILINE)
    faults.extend(f"{key} stands twice" for key in sorted({k for k in keys if keys.count(k) > 1}))
    (head, *_) = load_documents(front) or ({},)
    if not is_object(head):
        return [*faults, "the front matter is no mapping"]
    name, description, title = head.get("name"), head.get("description"), head.get("title", "")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _MOST_NAME:
        faults.append("name is not lower case with single hyphens, up to 64 characters")
    elif name != folder:
        faults.append(f"name {name!r} is not the folder's, {folder!r}")
    if not isinstance(description, str) or not 1 <= len(description) <= _MOST_DESCRIPTION:
        faults.append(f"description has not 1 to {_MOST_DESCRIPTION} characters")
    if not isinstance(title, str) or len(title) > _MOST_TITLE:
        faults.append(f"title has more than {_MOST_TITLE} characters")
    return [*faults, *_metadata_faults(head.get("metadata"), published=published)]


def _metadata_faults(metadata: object, *, published: bool) -> list[str]:
    if metadata is None and not published:
        return []
    if not is_object(metadata):
        return ["metadata is no mapping"]
    faults = [
        f"metadata.{key} is no string"
        for key, value in metadata.items()
        if not isinstance(value, str)
    ]
    if not _VERSION.fullmatch(str(metadata.get("version", ""))):
        faults.append("metadata.version is not MAJOR.MINOR.PATCH")
    if len(str(metadata.get("summary", ""))) > _MOST_SUMMARY:
        faults.append(f"metadata.summary has more than {_MOST_SUMMARY} characters")
    if published:
        faults.extend(
            f"metadata.{key} is missing" for key in ("author", "summary") if key not in metadata
        )
    return faults
