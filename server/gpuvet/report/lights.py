"""Texts that would light a dark source, the cheapest step first. Nothing here is ever run.

Only ids that match their service's pattern stand in a command; anything else is a placeholder.
Sources: CloudWatch agent configuration file (logs_collected, metrics_collected: efa, nvidia_gpu),
Fluent Bit manual (systemd input, buffering and storage), ParallelCluster configuration
(Monitoring), EKS add-ons amazon-cloudwatch-observability and
amazon-sagemaker-hyperpod-observability.
"""

import json
import re
from collections.abc import Sequence
from datetime import datetime

from gpuvet.model.audit import LightStep
from gpuvet.model.cluster import Orchestrator

NOW, PERMISSION, FILE, ROLLOUT, ADDON = range(5)

# AWS's API reference: characters of a log group's and a cluster's name.
_GROUP = re.compile(r"[A-Za-z0-9._/#-]{1,512}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_INSTANCE = re.compile(r"i-(?:[0-9a-f]{8}|[0-9a-f]{17})")
_GREP = "grep -E 'NVRM|SXid|fallen off the bus'"
_MOST_HOLES = 6
KEEP_DAYS = 180  # ParallelCluster's default retention (coverage.md)


def _name(text: str | None, pattern: re.Pattern[str], instead: str) -> str:
    return text if text is not None and pattern.fullmatch(text) else instead


def read_on_the_node(holes: Sequence[tuple[str, datetime, datetime]]) -> LightStep:
    """Return how to read the hours of holes where they may still lie: on the nodes themselves.

    Args:
        holes: Node, start and end of each; the first few are written out.
    """
    lines = [
        line
        for node, start, end in holes[:_MOST_HOLES]
        for line in (f"# {_name(node, _INSTANCE, '<node id>')}", *_journal(start, end))
    ]
    return LightStep(
        cost=NOW,
        do="read the missing hours on the nodes, while their journals still hold them; where the "
        "first command counts 0 lines the journal does not reach back, and an empty second answer "
        "proves nothing",
        kind="shell",
        text="\n".join(lines),
    )


def _journal(start: datetime, end: datetime) -> tuple[str, str]:
    """Return what counts all lines a journal holds of a span, and what shows the driver's.

    `-k` would keep to the present boot, and a time without a zone is the node's local time
    (journalctl(1), systemd.time(7)); `-q` leaves "No entries" out of the count.
    """
    times = f"--since '{start:%Y-%m-%d %H:%M:%S} UTC' --until '{end:%Y-%m-%d %H:%M:%S} UTC'"
    return (
        f"sudo journalctl -q --utc {times} | wc -l",
        f"sudo journalctl -q --utc _TRANSPORT=kernel {times} -o short-iso-precise | {_GREP}",
    )


def search_again(group: str | None) -> LightStep:
    """Return the search that makes "0 Xids" a statement over lines that arrived."""
    where = _name(group, _GROUP, "<log group>")
    return LightStep(
        cost=NOW,
        do=f"search the stream's lines for Xids, in group {where}, over the whole window",
        kind="text",
        text="filter @message like /NVRM: Xid|SXid|fallen off the bus/ | sort @timestamp asc"
        " | limit 10000",
    )


def agent_permission(group: str | None) -> LightStep:
    """Return the policy a log agent needs on its instance role."""
    name = _name(group, _GROUP, "<log group>")
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": [
                    "logs:CreateLogGroup",
                    "logs:CreateLogStream",
                    "logs:DescribeLogStreams",
                    "logs:PutLogEvents",
                ],
                "Resource": f"arn:aws:logs:*:*:log-group:{name}:*",
            }
        ],
    }
    return LightStep(
        cost=PERMISSION,
        do="let the instance role write the group",
        kind="json",
        text=json.dumps(policy, indent=2),
    )


