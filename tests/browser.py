"""A headless Chromium over its debugging pipe: no driver, no socket, no package.

Messages are JSON, each ended by a NUL byte, on file descriptors 3 (to the browser) and 4 (from
it). POSIX only, like the tests that use it.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# Puts the pipe's ends where the browser looks for them, then becomes the browser.
_ENDS = (
    "import os, sys; i, o = int(sys.argv[1]), int(sys.argv[2]); os.dup2(i, 103); os.dup2(o, 104); "
    "os.dup2(103, 3); os.dup2(104, 4); os.execv(sys.argv[3], sys.argv[3:])"
)
_PATIENCE = 60.0  # seconds for one answer on a busy machine


def chromium() -> str | None:
    """Return the browser's path, or None where there is none or no pipe to drive it by."""
    if os.name != "posix":
        return None
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


class Browser:
    """One browser with one page."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._number, self._rest = 0, b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Performance"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Return the answer of one command."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        answer = self._until(id=self._number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer.get("result", {})
        return result

    def _until(self, **wanted: object) -> dict[str, Any]:
        """Return the first message that has these members; keep the events before it."""
        end = time.monotonic() + _PATIENCE
        while True:
            message = self._message(end)
            if all(message.get(key) == value for key, value in wanted.items()):
                return message
            if "method" in message:
                self.events.append(message)

    def _message(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError("the browser has gone")
            self._rest += part
        head, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(head)
        return message

    def visit(self, path: Path) -> None:
        """Open a file and wait until it has loaded and been painted twice."""
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self._until(method="Page.loadEventFired")
        self.evaluate("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))")

    def evaluate(self, script: str) -> Any:  # noqa: ANN401 (whatever JSON the page gives)
        """Return the value of an expression in the page; promises are awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def size(self, width: int, height: int, *, scale: float = 1.0) -> None:
        """Set the size of the view."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    def media(self, *, scheme: str = "light", kind: str = "") -> None:
        """Prefer a colour scheme, or show the page as printed."""
        self.call(
            "Emulation.setEmulatedMedia",
            media=kind,
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def key(self, name: str) -> None:
        """Press and release one key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Save what is seen, or the whole page, as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """Return the page as printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def of(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of every event of one kind since the page was opened."""
        self.evaluate("0")
        return [e["params"] for e in self.events if e["method"] == method]


@contextmanager
def browser() -> Generator[Browser]:
    """Start a browser with a profile of its own and end it."""
    path = chromium()
    if path is None:
        raise RuntimeError("no Chromium on this machine")
    into, ours = os.pipe()
    theirs, out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        start = (sys.executable, "-c", _ENDS, str(into), str(out))
        process = subprocess.Popen(
            [*start, path, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(into, out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(into)
        os.close(out)
        try:
            yield Browser(ours, theirs)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(ours)
            os.close(theirs)
