"""Whose credentials a question uses: chosen from sets given at start, or refused.

Refusing needs no session: a profile, a region or a role that was not given at start is an error
before anything of AWS is loaded.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gpuvet.errors import UsageError
from gpuvet.model.base import Value

# Any partition: aws, aws-cn, aws-us-gov, aws-iso, aws-iso-b, aws-eusc and those to come.
ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]{1,576}")
REGION = re.compile(r"[a-z]{2,4}(?:-[a-z]+)+-\d{1,2}")
# AssumeRole's own bounds.
EXTERNAL_ID = re.compile(r"[\w+=,.@:/-]{2,1224}")
_PROFILE = re.compile(r"[^\x00-\x1f\[\]]{1,128}")


class Login(NamedTuple):
    """A whole identity: clients are kept by it, never by a part of it."""

    profile: str | None = None  # None: what is in force
    role: str | None = None
    external_id: str | None = None


class Admitted(Value):
    """The sets given at start; the first of each is the default. Empty: only what is in force."""

    profiles: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    external_ids: tuple[str, ...] = ()  # none, one for all roles, or one for each

    def login(self, profile: str | None = None, role: str | None = None) -> Login:
        """Return the identity a question may use.

        Raises:
            UsageError: The profile or the role was not given at start.
        """
        chosen = _chosen("role", role, self.roles)
        return Login(
            profile=_chosen("profile", profile, self.profiles),
            role=chosen,
            external_id=self._external_id(chosen),
        )

    def region(self, region: str | None = None) -> str | None:
        """Return the region a question is about; None: the one in force.

        Raises:
            UsageError: It was not given at start.
        """
        return _chosen("region", region, self.regions)

    def _external_id(self, role: str | None) -> str | None:
        if role is None or not self.external_ids:
            return None
        if len(self.external_ids) == 1:
            return self.external_ids[0]
        return self.external_ids[self.roles.index(role)]


def admitted(
    profiles: Sequence[str] = (),
    regions: Sequence[str] = (),
    roles: Sequence[str] = (),
    external_ids: Sequence[str] = (),
) -> Admitted:
    """Return the sets of a start, checked for their form.

    Raises:
        UsageError: One of them cannot be what it is given as.
    """
    _all_match("profile", profiles, _PROFILE, "a name of ~/.aws/config")
    _all_match("region", regions, REGION, "a region such as us-west-2")
    _all_match("role", roles, ROLE_ARN, "arn:aws:iam::111122223333:role/NAME")
    _all_match("external id", external_ids, EXTERNAL_ID, "2 to 1,224 letters, digits, +=,.@:/-")
    if len(external_ids) not in {0, 1, len(roles)} or (external_ids and not roles):
        raise UsageError(
            f"{len(external_ids)} external ids for {len(roles)} roles; give one for all of them, "
            "or one for each in their order"
        )
    return Admitted(
        profiles=tuple(profiles),
        regions=tuple(regions),
        roles=tuple(roles),
        external_ids=tuple(external_ids),
    )


def _all_match(what: str, values: Sequence[str], form: re.Pattern[str], example: str) -> None:
    for value in values:
        if form.fullmatch(value) is None:
            raise UsageError(f"{value[:80]!r} is no {what}; write {example}")


def _chosen(what: str, wanted: str | None, given: Sequence[str]) -> str | None:
    if wanted is None:
        return given[0] if given else None
    if wanted in given:
        return wanted
    known = ", ".join(repr(one) for one in given) or f"only the {what} in force"
    raise UsageError(
        f"{what} {wanted[:80]!r} was not given at start; there is {known}. "
        f"Leave it out, or start with --{what} {wanted[:80]}"
    )
