"""Processes: starts them, stops exactly those, and reads their resource usage from /proc.

This module must never end a process that it did not start.
"""

import os
import signal
import socket
import subprocess
import time

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """An operation failed; the text names it and the next step for the user."""


def free_port():
    """Returns a port of the loopback interface that is free at the moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(what, ready, process=None, seconds=60):
    """Waits until `ready()` is true; fails if the process ends or the time is up."""
    end = time.monotonic() + seconds
    while not ready():
        if process is not None and process.poll() is not None:
            raise Failed(f"{what} ended with {process.returncode}:\n{tail(process)}")
        if time.monotonic() > end:
            raise Failed(f"{what} was not ready after {seconds} s:\n{tail(process)}")
        time.sleep(0.05)


def listens(port):
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


def tail(process):
    path = getattr(process, "log", None)
    if path is None:
        return ""
    with open(path, "rb") as log:
        return log.read()[-2000:].decode(errors="replace")


class Processes:
    """The processes of one peer. `stop` stops everything started here in reverse order."""

    def __init__(self, directory):
        self.directory = directory
        self.started = []

    def start(self, name, command, pipes=False, **more):
        """Starts a program with its output in a log file in the directory, or in pipes."""
        log = os.path.join(self.directory, f"{name}-{len(self.started)}.log")
        with open(log, "wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipes else output,
                stderr=output,
                cwd=more.pop("cwd", self.directory),
                **more,
            )
        process.log, process.name, process.heard = log, name, b""
        self.started.append((process, signal.SIGTERM))
        return process

    def stop_with(self, process, how):
        """Sets the signal for an orderly stop of this process, if it is not SIGTERM."""
        self.started = [(p, how if p is process else s) for p, s in self.started]

    def stop(self):
        for process, how in reversed(self.started):
            family = tree([process.pid]) if process.poll() is None else []
            if process.stdin:
                process.stdin.close()
            if process.poll() is None:
                process.send_signal(how)
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pid in family:
                # An orphaned worker; its PID is not reused within this short time.
                if alive(pid) and pid != process.pid:
                    os.kill(pid, signal.SIGKILL)
        self.started = []


def alive(pid):
    state = stat(pid)
    return state is not None and state[0] != "Z"


def stat(pid):
    """The fields of /proc/PID/stat from the state on, or `None` if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def tree(pids):
    """These processes and all their descendants."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := stat(name)):
            children.setdefault(int(fields[1]), []).append(int(name))
    found, left = [], list(pids)
    while left:
        pid = left.pop()
        found.append(pid)
        left.extend(children.get(pid, []))
    return found


def cpu_ms(pids):
    """Processor time of these processes and their descendants, including those that have ended."""
    total = 0
    for pid in tree(pids):
        if fields := stat(pid):
            total += sum(int(field) for field in fields[11:15])
    return total * TICK_MS


def memory_mb(pids):
    """Proportional set size of these processes and their descendants."""
    total = 0
    for pid in tree(pids):
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            pass
    return total / 1024


def machine_cpu_ms():
    """Processor time of the whole machine, without idle time and I/O wait."""
    with open("/proc/stat") as file:
        fields = [int(field) for field in file.readline().split()[1:]]
    # user, nice, system, irq, softirq, steal: without idle and the wait for disks.
    return sum(fields[i] for i in (0, 1, 2, 5, 6, 7)) * TICK_MS
