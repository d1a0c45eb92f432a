"""Interleaved timing: medians with their spread, and ratios."""

import statistics
import sys
import time
from collections.abc import Callable, Mapping


def interleaved(subjects: Mapping[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Return the seconds of every run of every subject; the subjects take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(runs):
        for name, subject in subjects.items():
            start = time.perf_counter()
            subject()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def report(seconds: Mapping[str, list[float]], baseline: str) -> None:
    """Print each subject's median, lowest and highest run, and its ratio to the baseline."""
    base = statistics.median(seconds[baseline])
    for name, runs in seconds.items():
        middle = statistics.median(runs)
        say(
            f"{name:34s} {middle:8.3f} s   {min(runs):.3f} to {max(runs):.3f}"
            f"   {middle / base:5.2f} x"
        )


def peak_rss_mib() -> float | None:
    """Return the most memory this process has held, in MiB; None where it is not told."""
    try:
        import resource  # noqa: PLC0415 - not there on Windows
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def say(text: str) -> None:
    """Print one line of a report."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
