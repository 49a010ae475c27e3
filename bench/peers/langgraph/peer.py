"""LangGraph: the open-source library with its PostgreSQL checkpointer, durability "sync".

It is a library, so application and submitter are one process; there are two, one for each core.
"""

import os

from harness import install, postgres
from harness.measure import Peer
from harness.proc import Failed, tail

VARIANTS = ["langgraph"]
SCENARIOS = {"langgraph": ["A", "B", "C", "D", "NA", "NB"]}

PROCESSES = 2
SAVERS = 16
PIPELINE = True


def prepare(variant):
    return {"bin": install.pip("langgraph"), "postgres": postgres.need()}


def start(variant, installed, processes, fsync):
    server, url, version = postgres.start(processes, installed["postgres"], fsync)
    python = os.path.join(installed["bin"], "python3")
    program = os.path.join(install.folder("langgraph"), "application.py")
    command = [python, program, url, str(SAVERS), "pipeline" if PIPELINE else "plain"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LANG")}
    # No traces to an external service.
    environment |= {"PYTHONPATH": install.HOME, "LANGSMITH_TRACING": "false"}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    setup = processes.start("setup", [python, program, "setup", url], env=environment)
    if setup.wait() != 0:
        raise Failed(f"LangGraph could not make its tables:\n{tail(setup)}")
    drivers = [
        processes.start("langgraph", command, pipes=True, env=environment)
        for _ in range(PROCESSES)
    ]
    return Peer(
        version=f"LangGraph 1.2.22, checkpoint-postgres 3.2.0, PostgreSQL {version}",
        durability=postgres.durability(fsync).replace("every step", "every superstep"),
        servers=[server],
        workers=[],
        drivers=drivers,
        embedded=True,
    )
