"""Generated stdout of training runs, with a fault of stated size or none.

hang: one silence of an hour. spike: the loss eightfold for 20 lines. slow: throughput at 40 % and
steps two and a half times as long for 30 lines.
"""

import math
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal

Fault = Literal["hang", "spike", "slow"]
FAULTS: tuple[Fault, ...] = ("hang", "spike", "slow")
_START = datetime(2026, 3, 2, 8)  # noqa: DTZ001  (logs write local time without a zone)

STAMPS: tuple[Callable[[datetime], str], ...] = (
    lambda at: f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}",
    lambda at: f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z",
    lambda at: f"[{at:%Y-%m-%d %H:%M:%S}]",
    lambda at: f"{at:%b %d %H:%M:%S}",
    lambda at: f"I{at:%m%d %H:%M:%S.%f}",
    lambda at: f"{at:%H:%M:%S}",
)
LINES: tuple[Callable[[int, int, float, float], str], ...] = (
    lambda step, epoch, loss, speed: (
        f"[INFO] trainer: [Epoch {epoch} Batch {step}] "
        f"{{'training_loss_step': {loss:.3f}, 'samples/sec': {speed:.1f}}}"
    ),
    lambda step, epoch, loss, speed: (
        f"INFO global_step={step} epoch={epoch} loss={loss:.4f} lr=1.2e-04 "
        f"tokens_per_sec={speed:.0f}"
    ),
    lambda step, _, loss, speed: (
        f"Batch {step} Loss: {loss:.5f}, Speed: {speed:.2f} samples/sec, lr: 0.000006"
    ),
    lambda step, epoch, loss, speed: (
        f'{{"step": {step}, "epoch": {epoch}, "loss": {loss:.4f}, "throughput": {speed:.2f}}}'
    ),
    lambda step, epoch, loss, speed: (
        f"Train Epoch: {epoch} [{step * 64}/60000 ({step % 100}%)]\tLoss: {loss:.6f}\t"
        f"speed {speed:.1f} TFLOPs/GPU"
    ),
    lambda step, _, loss, speed: (
        f" iteration {step:8d}/ 50000 | elapsed time per iteration (ms): 1201.4 | "
        f"lm loss: {loss:.6E} | throughput per GPU (TFLOP/s/GPU): {speed:.1f} |"
    ),
    lambda step, _, loss, speed: (
        f"step: {step} - train_loss: {loss:.3f} - step_time_ms: {1e6 / speed:.0f}"
    ),
)


def training_log(seed: int, *, fault: Fault | None = None) -> str:
    """Return a run of 120 to 300 steps; the fault comes at 60 % of it."""
    dice = random.Random(seed)  # noqa: S311  (test data)
    stamp = STAMPS[seed % len(STAMPS)]
    line = LINES[(seed // len(STAMPS)) % len(LINES)]
    now = 0.0
    lines: list[str] = []

    def say(text: str) -> None:
        lines.append(f"{stamp(_START + timedelta(seconds=now))} {text}")

    speed, pace = dice.uniform(60, 400), dice.choice([1, 5, 10, 20])
    steps, first_loss = dice.randint(120, 300), dice.uniform(6, 12)
    save_every, evaluate_every = dice.randint(30, 60), dice.choice([0, 50])
    say("launcher: starting")
    now += dice.uniform(10, 200)
    say("Experiment configuration: {'seq': 4096}")
    now += dice.uniform(5, 60)
    for step in range(steps):
        seconds = pace * dice.uniform(0.8, 1.3) * (2 if dice.random() < 0.02 else 1)
        loss = 2.0 + (first_loss - 2) * math.exp(-step / 20) + dice.gauss(0, 0.1)
        now_speed = speed * dice.uniform(0.92, 1.08) * (0.5 if dice.random() < 0.03 else 1)
        behind = step - int(steps * 0.6)
        if fault == "spike" and 0 <= behind < 20:
            loss *= 8
        if fault == "slow" and 0 <= behind < 30:
            now_speed, seconds = now_speed * 0.4, seconds * 2.5
        now += seconds + (3600 if fault == "hang" and behind == 0 else 0)
        say(line(step, step // 50, loss, now_speed))
        if step and step % save_every == 0:
            now += dice.uniform(2, 20)
            say(f"Saving checkpoint at step {step}")
            now += dice.uniform(1, 10)
            say(f"checkpoint step {step} committed in {dice.uniform(3, 9):.1f} s")
        if evaluate_every and step and step % evaluate_every == 0:
            say("running evaluation")
            now += dice.uniform(10, 40)
            say(f"eval_loss={loss:.3f} over 100 batches")
    now += 3
    if seed % 3:
        say("training complete")
    return "\n".join(lines) + "\n"
