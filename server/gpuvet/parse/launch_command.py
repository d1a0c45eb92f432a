"""A container's command: what starts the workers, with which options, behind which shell.

Pure; text is split as a shell would split it, never run or expanded.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpuvet.model.job_spec import Argument, Field, Launch, Launcher
from gpuvet.model.yaml_tree import MappingNode, Node, Scalar, SequenceNode, joined

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_WRAPPERS = frozenset({"tini", "dumb-init", "env", "exec", "nohup", "time", "sudo", "stdbuf"})
_OTHER_LAUNCHERS = frozenset(
    {"torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "horovodrun", "composer"}
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[0-9.]*\Z")
_SCRIPT = re.compile(r".+\.(?:py|sh|bash)\Z")
_LAUNCHER_MODULES = ("torch.distributed.run", "torch.distributed.launch")
_SHORT = {"-t": "tee", "-r": "redirects"}
_ABBREVIATED = {"redirects": 3, "tee": 2, "log_dir": 5, "nnodes": 2}  # argparse takes prefixes
_OPERATORS = ("&&", "||", "|&", "|", ";", "&", "\n", "(", ")")


class _Word(NamedTuple):
    text: str
    where: Field


class _Command(NamedTuple):
    words: tuple[str, ...]
    then: str  # the operator behind it


def read_launch(container: Field) -> Launch:
    """Return how a container starts its workers."""
    words = [
        _Word(item.words or "", item)
        for key in ("command", "args")
        for item in container.at(key).items
    ]
    if not words:
        return Launch(Launcher.HIDDEN, "", container.at("command"))
    shell = _shell_text([word.text for word in words])
    if shell is not None:
        return _from_shell(words[shell])
    return _from_exec(words)


def shell_paths(node: Node, path: str = "") -> Iterator[str]:
    """Yield the path of every text that a `sh -c` runs: containers, probes, hooks."""
    if isinstance(node, MappingNode):
        yield from _shell_paths_here(node, path)
        for entry in node.entries:
            yield from shell_paths(entry.value, joined(path, entry.key.text))
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.items):
            yield from shell_paths(item, f"{path}[{index}]")


def _shell_paths_here(node: MappingNode, path: str) -> Iterator[str]:
    words: list[tuple[str, str]] = []
    for key in ("command", "args"):
        entry = node.get(key)
        if entry is not None and isinstance(entry.value, SequenceNode):
            words += [
                (item.text if isinstance(item, Scalar) else "", f"{joined(path, key)}[{index}]")
                for index, item in enumerate(entry.value.items)
            ]
    index = _shell_text([text for text, _ in words])
    if index is not None:
        yield words[index][1]


def _shell_text(words: Sequence[str]) -> int | None:
    """Return the index of the text behind `sh -c`, if there is one."""
    position = 0
    while position < len(words) and (
        _base(words[position]) in _WRAPPERS or words[position].startswith("-")
    ):
        position += 1
    if position >= len(words) or _base(words[position]) not in _SHELLS:
        return None
    for index in range(position + 1, len(words)):
        word = words[index]
        if not word.startswith(("-", "+")):
            previous = words[index - 1]
            return (
                index if previous.startswith("-") and _has_c(words[position + 1 : index]) else None
            )
    return None


def _has_c(flags: Sequence[str]) -> bool:
    return any(re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", flag) for flag in flags)


def _from_exec(words: Sequence[_Word]) -> Launch:
    texts = [word.text for word in words]
    for index, text in enumerate(texts):
        if _base(text) == "hyperpodrun":
            rest = words[index + 1 :]
            return Launch(
                Launcher.HYPERPODRUN,
                "hyperpodrun",
                words[index].where,
                arguments=tuple(_arguments(rest)),
                words=tuple(texts[index:]),
            )
    kind, word, at = _program(texts)
    rest = words[at + 1 :]
    return Launch(kind, word, words[at].where, tuple(_arguments(rest)), words=tuple(texts[at:]))


def _from_shell(word: _Word) -> Launch:
    commands = tuple(_commands(word.text))
    for command in commands:
        index = next((i for i, w in enumerate(command.words) if _base(w) == "hyperpodrun"), None)
        if index is not None:
            return _shell_launch(Launcher.HYPERPODRUN, command, index, word)
    ranked = [(command, *_program(command.words)) for command in commands if command.words]
    for wanted in (_is_launcher, _is_hidden, _is_python):
        for command, kind, name, at in ranked:
            if wanted(kind, name):
                return _shell_launch(kind, command, at, word, name)
    return Launch(Launcher.HIDDEN, "", word.where, shell=word.where, shell_text=word.text)


def _is_launcher(kind: Launcher, name: str) -> bool:
    return kind is Launcher.OTHER and name != "python"


def _is_python(kind: Launcher, name: str) -> bool:
    return kind is Launcher.OTHER and name == "python"


def _is_hidden(kind: Launcher, name: str) -> bool:
    return kind is Launcher.HIDDEN and bool(_SCRIPT.match(name))


def _shell_launch(
    kind: Launcher, command: _Command, at: int, word: _Word, name: str = "hyperpodrun"
) -> Launch:
    rest = [_Word(text, word.where) for text in command.words[at + 1 :]]
    return Launch(
        kind,
        name,
        word.where,
        arguments=tuple(_arguments(rest)),
        shell=word.where,
        is_piped=command.then.startswith("|") and command.then != "||",
        has_exec="exec" in command.words[:at],
        words=command.words[at:],
        shell_text=word.text,
    )


def _program(words: Sequence[str]) -> tuple[Launcher, str, int]:
    """Return what a command starts, by which word, and where that word stands."""
    for index, word in enumerate(words):
        base = _base(word)
        if base in _OTHER_LAUNCHERS:
            return Launcher.OTHER, base, index
        if _PYTHON.match(word):
            module = " ".join(words[index + 1 :])
            launched = next((name for name in _LAUNCHER_MODULES if name in module), None)
            if "hyperpod" in module.split(" ", 2)[-1][:60] and "-m" in words[index + 1 : index + 3]:
                return Launcher.HYPERPODRUN, "hyperpodrun", index
            return Launcher.OTHER, f"python -m {launched}" if launched else "python", index
        if base in _SHELLS or base in _WRAPPERS or word.startswith("-") or _ASSIGNMENT.match(word):
            continue
        return Launcher.HIDDEN, word, index
    return Launcher.HIDDEN, words[0] if words else "", 0


def _base(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _arguments(words: Sequence[_Word]) -> Iterator[Argument]:
    """Yield the options of a command line: --name=value, --name value, name=value, -t 3."""
    is_before_script = True
    for index, (text, where) in enumerate(words):
        follower = words[index + 1].text if index + 1 < len(words) else None
        value = follower if follower is not None and not _is_option(follower) else None
        if text.startswith("--") and len(text) > 2:
            name, equals, given = text[2:].partition("=")
            yield Argument(_canonical(name), given if equals else value, where)
        elif is_before_script and text[:2] in _SHORT:
            yield Argument(_SHORT[text[:2]], text[2:].lstrip("=") or value, where)
        elif "=" in text and re.match(r"\+{0,2}[A-Za-z_][\w.]*=", text):
            name, _, given = text.lstrip("+").partition("=")
            yield Argument(_canonical(name), given, where)
        elif _SCRIPT.match(text):
            is_before_script = False


def _is_option(text: str) -> bool:
    return text.startswith("-") and not re.match(r"-\d", text)


def _canonical(name: str) -> str:
    name = name.replace("-", "_")
    for full, least in _ABBREVIATED.items():
        if len(name) >= least and full.startswith(name):
            return full
    return name


def _commands(text: str) -> Iterator[_Command]:
    words: list[str] = []
    for token, is_operator in _tokens(text):
        if is_operator:
            if words:
                yield _Command(tuple(words), token)
            words = []
        else:
            words.append(token)
    if words:
        yield _Command(tuple(words), "")


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield words without their quotes, and operators."""
    word: list[str] = []
    is_open = False  # an empty quoted word counts
    at = 0
    while at < len(text):
        char = text[at]
        operator = next((op for op in _OPERATORS if text.startswith(op, at)), None)
        is_redirect = char == "&" and at > 0 and text[at - 1] in "<>"
        if char == "\\" and at + 1 < len(text):
            word.append("" if text[at + 1] == "\n" else text[at + 1])
            at += 2
        elif char in "'\"":
            end = _closing(text, at)
            word.append(text[at + 1 : end])
            is_open = True
            at = end + 1
        elif char == "#" and not word:
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif char in " \t\r" or (operator and not is_redirect):
            if word or is_open:
                yield "".join(word), False
            word, is_open = [], False
            if operator:
                yield operator, True
            at += len(operator or char)
        else:
            word.append(char)
            at += 1
    if word or is_open:
        yield "".join(word), False


def _closing(text: str, start: int) -> int:
    quote = text[start]
    at = start + 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" and quote == '"' else 1
    return min(at, len(text))
