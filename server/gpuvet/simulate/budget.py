"""What the restart budget does with faults (references/log-monitors.md).

The operator is closed; where AWS documents nothing, the choices are those of `ASSUMPTIONS`.
"""

from collections.abc import Iterator

from gpuvet.model.log_monitor import BudgetForecast, Restart, RestartPolicy

RESTART_SECONDS = 120.0  # assumed from fault to the next start
_MOST_RESTARTS = 200  # looked at before the loop is called endless

ASSUMPTIONS = (
    (
        "restart budget: windows of evalPeriodSeconds follow each other from the job's start, with "
        "counters at zero; numRestartBeforeFullJobRestart process restarts are allowed, the next "
        "fault is a full restart; after maxFullJobRestarts the next one fails the job; "
        "jobMaxRetryCount counts every restart over the job's life; a limit that is not written "
        "does not exist"
    ),
    f"a restart takes {RESTART_SECONDS:.0f} s",
)


def forecast(policy: RestartPolicy, trip_seconds: float) -> BudgetForecast:
    """Return what happens if every attempt trips as late after its start as the first did.

    Args:
        policy: The limits; None fields do not limit.
        trip_seconds: Seconds from the start of an attempt to its fault.
    """
    restarts: list[Restart] = []
    for restart in _restarts(policy, trip_seconds):
        restarts.append(restart)
        if restart.action == "job fails":
            return BudgetForecast(
                restarts=tuple(restarts),
                verdict=f"fault {len(restarts)} fails the job after {_span(restart.at_seconds)}",
                ends_at_seconds=restart.at_seconds,
            )
    cycle = trip_seconds + RESTART_SECONDS
    return BudgetForecast(
        restarts=tuple(restarts[:20]),
        verdict=f"restarts without end, one every {_span(cycle)}: the counters reset first",
    )


def _restarts(policy: RestartPolicy, trip_seconds: float) -> Iterator[Restart]:
    now, window, process, full, total = 0.0, 0, 0, 0, 0
    while total < _MOST_RESTARTS:
        now += trip_seconds
        if policy.eval_period_seconds and int(now // policy.eval_period_seconds) != window:
            window, process, full = int(now // policy.eval_period_seconds), 0, 0
        if policy.max_retries is not None and total >= policy.max_retries:
            yield Restart(at_seconds=now, action="job fails")
            return
        most, most_full = policy.restarts_before_full, policy.max_full_restarts
        if most is None or process < most:
            process += 1
            of = f" of {most}" if most is not None else ""
            yield Restart(at_seconds=now, action=f"process restart {process}{of}")
        elif most_full is None or full < most_full:
            full, process = full + 1, 0
            of = f" of {most_full}" if most_full is not None else ""
            yield Restart(at_seconds=now, action=f"full restart {full}{of}")
        else:
            yield Restart(at_seconds=now, action="job fails")
            return
        total += 1
        now += RESTART_SECONDS


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
