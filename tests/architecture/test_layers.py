"""Who may import whom, and where third parties, sockets and processes may stand."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GPUVET = ROOT / "server" / "gpuvet"
EVALS = ROOT / "evals" / "gpuvet_evals"

# A layer imports itself and what stands left of it, never what stands right.
LAYERS = (
    {"errors", "_version", "assets"},
    {"model"},
    {"catalog"},
    {"parse"},
    {"simulate", "report", "explain"},
    {"calculators"},
    {"checks"},
    {"aws"},
    {"record"},
    {"case"},
    {"modes"},
    {"tools"},
    {"app", "docs"},
    {"web"},
    {"hosts"},
    {"commands"},
    {"cli", "__main__"},
)

# Third parties and where they may be imported; paths are prefixes below the repository.
CONFINED = {
    "boto3": ("server/gpuvet/aws/live",),
    "botocore": ("server/gpuvet/aws/live",),
    "mcp": (
        "server/gpuvet/tools/",
        "server/gpuvet/app.py",
        "server/gpuvet/web/",
        "evals/gpuvet_evals/run/",
    ),
    "jinja2": ("server/gpuvet/report/", "evals/gpuvet_evals/report"),
    "ruamel": ("server/gpuvet/parse/yaml_text.py",),
    "anthropic": ("evals/gpuvet_evals/model.py",),
    "socket": ("server/gpuvet/aws/live", "server/gpuvet/web/run.py"),
    "http": ("server/gpuvet/aws/live",),
    "urllib": ("server/gpuvet/aws/live",),
    "subprocess": ("server/gpuvet/simulate/guard.py",),
    "multiprocessing": ("server/gpuvet/simulate/guard.py", "evals/gpuvet_evals/pattern_guard.py"),
    "asyncio": (),
    "yaml": (),
    "pickle": (),
    "marshal": (),
    "shelve": (),
    "ctypes": (),
    "uvicorn": ("server/gpuvet/web/",),
    "starlette": ("server/gpuvet/web/",),
    "requests": (),
    "httpx": (),
    # POSIX only: Claude Desktop runs on Windows too.
    "fcntl": (),
    "grp": (),
    "pwd": (),
    "resource": (),
    "termios": (),
    "tty": (),
    "pty": (),
    "posix": (),
    "syslog": (),
}

# Names whose parsing is harmless: no socket is opened by them.
HARMLESS = {"urllib.parse", "http.HTTPStatus"}


def sources() -> list[Path]:
    return sorted(p for top in (GPUVET, EVALS) for p in top.rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Yield every module a file imports, anywhere in it, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno


def layer_of(module: str) -> int | None:
    """Return the place of a gpuvet module in the order, or None for the package itself."""
    parts = module.split(".")
    if parts[0] != "gpuvet" or len(parts) == 1:
        return None
    return next((i for i, layer in enumerate(LAYERS) if parts[1] in layer), -1)


def own_layer(path: Path) -> int | None:
    parts = path.relative_to(GPUVET).parts
    return layer_of(f"gpuvet.{parts[0].removesuffix('.py')}") if parts[0] != "__init__.py" else None


def test_every_module_belongs_to_a_layer() -> None:
    homeless = [p for p in sources() if p.is_relative_to(GPUVET) and own_layer(p) == -1]
    assert homeless == []


def test_left_never_imports_right() -> None:
    crossed = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sources()
        if path.is_relative_to(GPUVET) and (own := own_layer(path)) is not None
        for module, line in imports(path)
        if (other := layer_of(module)) is not None and other > own
    ]
    assert crossed == []


def test_gpuvet_never_imports_its_evals() -> None:
    crossed = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources()
        if path.is_relative_to(GPUVET)
        for module, line in imports(path)
        if module.split(".")[0] == "gpuvet_evals"
    ]
    assert crossed == []


@pytest.mark.parametrize("name", sorted(CONFINED))
def test_third_parties_and_what_opens_sockets_or_processes_stay_in_their_place(name: str) -> None:
    allowed = CONFINED[name]
    stray = [
        f"{where}:{line} imports {module}"
        for path in sources()
        for module, line in imports(path)
        if module.split(".")[0] == name and module not in HARMLESS
        if not (where := path.relative_to(ROOT).as_posix()).startswith(allowed or ("\0",))
    ]
    assert stray == []


def test_nothing_evaluates_text_or_starts_a_program() -> None:
    banned = {"eval", "exec", "compile", "__import__"}
    dangerous = {"system", "popen", "fork", "spawnl", "spawnv", "execv", "execve", "execl", "kill"}
    found: list[str] = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            call = node.func
            if isinstance(call, ast.Name) and call.id in banned:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {call.id}")
            of_os = isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name)
            if of_os and call.value.id == "os" and call.attr in dangerous:  # type: ignore[attr-defined]  # narrowed by of_os
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} os.{call.attr}")  # type: ignore[attr-defined]  # likewise
    assert found == []


def test_files_are_opened_with_an_encoding() -> None:
    bare: list[str] = []
    for path in [*sources(), *sorted((ROOT / "tests").rglob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _opens_text(node):
                given = {k.arg for k in node.keywords}
                if "encoding" not in given:
                    bare.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert bare == []


def _opens_text(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else None
    attribute = call.func.attr if isinstance(call.func, ast.Attribute) else None
    if attribute in {"read_text", "write_text"}:
        return True
    if name != "open" and attribute != "open":
        return False
    if attribute == "open" and not _is_path_open(call):
        return False
    modes = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    modes += [
        k.value.value
        for k in call.keywords
        if k.arg == "mode" and isinstance(k.value, ast.Constant) and isinstance(k.value.value, str)
    ]
    return not any("b" in mode for mode in modes)


def _is_path_open(call: ast.Call) -> bool:
    """Leave out `zipfile.open`, `tarfile.open`, `gzip.open` and the like."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return not (
        isinstance(owner, ast.Name)
        and owner.id in {"gzip", "lzma", "bz2", "zipfile", "tarfile", "archive", "os", "io"}
    )


def test_folders_at_the_top_are_no_packages() -> None:
    assert [
        f for f in ("server", "evals", "skill", "references") if (ROOT / f / "__init__.py").exists()
    ] == []
