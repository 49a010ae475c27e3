"""Celery on Redis. Tasks may run on any worker; the state of a canvas is only in Redis.

`celery` waits for the disk at every write of Redis (appendfsync always), as the other peers do.
`celery-everysec` is Redis's recommendation: a power failure loses up to a second.
"""

import os
import shutil
import socket

from harness import install
from harness.measure import Peer
from harness.proc import free_port, listens, wait_for

VARIANTS = ["celery", "celery-everysec"]

WORKERS = 2

# The server program of Debian's redis-tools; it dispatches on argv[0].
SERVER = "/usr/bin/redis-check-rdb"


def prepare(variant):
    server = shutil.which("redis-server")
    if server is None:
        if not os.path.exists(SERVER):
            # Not redis-server: that package starts a system service.
            install.apt("redis-tools")
        server = SERVER
    return {"server": server, "bin": install.pip("celery")}


def start(variant, installed, processes, fsync):
    port = free_port()
    mode = ("everysec" if variant == "celery-everysec" else "always") if fsync else "no"
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    command += ["--appendonly", "yes", "--appendfsync", mode, "--dir", processes.directory]
    # A multi-call program: run it as redis-server.
    server = processes.start("redis-server", command, executable=installed["server"])
    wait_for("Redis", lambda: listens(port), server)
    python = os.path.join(installed["bin"], "python3")
    home = install.folder("celery")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CELERY")}
    environment |= {
        "PEER_REDIS": f"redis://127.0.0.1:{port}/0",
        "PYTHONPATH": os.pathsep.join([install.HOME, home]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    worker = [python, "-m", "celery", "-A", "tasks", "worker", "--loglevel=WARNING"]
    worker += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    # One process for each core that fetches its own tasks: cheaper than a pool behind a dispatcher.
    worker += ["--pool=solo"]
    workers = [
        processes.start("celery", [*worker, f"--hostname=w{number}"], env=environment)
        for number in range(WORKERS)
    ]
    submitter = [python, os.path.join(home, "submitter.py")]
    driver = processes.start("submitter", submitter, pipes=True, env=environment)
    version = redis_version(port)
    return Peer(
        version=f"Celery 5.7.0, redis-py 8.1.0, Redis {version}",
        durability=durability(mode),
        servers=[server],
        workers=workers,
        drivers=[driver],
    )


def redis_version(port):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(b"INFO server\r\n")
        text = client.recv(65536).decode()
    return text.split("redis_version:")[1].split()[0]


def durability(mode):
    return {
        "always": "every write of Redis in its log, fsync before the answer; not exactly once",
        "everysec": "Redis' log, fsync once a second: a power cut may lose that; not exactly once",
        "no": "Redis' log, fsync off: a power cut may lose some; not exactly once",
    }[mode]