def cloudwatch_agent_logs(group: str | None) -> LightStep:
    """Return a CloudWatch agent configuration that ships the host's whole syslog."""
    name = _name(group, _GROUP, "/gpu-cluster/host")
    files = [
        ("/var/log/messages", "messages/{instance_id}"),
        ("/var/log/syslog", "syslog/{instance_id}"),
        ("/var/log/fabricmanager.log", "fabricmanager/{instance_id}"),
    ]
    config = {
        "logs": {
            "logs_collected": {
                "files": {
                    "collect_list": [
                        {
                            "file_path": path,
                            "log_group_name": name,
                            "log_stream_name": stream,
                            "timezone": "UTC",
                            "retention_in_days": KEEP_DAYS,
                        }
                        for path, stream in files
                    ]
                }
            },
            "force_flush_interval": 15,
        }
    }
    return LightStep(
        cost=FILE,
        do="CloudWatch agent: the host's whole syslog, not only the kernel, so that quiet and "
        "dead differ; on Amazon Linux 2023 install rsyslog first, else the file does not exist",
        kind="json",
        text=json.dumps(config, indent=2),
    )


def cloudwatch_agent_metrics(what: str) -> LightStep:
    """Return a CloudWatch agent configuration for EFA counters or GPU activity."""
    efa = {
        "measurement": [
            "efa_rdma_read_wr_err",
            "efa_rdma_write_wr_err",
            "efa_rx_dropped",
            "efa_retrans_timeout_events",
            "efa_impaired_remote_conn_events",
            "efa_unresponsive_remote_events",
        ],
        "metrics_collection_interval": 60,
    }
    gpu = {
        "measurement": ["utilization_gpu", "power_draw", "temperature_gpu", "memory_used"],
        "metrics_collection_interval": 60,
    }
    config = {
        "metrics": {
            "append_dimensions": {"InstanceId": "${aws:InstanceId}"},
            "metrics_collected": {"efa": efa} if what == "efa" else {"nvidia_gpu": gpu},
        }
    }
    name = "EFA error counters" if what == "efa" else "GPU activity"
    return LightStep(
        cost=FILE,
        do=f"CloudWatch agent: {name} a minute, with the instance id on every series",
        kind="json",
        text=json.dumps(config, indent=2),
    )


def fluent_bit(group: str | None, region: str | None) -> LightStep:
    """Return a Fluent Bit configuration that ships the journal and survives back-pressure."""
    where = _name(group, _GROUP, "/gpu-cluster/host")
    here = _name(region, _NAME, "<region>")
    return LightStep(
        cost=FILE,
        do="Fluent Bit: the whole journal with its kernel lines, buffered on disk, so that a full "
        "buffer pauses nothing",
        kind="ini",
        text=(
            "[SERVICE]\n"
            "    storage.path              /var/lib/fluent-bit/chunks\n"
            "    storage.backlog.mem_limit 64M\n"
            "[INPUT]\n"
            "    Name           systemd\n"
            "    Tag            host\n"
            "    DB             /var/lib/fluent-bit/journal.db\n"
            "    storage.type   filesystem\n"
            "[OUTPUT]\n"
            "    Name                     cloudwatch_logs\n"
            "    Match                    host\n"
            f"    region                   {here}\n"
            f"    log_group_name           {where}\n"
            "    log_stream_prefix        journal/${HOSTNAME}/\n"
            "    auto_create_group        true\n"
            "    storage.total_limit_size 2G\n"
            "    Retry_Limit              no_limits"
        ),
    )


def fluent_bit_buffer() -> LightStep:
    """Return the change that keeps a full memory buffer from pausing an input."""
    return LightStep(
        cost=FILE,
        do="Fluent Bit: buffer on disk instead of pausing the input when memory is full",
        kind="ini",
        text=(
            "[SERVICE]\n"
            "    storage.path              /var/lib/fluent-bit/chunks\n"
            "    storage.max_chunks_up     128\n"
            "[INPUT]\n"
            "    Name           tail\n"
            "    Path           /var/log/messages,/var/log/syslog\n"
            "    DB             /var/lib/fluent-bit/tail.db\n"
            "    Rotate_Wait    60\n"
            "    storage.type   filesystem"
        ),
    )


