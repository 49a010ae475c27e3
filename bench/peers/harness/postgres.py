"""PostgreSQL 15 for peers that store their state in it: a new cluster in the directory of the run.
Existing clusters are not touched.
"""

import os
import pwd
import re
import shutil
import signal
import subprocess

from . import install
from .proc import Failed, free_port, wait_for

DEBIAN = "/usr/lib/postgresql/15/bin"
CREATE_CLUSTER = "/etc/postgresql-common/createcluster.conf"

# The usual settings of a small dedicated server. Commits wait for the disk (`synchronous_commit` is
# on by default), and no checkpoint falls into a window of 20 s.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
    "jit": "off",
}


def need():
    """Returns the directory of PostgreSQL's programs."""
    if not os.path.exists(os.path.join(DEBIAN, "postgres")):
        found = shutil.which("postgres")
        if found and " 15." in install.version_of([found, "--version"]):
            return os.path.dirname(os.path.realpath(found))
        if os.geteuid() == 0 and not os.path.exists(CREATE_CLUSTER):
            # Keeps the package from starting a server of its own.
            os.makedirs(os.path.dirname(CREATE_CLUSTER), exist_ok=True)
            with open(CREATE_CLUSTER, "w") as file:
                file.write("create_main_cluster = false\n")
        install.apt("postgresql-15")
    return DEBIAN


def start(processes, programs, fsync):
    """Starts a server; returns the process, the URL of an empty database and the version."""
    data, port = os.path.join(processes.directory, "postgres"), free_port()
    os.mkdir(data)
    who = {}
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        who = {"user": unprivileged(), "group": "nogroup", "extra_groups": []}
        shutil.chown(data, who["user"])
        os.chmod(processes.directory, 0o711)
    initdb = [os.path.join(programs, "initdb"), "-D", data, "-U", "postgres"]
    initdb += ["--auth=trust", "--encoding=UTF8", "--no-sync"]
    made = subprocess.run(initdb, cwd="/", capture_output=True, text=True, **who)
    if made.returncode != 0:
        raise Failed(f"initdb failed:\n{made.stderr}")
    settings = dict(SETTINGS, port=str(port), unix_socket_directories=data)
    settings["fsync"] = "on" if fsync else "off"
    command = [os.path.join(programs, "postgres"), "-D", data]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    server = processes.start("postgres", command, cwd="/", **who)
    processes.stop_with(server, signal.SIGINT)
    there = ["-h", "127.0.0.1", "-p", str(port), "-U", "postgres"]
    is_ready = [os.path.join(programs, "pg_isready"), "--quiet", *there]
    wait_for("PostgreSQL", lambda: subprocess.run(is_ready).returncode == 0, server)
    create = [os.path.join(programs, "createdb"), *there, "peer"]
    made = subprocess.run(create, capture_output=True, text=True)
    if made.returncode != 0:
        raise Failed(f"createdb failed:\n{made.stderr}")
    version = install.version_of([os.path.join(programs, "postgres"), "--version"])
    version = re.search(r"\d+\.\d+", version).group()
    return server, f"postgresql://postgres@127.0.0.1:{port}/peer", version


def unprivileged():
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def durability(fsync):
    if fsync:
        return "every step committed, fsync before the commit returns"
    return "every step committed, fsync off: a power cut may lose or break the database"
