"""The guard at the wire: nothing is signed or sent unless it stands on a written list.

The door refuses an unlisted operation before a client exists. This guard is for everything else
that might hold one of our sessions: it hangs on the session, every client made from it inherits
it, and it looks at each request where botocore signs it and again where it leaves.
"""

from typing import Any

from botocore.session import Session

from gpuvet.aws.credential_calls import passing
from gpuvet.errors import NotReadOnly

_EVENTS = ("before-sign", "before-send")
_PASSING = passing()


def guard(session: Session) -> None:
    """Hang the guard on a session, ahead of whatever else listens there."""
    emitter = session.get_component("event_emitter")
    for event in _EVENTS:
        emitter.register_first(event, refuse_unlisted, unique_id=f"gpuvet-{event}")


def refuse_unlisted(event_name: str, **_request: Any) -> None:  # noqa: ANN401 (botocore's own)
    """Raise for any operation that is on neither list.

    Args:
        event_name: `before-send.<service id>.<operation>`, as botocore emits it.

    Raises:
        NotReadOnly: The request must not leave.
    """
    _, _, called = event_name.partition(".")
    service, _, operation = called.partition(".")
    if (service, operation) not in _PASSING:
        msg = (
            f"{service}:{operation} was stopped at the wire: it is no read of gpuvet and no call "
            "of a credential provider; nothing was sent"
        )
        raise NotReadOnly(msg)