def rotation() -> LightStep:
    """Return what keeps an agent on the new file after a rotation."""
    return LightStep(
        cost=FILE,
        do="after rotation the agent must open the new file: let logrotate create it and signal "
        "the writer, and restart the agent that stayed on the old one",
        kind="text",
        text=(
            "/var/log/messages {\n"
            "    daily\n"
            "    rotate 14\n"
            "    create 0640 root adm\n"
            "    delaycompress\n"
            "    sharedscripts\n"
            "    postrotate\n"
            "        /usr/bin/systemctl kill -s HUP rsyslog.service\n"
            "    endscript\n"
            "}\n"
            "# on the node that went silent, once:\n"
            "sudo systemctl restart amazon-cloudwatch-agent"
        ),
    )


def parallelcluster() -> LightStep:
    """Return the part of a ParallelCluster configuration that ships node logs."""
    return LightStep(
        cost=ROLLOUT,
        do="ParallelCluster: ship the logs of head and compute nodes, and keep them",
        kind="yaml",
        text=(
            "Monitoring:\n"
            "  DetailedMonitoring: true\n"
            "  Logs:\n"
            "    CloudWatch:\n"
            "      Enabled: true\n"
            f"      RetentionInDays: {KEEP_DAYS}\n"
            "      DeletionPolicy: Retain\n"
            "    Rotation:\n"
            "      Enabled: true"
        ),
    )


def retention(group: str | None) -> LightStep:
    """Return how long a group should keep what it has; what has expired stays lost."""
    name = _name(group, _GROUP, "<log group>")
    return LightStep(
        cost=PERMISSION,
        do="keep the group's lines longer; what has expired stays lost",
        kind="shell",
        text=f"aws logs put-retention-policy --log-group-name '{name}' "
        f"--retention-in-days {KEEP_DAYS}",
    )


def eks_addon(cluster: str | None, addon: str) -> LightStep:
    """Return how an operator would install an observability add-on of EKS."""
    name = _name(cluster, _NAME, "<EKS cluster>")
    brings = {
        "amazon-cloudwatch-observability": "host, dataplane and container logs to CloudWatch",
        "amazon-sagemaker-hyperpod-observability": "GPU, EFA and node metrics to Managed "
        "Prometheus; it ships no logs",
    }
    return LightStep(
        cost=ADDON,
        do=f"EKS add-on {addon}: {brings[addon]}",
        kind="shell",
        text=f"aws eks create-addon --cluster-name '{name}' --addon-name {addon}",
    )


def health_agent(orchestrator: Orchestrator) -> LightStep:
    """Return how to see whether the health monitoring agent runs."""
    if orchestrator is Orchestrator.HYPERPOD_EKS:
        text = "kubectl -n aws-hyperpod get daemonset health-monitoring-agent"
    else:
        text = "systemctl status sagemaker-health-monitoring-agent.service"
    return LightStep(
        cost=NOW, do="see whether the health monitoring agent runs at all", kind="shell", text=text
    )


def nccl_lines() -> LightStep:
    """Return the environment that makes NCCL name its transport."""
    return LightStep(
        cost=FILE,
        do="job: let NCCL name its transport when it starts, and ship the job's output",
        kind="shell",
        text="export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV\n"
        "export TORCH_DISTRIBUTED_DEBUG=DETAIL",
    )


def efa_on_the_node() -> LightStep:
    """Return how to read EFA counters where they live."""
    return LightStep(
        cost=NOW,
        do="read the EFA counters on the node, twice, some minutes apart",
        kind="shell",
        text="grep -H . /sys/class/infiniband/*/ports/1/hw_counters/{retrans_timeout_events,"
        "impaired_remote_conn_events,unresponsive_remote_events,rdma_read_wr_err,rx_drops}",
    )


def gpu_on_the_node() -> LightStep:
    """Return how to read GPU activity now."""
    return LightStep(
        cost=NOW,
        do="read GPU activity on the node, as of now",
        kind="shell",
        text="nvidia-smi --query-gpu=index,pci.bus_id,utilization.gpu,power.draw --format=csv",
    )


def fabric_manager_on_the_node() -> LightStep:
    """Return how to read Fabric Manager's own words."""
    return LightStep(
        cost=NOW,
        do="read Fabric Manager's own log on the node",
        kind="shell",
        text="systemctl status nvidia-fabricmanager; sudo tail -n 200 /var/log/fabricmanager.log",
    )
