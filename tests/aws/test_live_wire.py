"""Nothing but listed reads leaves the process: through the door, or behind its back."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from aws.wire import (
    Http,
    Reached,
    RecordingSession,
    StillTime,
    filled,
    http,
    keys,
    no_machine,
    response,
)
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.tokens import SSOTokenProvider

from gpuvet.aws import live, live_clients, live_wire
from gpuvet.aws.credential_calls import CREDENTIAL_CALLS, SERVICE_IDS
from gpuvet.aws.live import LiveAws
from gpuvet.aws.live_clients import Clients
from gpuvet.aws.login import Login
from gpuvet.aws.reads import READS, Read, read_of
from gpuvet.errors import NotReadOnly

__all__ = ["http", "keys", "no_machine"]
pytestmark = pytest.mark.usefixtures("keys")

LISTED = frozenset({*READS, *CREDENTIAL_CALLS})
SERVICES = botocore.session.get_session().get_available_services()
SHARDS = 4
# Without checks of parameters, without signing, without a second try: straight to the wire.
BARE = Config(
    parameter_validation=False, signature_version=UNSIGNED, retries={"total_max_attempts": 1}
)


def reached_behind_the_back(services: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what each operation came to on a client made from the door's own session."""
    core = Clients().session(Login())._session
    for service in services:
        client: Any = core.create_client(service, region_name="us-east-1", config=BARE)
        client._endpoint.http_session = RecordingSession()
        for name in client.meta.service_model.operation_names:
            operation = f"{service}:{name}"
            params = filled(client.meta.service_model.operation_model(name).input_shape)
            try:
                client._make_api_call(name, params)
            except Reached:
                yield operation, "reached"
            except NotReadOnly:
                yield operation, "refused"
            except Exception as error:  # noqa: BLE001 (counted: it may not hide the operations)
                yield operation, type(error).__name__


def refused_by(door: LiveAws, operation: str) -> bool:
    try:
        door.read(operation, {})
    except NotReadOnly:
        return True
    return False


@pytest.mark.parametrize("shard", range(SHARDS))
def test_of_every_operation_of_every_service_only_listed_ones_pass(shard: int) -> None:
    mine = SERVICES[shard::SHARDS]
    clients = Clients()
    door = LiveAws(Login(), "us-east-1", clients=clients)
    ends: dict[str, set[str]] = {}
    for operation, end in reached_behind_the_back(mine):
        ends.setdefault(end, set()).add(operation)
        assert operation in READS or refused_by(door, operation)
    assert clients.made == ()  # the door refused before a client existed
    assert ends["reached"] == {one for one in LISTED if one.partition(":")[0] in mine}
    # A few cannot be built without a real ARN; everything else was refused by the guard itself.
    unbuilt = sum(len(found) for end, found in ends.items() if end not in {"reached", "refused"})
    assert unbuilt < 30
    assert len(ends["refused"]) > 3_000


def test_without_the_guard_at_the_wire_a_mutating_call_would_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def off(_session: object) -> None:
        """Guard nothing."""

    monkeypatch.setattr(live_clients, "guard", off)
    reached = {op for op, end in reached_behind_the_back(["sagemaker"]) if end == "reached"}
    assert "sagemaker:DeleteCluster" in reached - LISTED


def test_without_the_refusal_at_the_door_a_client_would_exist(
    monkeypatch: pytest.MonkeyPatch, http: Http
) -> None:
    sent = http(lambda _request: response(200, b"{}"))
    clients = Clients()
    door = LiveAws(Login(), "us-east-1", clients=clients)

    def anything(operation: str) -> Read:
        return Read(operation, operation)

    monkeypatch.setattr(live, "read_of", anything)
    with pytest.raises(NotReadOnly, match="stopped at the wire"):
        door.read("sagemaker:DeleteCluster", {"ClusterName": "train-a"})
    assert clients.made != ()  # the first guard was off, and this shows it
    assert sent == []  # the second one held


@pytest.mark.parametrize("operation", sorted(READS))
def test_every_listed_read_passes_door_and_wire(operation: str, http: Http) -> None:
    sent = http(lambda _request: response(403, b""))
    row = read_of(operation)
    model = botocore.session.get_session().get_service_model(row.service)
    params = filled(model.operation_model(row.name).input_shape)
    LiveAws(Login(), "us-east-1", clock=StillTime().clock).read(operation, params)
    assert sent != []


