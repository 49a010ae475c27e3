"""DBOS: its Rust SDK on PostgreSQL. It is a library, so application and submitter are one process."""

from harness import install, postgres
from harness.measure import Peer

VARIANTS = ["dbos"]
SCENARIOS = {"dbos": "ABCD"}

# The default is 10. Of 10, 20, 40, 80 and 140, 40 has the best throughput; more cost processor
# time.
CONNECTIONS = 40


def prepare(variant):
    return {"program": install.cargo("dbos"), "postgres": postgres.need()}


def start(variant, installed, processes, fsync):
    server, url, version = postgres.start(processes, installed["postgres"], fsync)
    command = [installed["program"], "drive", url, str(CONNECTIONS)]
    application = processes.start("dbos", command, pipes=True)
    return Peer(
        version=f"DBOS Rust 0.5.0, PostgreSQL {version}",
        durability=postgres.durability(fsync),
        servers=[server],
        workers=[],
        drivers=[application],
        embedded=True,
    )
