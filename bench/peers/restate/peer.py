"""Restate: the server from npm with four partitions, and its Rust SDK.

`restate-rpc`: every activity is a durable call that any worker may execute. `restate-inline`:
activities are journaled steps of the handler that runs the job.
"""

import json
import os
import platform
import urllib.error
import urllib.request

from harness import install
from harness.measure import Peer
from harness.proc import Failed, free_port, listens, wait_for

VARIANTS = ["restate-rpc", "restate-inline"]
# Inlined steps run sequentially, so scenario D would only be slower.
SCENARIOS = {
    "restate-rpc": ["A", "B", "C", "D", "NA", "NB"],
    "restate-inline": ["A", "B", "NA", "NB"],
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
    data = os.path.join(processes.directory, "restate")
    node, ingress, admin, worker = (free_port() for _ in range(4))
    settings = {
        "RESTATE_BASE_DIR": data,
        "RESTATE_NODE_NAME": "peer",
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_BIND_IP": "127.0.0.1",
        "RESTATE_BIND_PORT": str(node),
        "RESTATE_INGRESS__BIND_PORT": str(ingress),
        "RESTATE_ADMIN__BIND_PORT": str(admin),
        "RESTATE_DEFAULT_NUM_PARTITIONS": str(PARTITIONS),
        # High enough to run 2,000 jobs with sleeping activities at once (scenario D).
        "RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT": "20000",
        "RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC": "false" if fsync else "true",
        "RESTATE_LOG_FILTER": "warn",
        "RESTATE_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "1",
    }
    # Without the user's own RESTATE_* settings, which would influence the measurement.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RESTATE_")}
    command = [installed["server"], "--no-logo"]
    server = processes.start("restate-server", command, env={**environment, **settings})
    wait_for("restate-server", lambda: healthy(admin), server)
    wait_for("restate-server's ingress", lambda: listens(ingress), server)
    program = installed["program"]
    served = processes.start("worker", [program, "worker", f"127.0.0.1:{worker}"])
    wait_for("the worker", lambda: listens(worker), served)
    register(admin, worker)
    mode = variant.removeprefix("restate-")
    urls = [f"http://127.0.0.1:{port}" for port in (ingress, admin)]
    driver = processes.start("submitter", [program, "drive", *urls, mode], pipes=True)
    version = install.version_of([installed["server"], "--version"]).split()[1]
    return Peer(
        version=f"Restate {version}, Rust SDK 0.13.0, {PARTITIONS} partitions",
        durability=durability(fsync),
        servers=[server],
        workers=[served],
        drivers=[driver],
    )


def healthy(admin):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}/health", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


def register(admin, worker):
    body = json.dumps({"uri": f"http://127.0.0.1:{worker}"}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{admin}/deployments",
        data=body,
        headers={"content-type": "application/json"},
    )
    try:
        urllib.request.urlopen(request, timeout=30).close()
    except urllib.error.HTTPError as error:
        raise Failed(f"Restate refused the worker: {error.read().decode()}") from error


def durability(fsync):
    if fsync:
        return "every transition in the log, fsync before it counts"
    return "every transition in the log, fsync off: a power cut may lose some"