def test_a_link_signed_ahead_is_refused_like_the_call_it_stands_for() -> None:
    session: Any = Clients().session(Login())
    client = session.client("sagemaker", region_name="us-east-1")
    with pytest.raises(NotReadOnly):
        client.generate_presigned_url("delete_cluster", Params={"ClusterName": "train-a"})


def test_a_refusal_is_not_tried_again() -> None:
    seen: list[str] = []

    def refuse(event_name: str, **rest: object) -> None:
        seen.append(event_name)
        live_wire.refuse_unlisted(event_name, **rest)

    core = botocore.session.get_session()
    core.get_component("event_emitter").register_first("before-send", refuse)
    client: Any = core.create_client("sagemaker", region_name="us-east-1")
    with pytest.raises(NotReadOnly):
        client.delete_cluster(ClusterName="train-a")
    assert seen == ["before-send.sagemaker.DeleteCluster"]


def test_names_at_the_wire_are_those_of_the_service_models_and_of_no_other_service() -> None:
    core = botocore.session.get_session()
    ids = [core.get_service_model(service).service_id.hyphenize() for service in SERVICES]
    for service, service_id in SERVICE_IDS.items():
        assert core.get_service_model(service).service_id.hyphenize() == service_id
        assert ids.count(service_id) == 1
    assert {one.partition(":")[0] for one in LISTED} == SERVICE_IDS.keys()


def test_every_listed_operation_exists_and_none_of_the_reads_is_named_like_a_change() -> None:
    core = botocore.session.get_session()
    for operation in LISTED:
        service, _, name = operation.partition(":")
        assert name in core.get_service_model(service).operation_names, operation
    verbs = ("Describe", "List", "Get", "Lookup", "Filter")
    others = {one for one in READS if not one.partition(":")[2].startswith(verbs)}
    assert others == {"logs:StartQuery", "logs:StopQuery"}


def test_a_login_through_a_cached_sso_token_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, http: Http
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    write_sso_login(tmp_path)
    # botocore works out the home folder when it is imported.
    cache = str(tmp_path / ".aws" / "sso" / "cache")
    monkeypatch.setattr(SSOTokenProvider, "_SSO_TOKEN_CACHE_DIR", cache)

    def respond(request: AWSPreparedRequest) -> AWSResponse:
        if "portal.sso" in request.url:
            role = {
                "accessKeyId": "FROMSSO",
                "secretAccessKey": "example",
                "sessionToken": "example",
                "expiration": 4_102_444_800_000,
            }
            return response(200, json.dumps({"roleCredentials": role}).encode())
        return response(200, IDENTITY)

    sent = http(respond)
    door = LiveAws(Login(profile="sso"), "us-east-1")
    answer = door.read("sts:GetCallerIdentity", {})
    assert answer.value is not None
    assert answer.value[0]["Account"] == "111122223333"
    assert [request.url.partition("?")[0] for request in sent] == [
        "https://portal.sso.us-east-1.amazonaws.com/federation/credentials",
        "https://sts.us-east-1.amazonaws.com/",
    ]
    signed: Any = sent[1].headers["Authorization"]
    assert b"FROMSSO" in signed


IDENTITY = (
    b"<GetCallerIdentityResponse><GetCallerIdentityResult>"
    b"<Arn>arn:aws:iam::111122223333:user/ana</Arn><UserId>U</UserId>"
    b"<Account>111122223333</Account>"
    b"</GetCallerIdentityResult></GetCallerIdentityResponse>"
)


def write_sso_login(home: Path) -> None:
    """Write a profile with an SSO session, and the token a login of it left behind."""
    folder = home / ".aws" / "sso" / "cache"
    folder.mkdir(parents=True)
    (home / ".aws" / "config").write_text(
        "[sso-session corp]\nsso_start_url = https://example.awsapps.com/start\n"
        "sso_region = us-east-1\n[profile sso]\nsso_session = corp\n"
        "sso_account_id = 111122223333\nsso_role_name = ReadOnly\nregion = us-east-1\n",
        encoding="utf-8",
    )
    token = {
        "accessToken": "example",
        "expiresAt": "2099-01-01T00:00:00Z",
        "startUrl": "https://example.awsapps.com/start",
        "region": "us-east-1",
    }
    name = hashlib.sha1(b"corp", usedforsecurity=False).hexdigest()
    (folder / f"{name}.json").write_text(json.dumps(token), encoding="utf-8")
