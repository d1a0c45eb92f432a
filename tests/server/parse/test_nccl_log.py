"""What lines of NCCL, its watchdog and EFA are read as."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.model.network import NcclError, NcclKind, NcclLog, Transport, WatchdogKind
from gpuvet.parse.kernel_log import RawLine
from gpuvet.parse.nccl_line import pci_of_bus, read_nccl_line
from gpuvet.parse.nccl_log import joined_logs, parse_nccl
from gpuvet.parse.peers import mac_of_gid, read_peer_line
from gpuvet.parse.rank_tokens import FileTokens, Tokens, file_tokens, rank_tokens
from gpuvet.parse.watchdog import glog_time, read_watchdog_line

NOW = datetime(2026, 12, 7, tzinfo=UTC)
HEAD = "w-0:61:140 [3] "


def parsed(*lines: str, stream: str = "job.log", node: str = "") -> NcclLog:
    raw = [RawLine(text, place) for place, text in enumerate(lines, 1)]
    return parse_nccl(raw, node=node, stream=stream, reference_time=NOW)


@pytest.mark.parametrize(
    ("text", "kind", "transport"),
    [
        pytest.param(
            "NCCL INFO NET/OFI Selected Provider is efa (found 32 nics)",
            NcclKind.CHOICE,
            Transport.OFI_EFA,
            id="the EFA provider, old spelling",
        ),
        pytest.param(
            "NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)",
            NcclKind.CHOICE,
            Transport.OFI_EFA,
            id="the EFA provider, new spelling",
        ),
        pytest.param(
            "NCCL INFO Using network AWS Libfabric",
            NcclKind.CHOICE,
            Transport.OFI_EFA,
            id="the plugin's network",
        ),
        pytest.param(
            "NCCL INFO Using network Libfabric",
            NcclKind.CHOICE,
            Transport.OFI_EFA,
            id="the plugin's network, new name",
        ),
        pytest.param(
            "NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.14.0",
            NcclKind.PLUGIN,
            None,
            id="a loaded plugin is no choice",
        ),
        pytest.param(
            "NCCL INFO NET/OFI Selected Provider is tcp",
            NcclKind.CHOICE,
            Transport.OFI_NOT_EFA,
            id="libfabric over TCP",
        ),
        pytest.param(
            "NCCL INFO NET/OFI Using TCP",
            NcclKind.CHOICE,
            Transport.OFI_NOT_EFA,
            id="libfabric says TCP",
        ),
        pytest.param(
            "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0",
            NcclKind.CHANNEL,
            Transport.SOCKET,
            id="a socket channel",
        ),
        pytest.param(
            "NCCL INFO Using network Socket",
            NcclKind.CHOICE,
            Transport.SOCKET,
            id="sockets chosen",
        ),
        pytest.param(
            "NCCL INFO Using network IB",
            NcclKind.CHOICE,
            Transport.IB_UNEXPECTED,
            id="verbs chosen",
        ),
        pytest.param(
            "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
            NcclKind.CHANNEL,
            Transport.IB_UNEXPECTED,
            id="a verbs channel",
        ),
        pytest.param(
            "NCCL INFO Channel 00/0 : 8[4] -> 0[4] [receive] via NET/AWS Libfabric/4/GDRDMA",
            NcclKind.CHANNEL,
            Transport.OFI_EFA,
            id="a plugin channel",
        ),
        pytest.param(
            "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Libfabric/0/GDRDMA",
            NcclKind.CHANNEL,
            Transport.OFI_EFA,
            id="a plugin channel, new name",
        ),
        pytest.param(
            "NCCL INFO Channel 06/0 : 10[2] -> 11[3] via P2P/CUMEM",
            NcclKind.CHANNEL,
            Transport.P2P,
            id="peer to peer",
        ),
        pytest.param(
            "NCCL INFO Channel 15/0 : 1[c5000] -> 0[29000] via P2P/IPC/read",
            NcclKind.CHANNEL,
            Transport.P2P,
            id="peer to peer, bus ids in brackets",
        ),
        pytest.param(
            "NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct",
            NcclKind.CHANNEL,
            Transport.SHM,
            id="shared memory",
        ),
        pytest.param(
            "NCCL INFO NVLS multicast support is available on dev 0",
            NcclKind.CHANNEL,
            Transport.NVLS,
            id="multicast",
        ),
        pytest.param(
            "NCCL INFO NET/Socket : Using [0]eth0:10.0.4.21<0>",
            NcclKind.CANDIDATE,
            None,
            id="an announced socket is a candidate",
        ),
        pytest.param(
            "NCCL INFO Bootstrap : Using eth0:10.8.0.51<0>",
            NcclKind.BOOTSTRAP,
            None,
            id="bootstrap is no transport",
        ),
        pytest.param("NCCL INFO Connected all rings", NcclKind.CONNECTED, None, id="rings stand"),
    ],
)
def test_a_line_of_the_transport_table_gets_its_class(
    text: str, kind: NcclKind, transport: Transport | None
) -> None:
    said = read_nccl_line(HEAD + text)
    assert said is not None
    assert (said.kind, said.transport, said.host, said.pid) == (kind, transport, "w-0", 61)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("NCCL WARN NET/OFI Unable to insert remote address into address vector", NcclError.SET_UP),
        ("NCCL WARN NET/OFI Could not find any optimal provider", NcclError.NO_PROVIDER),
        ("NCCL INFO NET/OFI Unable to find a protocol that worked.", NcclError.NO_PROVIDER),
        ("ofi.c:88 NCCL WARN fi_getinfo failed: -61", NcclError.NO_PROVIDER),
        ("NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate", NcclError.MEMORY),
        ("NCCL WARN ncclRemoteError: a remote process exited", NcclError.REMOTE),
        ("misc ncclInternalError: Internal check failed.", NcclError.OTHER),
        ("NCCL WARN Cuda failure 'out of memory'", NcclError.OTHER),
    ],
)
def test_errors_are_kept_with_their_kind(text: str, error: NcclError) -> None:
    said = read_nccl_line(HEAD + text)
    assert said is not None
    assert (said.kind, said.error) == (NcclKind.ERROR, error)


@pytest.mark.parametrize(
    "text",
    [
        "NCCL INFO NET/Plugin: Failed to find ncclCollNetPlugin_v8 symbol.",
        "NCCL INFO TUNER/Plugin: Failed to find ncclTunerPlugin_v3 symbol.",
        "NCCL INFO NVLS multicast support is not available on dev 1",
    ],
)
def test_an_optional_part_that_is_missing_is_no_error(text: str) -> None:
    assert read_nccl_line(HEAD + text) is None


def test_a_placement_line_gives_rank_gpu_and_bus() -> None:
    text = (
        "NCCL INFO comm 0x55 rank 4 nranks 16 cudaDev 0 nvmlDev 0 busId 53000 commId 0x9"
        " - Init COMPLETE"
    )
    said = read_nccl_line(HEAD + text)
    assert said is not None
    assert (said.rank, said.world_size, said.device, said.bus) == (4, 16, 0, "0000:53:00")


@pytest.mark.parametrize(
    ("bus", "pci"), [("53000", "0000:53:00"), ("b9010", "0000:b9:01"), ("1000c0000", "1000:c0:00")]
)
def test_a_bus_id_of_nccl_is_a_pci_id(bus: str, pci: str) -> None:
    assert pci_of_bus(bus) == pci


def test_a_container_record_gives_pod_time_and_line() -> None:
    text = (
        '{"log": "train-0:101:230 [0] NCCL INFO Using network Socket", "stream": "stdout", '
        '"kubernetes": {"pod_name": "train-0", "host": "ip-10-8-0-51.us-west-2.compute.internal"}}'
    )
    shipped = datetime(2026, 9, 3, 16, 5, 33, tzinfo=UTC)
    log = parse_nccl(
        [RawLine(text, 1, shipped)], node="i-0aaaaaaaaaaaaaaaa", stream="s", reference_time=NOW
    )
    line = log.lines[0]
    assert (line.host, line.transport, line.at, line.node) == (
        "train-0",
        Transport.SOCKET,
        shipped,
        "i-0aaaaaaaaaaaaaaaa",
    )


def test_a_watchdog_timeout_gives_rank_work_and_timeout() -> None:
    log = parsed(
        "[rank3]:[E1206 18:44:16.994932383 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=11, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
    )
    line = log.watchdog[0]
    assert line.kind is WatchdogKind.TIMEOUT
    assert (line.rank, line.sequence, line.operation) == (3, 11, "ALLREDUCE")
    assert (line.timeout_ms, line.ran_ms) == (600000, 600012)
    assert line.at == datetime(2026, 12, 6, 18, 44, 16, 994932, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "group", "enqueued", "completed"),
    [
        pytest.param(
            "[PG 1 Rank 0] Timeout at NCCL work: 7753, last enqueued NCCL work: 7755, "
            "last completed NCCL work: 7752.",
            "1",
            7755,
            7752,
            id="older",
        ),
        pytest.param(
            "[PG ID 0 PG GUID 0(default_pg) Rank 0] Exception (either an error or timeout) "
            "detected by watchdog at work: 7, last enqueued NCCL work: 7, last completed NCCL "
            "work: 6.",
            "default_pg",
            7,
            6,
            id="newer",
        ),
        pytest.param(
            "[PG ID 0 PG GUID 0 Rank 0] failure detected by watchdog at work sequence id: 7 PG "
            "status: last enqueued work: 7, last completed work: 6",
            "0",
            7,
            6,
            id="newest",
        ),
        pytest.param(
            "[PG 0 Rank 2] Timeout at NCCL work: 1, last enqueued NCCL work: 1, last completed "
            "NCCL work: 76280750235782912.",
            "0",
            1,
            None,
            id="a torn counter says nothing",
        ),
    ],
)
def test_the_state_of_a_process_group_is_read(
    text: str, group: str, enqueued: int, completed: int | None
) -> None:
    said = read_watchdog_line(text)
    assert said is not None
    assert (said.kind, said.group_name) == (WatchdogKind.STATE, group)
    assert (said.last_enqueued, said.last_completed) == (enqueued, completed)


def test_a_barrier_names_who_did_not_come() -> None:
    said = read_watchdog_line("Rank 0: Ranks 3, 7 failed to pass monitoredBarrier in 600000 ms")
    assert said is not None
    assert (said.kind, said.missing_ranks, said.timeout_ms) == (
        WatchdogKind.BARRIER,
        (3, 7),
        600000,
    )


def test_a_store_that_waited_counts_who_joined() -> None:
    said = read_watchdog_line(
        "DistStoreError: Timed out after 1801 seconds waiting for clients. 15/16 clients joined."
    )
    assert said is not None
    assert (said.joined, said.wanted) == (15, 16)


@pytest.mark.parametrize(
    ("text", "month", "day"),
    [("[E1206 18:44:16.99 P", 12, 6), ("[E429 13:55:49.38 P", 4, 29), ("[F909 09:55:46 P", 9, 9)],
)
def test_a_glog_stamp_with_or_without_a_padded_month_is_read(
    text: str, month: int, day: int
) -> None:
    found = glog_time(text, NOW)
    assert found is not None
    assert (found.year, found.month, found.day) == (2026, month, day)


def test_a_glog_stamp_after_the_reference_is_of_the_year_before() -> None:
    found = glog_time("[E1231 23:00:00.0 P", datetime(2026, 1, 2, tzinfo=UTC))
    assert found == datetime(2025, 12, 31, 23, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("[rank12]:[E1206 x] boom", Tokens(rank=12)),
        ("[PG ID 0 PG GUID 0(default_pg) Rank 4] x", Tokens(rank=4)),
        ("[1,7]<stderr>:boom", Tokens(rank=7)),
        ("RANK=5 LOCAL_RANK=1 WORLD_SIZE=16", Tokens(rank=5, local_rank=1, world_size=16)),
        ("global_rank: 9, local_rank: 1", Tokens(rank=9, local_rank=1)),
        ("[default3]:hello", Tokens(local_rank=3)),
        ("node_rank=2 starts", Tokens()),
        ("on hyperpod-i-0aaaaaaaaaaaaaaaa", Tokens(host="hyperpod-i-0aaaaaaaaaaaaaaaa")),
        ("at ip-10-0-1-2 in i-0bbbbbbbbbbbbbbbb", Tokens(node="i-0bbbbbbbbbbbbbbbb")),
    ],
)
def test_ranks_and_nodes_are_read_in_their_many_shapes(text: str, tokens: Tokens) -> None:
    found = rank_tokens(text)
    expected = tokens._asdict()
    assert {k: v for k, v in found._asdict().items() if expected[k] is not None} == {
        k: v for k, v in expected.items() if v is not None
    }
    assert tokens.rank is not None or found.rank is None


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("logs/stdout_rank_12.log", FileTokens(rank=12)),
        ("run_ab/attempt_0/3/stdout.log", FileTokens(local_rank=3)),
        (
            (
                "ip-10-8-0-51.us-west-2.compute.internal-application.var.log.containers."
                "train-0_ml_trainer-0a1b2c.log"
            ),
            FileTokens(pod="train-0"),
        ),
        ("kernel/i-0aaaaaaaaaaaaaaaa", FileTokens(node="i-0aaaaaaaaaaaaaaaa")),
    ],
)
def test_a_file_name_tells_rank_pod_or_node(name: str, tokens: FileTokens) -> None:
    assert file_tokens(name) == tokens


@pytest.mark.parametrize(
    ("text", "reporter", "peer"),
    [
        (
            (
                "Unresponsive receiver My EFA addr: fi_addr_efa://[fe80::1]:0:1 My host id: "
                "i-0aaaaaaaaaaaaaaaa Peer EFA addr: fi_addr_efa://[fe80::2]:0:1 Peer host id: "
                "i-0bbbbbbbbbbbbbbbb (7)"
            ),
            "i-0aaaaaaaaaaaaaaaa",
            "i-0bbbbbbbbbbbbbbbb",
        ),
        ("EFA error: unresponsive peer ip-10-0-1-7", None, "ip-10-0-1-7"),
        ("unresponsive peer: rank 12, giving up", None, "rank 12"),
        ("peer 10.0.1.7 is unresponsive", None, "10.0.1.7"),
        ("Unresponsive remote on peer rank 3", None, "rank 3"),
        (
            "NCCL WARN socketProgress: Connection closed by remote peer ip-10-0-0-9.ec2<4711>",
            None,
            "ip-10-0-0-9.ec2",
        ),
        ("Unresponsive receiver Peer host id: N/A", None, None),
    ],
)
def test_a_complaint_names_reporter_and_peer(
    text: str, reporter: str | None, peer: str | None
) -> None:
    found = read_peer_line(text)
    assert found is not None
    assert (found.reporter, found.peer) == (reporter, peer)


def test_an_efa_error_over_several_lines_is_one_complaint() -> None:
    log = parsed(
        "w-0:1:2 [0] NCCL WARN NET/OFI Request 0x7 completed with error (Unresponsive receiver",
        " My EFA addr: fi_addr_efa://[fe80::8ff:e2ff:fe9a:b815]:0:1",
        " My host id: i-0aaaaaaaaaaaaaaaa",
        " Peer EFA addr: fi_addr_efa://[fe80::8ff:f7ff:fefc:bc43]:0:2",
        " Peer host id: i-0bbbbbbbbbbbbbbbb)",
    )
    assert [(one.reporter, one.peer) for one in log.complaints] == [
        ("i-0aaaaaaaaaaaaaaaa", "i-0bbbbbbbbbbbbbbbb")
    ]


def test_a_link_local_gid_holds_the_mac_of_its_interface() -> None:
    assert mac_of_gid("fe80::8ff:f7ff:fefc:bc43") == "0a:ff:f7:fc:bc:43"
    assert mac_of_gid("fe80::1") is None


def test_nvlink_lines_without_an_xid_are_listed_and_known_warnings_left_out() -> None:
    log = parsed(
        "kernel: NVRM: knvlinkUpdateLinkState: NVLink link 3 is not active",
        "kernel: NVRM: Xid (PCI:0000:b9:00): 74, NVLink: fatal error",
        "systemd: nvidia-fabricmanager.service: PIDFile= references a path below /var/run/",
    )
    assert len(log.driver_links) == 1
    assert log.benign == ("systemd's PIDFile= legacy path warning",)


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(4)))
def test_the_order_of_files_changes_nothing(order: list[int]) -> None:
    logs = [
        parsed(f"w-{n}:1:2 [0] NCCL INFO Using network Socket", stream=f"{n}.log") for n in range(4)
    ]
    assert joined_logs([logs[n] for n in order]) == joined_logs([*logs, logs[0]]).model_copy(
        update={"read": 4}
    )


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    parsed(text, f"NCCL WARN {text}", f"Watchdog {text}", f"Peer host id: {text}")
