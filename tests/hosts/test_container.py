"""The container: linted, without rights, and its steps work where nothing else is installed."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from web_server import LIST, Command, ask

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "server" / "packaging" / "container" / "Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """Return every instruction and its words, continued lines joined."""
    text = re.sub(r"\\\n", " ", DOCKERFILE.read_text(encoding="utf-8"))
    rows = [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]
    return [(name, rest) for name, _, rest in (row.partition(" ") for row in rows)]


def last(name: str) -> str:
    return [rest for one, rest in instructions() if one == name][-1]


def lint(path: Path) -> "subprocess.CompletedProcess[str]":
    words = [str(Path(sys.executable).with_name("hadolint")), "--no-color", str(path)]
    return subprocess.run(words, capture_output=True, encoding="utf-8", check=False)


def test_the_linter_has_nothing_to_say(tmp_path: Path) -> None:
    clean = lint(DOCKERFILE)
    assert (clean.returncode, clean.stdout) == (0, "")
    planted = tmp_path / "Dockerfile"
    text = DOCKERFILE.read_text(encoding="utf-8")
    planted.write_text(text.replace("USER 10001", "RUN sudo true\nUSER root"), encoding="utf-8")
    assert "DL3002" in lint(planted).stdout


def test_it_runs_as_a_user_without_rights_shell_or_home() -> None:
    (made,) = (rest for name, rest in instructions() if name == "RUN" and "useradd" in rest)
    assert "--no-create-home" in made
    assert "--shell /usr/sbin/nologin" in made
    assert last("USER") == "10001"
    names = [name for name, _ in instructions()]
    assert names.index("USER") > max(i for i, name in enumerate(names) if name == "RUN")


def test_it_starts_closed_to_who_has_no_token_and_says_that_it_lives() -> None:
    assert json.loads(last("ENTRYPOINT")) == ["gpuvet"]
    words = json.loads(last("CMD"))
    assert words[:4] == ["serve", "--http", "--host", "0.0.0.0"]
    assert "--token-file" in words
    assert "/health" in last("HEALTHCHECK")
    assert last("STOPSIGNAL") == "SIGTERM"


def test_no_secret_and_no_checkout_is_copied_into_it() -> None:
    copied = [rest for name, rest in instructions() if name in {"COPY", "ADD"}]
    assert copied == [
        "constraints.txt dist/gpuvet-*.whl ./",
        "--from=build /opt/gpuvet /opt/gpuvet",
    ]


@pytest.mark.skipif(os.name != "posix", reason="a shell's steps")
def test_its_steps_work_in_a_clean_place_and_what_they_make_serves(tmp_path: Path) -> None:
    wheels = sorted((ROOT / "dist").glob("gpuvet-*.whl"))
    if not wheels:
        pytest.skip("needs the wheel: make wheel")
    place = tmp_path / "gpuvet"
    for path in (ROOT / "constraints.txt", wheels[-1]):
        shutil.copy(path, tmp_path)
    (step,) = (rest for name, rest in instructions() if name == "RUN" and "-m venv" in rest)
    step = step.replace("/opt/gpuvet", str(place))
    step = step.replace("python -m venv", f"{shlex.quote(sys.executable)} -m venv", 1)
    kept = ("PATH", "HOME", "PIP_CERT", "PIP_FIND_LINKS", "PIP_CONFIG_FILE")
    clean = {name: os.environ[name] for name in kept if name in os.environ}
    subprocess.run(["sh", "-ec", step], cwd=tmp_path, env=clean, check=True, timeout=300)
    token = tmp_path / "token"
    token.write_text("a-token-of-the-container-test\n", encoding="utf-8")
    asked = {"0.0.0.0": "127.0.0.1", "8000": "0", "/run/secrets/gpuvet-token": str(token)}
    given: list[str] = json.loads(last("CMD"))
    words = [asked.get(word, word) for word in given]
    process = subprocess.Popen(
        [str(place / "bin" / "gpuvet"), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=tmp_path,
        env={"PATH": f"{place / 'bin'}:{os.environ['PATH']}"},
    )
    running = Command(process)
    try:
        running.await_port()
        health = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
        health[-1] = health[-1].replace(":8000", f":{running.port}")
        assert (
            subprocess.run([str(place / "bin" / health[0]), *health[1:]], check=False).returncode
            == 0
        )
        assert ask(running.port, LIST).status == 401
        token_header = {"authorization": "Bearer a-token-of-the-container-test"}
        assert ask(running.port, LIST, token_header).status == 200
        # The skill travels in the wheel: no checkout is near.
        read = {"jsonrpc": "2.0", "id": 5, "method": "resources/read"}
        skill = ask(
            running.port, {**read, "params": {"uri": "gpuvet://skill/SKILL.md"}}, token_header
        )
        (held,) = skill.message()["result"]["contents"]
        assert held["text"] == (ROOT / "skill" / "SKILL.md").read_text(encoding="utf-8")
        assert running.stop() == 0
    finally:
        running.kill()
