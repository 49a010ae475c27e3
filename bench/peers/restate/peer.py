"""Restate: the server from npm with four partitions, and its Rust SDK.

`restate-rpc`: every activity is a durable call that any worker may execute. `restate-inline`:
activities are journaled steps of the handler that runs the job. `-r3` is a cluster of three servers
that keeps every record on all three.
"""

import json
import os
import platform
import urllib.error
import urllib.request

from harness import install
from harness.measure import Peer
from harness.proc import Failed, free_port, listens, wait_for

VARIANTS = ["restate-rpc", "restate-inline", "restate-rpc-r3", "restate-inline-r3"]
# Inlined steps run sequentially, so scenario D would only be slower.
SCENARIOS = {
    "restate-rpc": ["A", "B", "C", "D", "NA", "NB"],
    "restate-inline": ["A", "B", "NA", "NB"],
    "restate-rpc-r3": ["A", "B"],
    "restate-inline-r3": ["A", "B"],
}

# The default of 24 is meant for clusters; on 2 cores, 4 partitions have 1.6 times the throughput.
PARTITIONS = 4

MACHINES = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def prepare(variant):
    modules = install.npm("restate")
    machine = f"{platform.system().lower()}-{MACHINES.get(platform.machine(), platform.machine())}"
    package = os.path.join(modules, "@restatedev", f"restate-server-{machine}")
    server = os.path.join(package, "bin", "restate-server")
    if not os.path.exists(server):
        raise Failed(f"npm has no Restate server for {machine}")
    return {"server": server, "program": install.cargo("restate")}


def start(variant, installed, processes, fsync):
    copies = 3 if variant.endswith("-r3") else 1
    nodes = [Node(f"peer{n + 1}", processes.directory) for n in range(copies)]
    # Without the user's own RESTATE_* settings, which would influence the measurement.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RESTATE_")}
    command = [installed["server"], "--no-logo"]
    servers = []
    for node in nodes:
        settings = {**environment, **node.settings(nodes, fsync)}
        servers.append(processes.start("restate-server", command, env=settings))
    for node, server in zip(nodes, servers):
        wait_for("restate-server", lambda: healthy(node.admin), server)
        wait_for("restate-server's ingress", lambda: listens(node.ingress), server)
    program, worker = installed["program"], free_port()
    served = processes.start("worker", [program, "worker", f"127.0.0.1:{worker}"])
    wait_for("the worker", lambda: listens(worker), served)
    first = nodes[0]
    wait_for("the cluster", lambda: register(first.admin, worker), servers[0])
    mode = variant.removeprefix("restate-").removesuffix("-r3")
    urls = [f"http://127.0.0.1:{port}" for port in (first.ingress, first.admin)]
    driver = processes.start("submitter", [program, "drive", *urls, mode], pipes=True)
    version = install.version_of([installed["server"], "--version"]).split()[1]
    size = f"{PARTITIONS} partitions" if copies == 1 else f"{PARTITIONS} partitions, 3 servers"
    return Peer(
        version=f"Restate {version}, Rust SDK 0.13.0, {size}",
        durability=durability(fsync, copies),
        servers=servers,
        workers=[served],
        drivers=[driver],
        replicas=copies,
    )


class Node:
    """A server, with its ports. Several of them form a cluster."""

    def __init__(self, name, directory):
        self.name = name
        self.data = os.path.join(directory, name)
        self.fabric, self.ingress, self.admin = (free_port() for _ in range(3))

    def settings(self, nodes, fsync):
        address = f"http://127.0.0.1:{self.fabric}"
        return {
            "RESTATE_BASE_DIR": self.data,
            "RESTATE_CLUSTER_NAME": "peers",
            "RESTATE_NODE_NAME": self.name,
            # One node creates the cluster, which the others join.
            "RESTATE_AUTO_PROVISION": "true" if self is nodes[0] else "false",
            "RESTATE_DEFAULT_REPLICATION": str(len(nodes)),
            "RESTATE_METADATA_CLIENT__ADDRESSES": json.dumps(
                [f"http://127.0.0.1:{node.fabric}" for node in nodes]
            ),
            "RESTATE_LISTEN_MODE": "tcp",
            "RESTATE_BIND_IP": "127.0.0.1",
            "RESTATE_BIND_PORT": str(self.fabric),
            "RESTATE_ADVERTISED_ADDRESS": address,
            "RESTATE_INGRESS__BIND_PORT": str(self.ingress),
            "RESTATE_ADMIN__BIND_PORT": str(self.admin),
            "RESTATE_DEFAULT_NUM_PARTITIONS": str(PARTITIONS),
            # High enough to run 2,000 jobs with sleeping activities at once (scenario D).
            "RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT": "20000",
            "RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC": "false" if fsync else "true",
            "RESTATE_LOG_FILTER": "warn",
            "RESTATE_DISABLE_TELEMETRY": "true",
            "DO_NOT_TRACK": "1",
        }


def healthy(admin):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}/health", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


def register(admin, worker):
    """Registers the worker. Returns `False` while the cluster has no leader that could."""
    body = json.dumps({"uri": f"http://127.0.0.1:{worker}"}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{admin}/deployments",
        data=body,
        headers={"content-type": "application/json"},
    )
    try:
        urllib.request.urlopen(request, timeout=30).close()
    except urllib.error.HTTPError as error:
        if error.code >= 500:
            return False
        raise Failed(f"Restate refused the worker: {error.read().decode()}") from error
    return True


def durability(fsync, copies):
    where = "every transition in the log" + (" of three servers" if copies == 3 else "")
    return f"{where}, fsync before it counts" if fsync else f"{where}, fsync off: {LOSES[copies]}"


LOSES = {1: "a power cut may lose some", 3: "a power cut of all may lose some"}
