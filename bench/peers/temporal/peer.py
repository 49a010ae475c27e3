"""Temporal's development server, which stores its state in SQLite, with the Python SDK.

It shows that the workload runs on Temporal. It is not Temporal's production server, and its results
must not be quoted as Temporal's speed.
"""

import os

from harness import install
from harness.measure import Peer
from harness.proc import free_port, listens, wait_for

VARIANTS = ["temporal-dev"]

# A higher limit only lengthens the queue: with 200, no job completed within seconds.
IN_FLIGHT_MAX = 20


def prepare(variant):
    return {"bin": install.pip("temporal")}


def start(variant, installed, processes, fsync):
    port = free_port()
    address = f"127.0.0.1:{port}"
    program = os.path.join(installed["bin"], "temporal")
    # SQLite's values of `synchronous`: 2 is FULL, 0 is OFF.
    pragmas = ["journal_mode=wal", f"synchronous={2 if fsync else 0}"]
    command = [program, "server", "start-dev", "--headless", "--log-level=error"]
    command += ["--ip=127.0.0.1", f"--port={port}"]
    command += [f"--db-filename={processes.directory}/temporal.db"]
    command += [f"--sqlite-pragma={pragma}" for pragma in pragmas]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TEMPORAL_")}
    environment |= {"HOME": processes.directory, "PYTHONDONTWRITEBYTECODE": "1"}
    home = install.folder("temporal")
    environment["PYTHONPATH"] = os.pathsep.join([install.HOME, home])
    server = processes.start("temporal", command, env=environment)
    wait_for("Temporal's server", lambda: listens(port), server)
    health = [program, "operator", "cluster", "health", "--address", address]
    wait_for("Temporal's server", lambda: install.version_of(health) == "SERVING", server)
    python = os.path.join(installed["bin"], "python3")
    serve = [python, os.path.join(home, "workflow.py"), address]
    worker = processes.start("worker", serve, env=environment)
    submit = [python, os.path.join(home, "submitter.py"), address]
    driver = processes.start("submitter", submit, pipes=True, env=environment)
    words = install.version_of([program, "--version"]).removeprefix("temporal version ")
    return Peer(
        version=f"Temporal development server {words}, Python SDK 1.35.0",
        durability=durability(fsync),
        servers=[server],
        workers=[worker],
        drivers=[driver],
    )


def durability(fsync):
    if fsync:
        return "every transition in SQLite, fsync before it counts; not a production server"
    return "every transition in SQLite, fsync off; not a production server"
