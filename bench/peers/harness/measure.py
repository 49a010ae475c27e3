"""The measurements: commands to the drivers, and the resource usage of processes during a window.

Percentiles, processor time and memory are computed only here, so that they mean the same for every
peer. This module must not depend on any peer.
"""

import json
import os
import select
import time

from . import proc
from .proc import Failed

# Longer than any window. Without a limit, a lost job would block the run forever.
PATIENCE_S = 300


class Peer:
    """A running peer: `workers` and `servers` do the work, `drivers` submit jobs and wait.

    A library runs jobs inside the submitting process: its drivers are workers as well (`embedded`).
    `replicas` is the number of servers that keep each record.
    """

    def __init__(
        self, version, durability, servers, workers, drivers, embedded=False, replicas=1
    ):
        self.version = version
        self.replicas = replicas
        self.durability = durability
        self.servers = [process.pid for process in servers]
        self.workers = [process.pid for process in workers]
        self.drivers = drivers
        if embedded:
            self.workers += [process.pid for process in drivers]
        self.clients = [] if embedded else [process.pid for process in drivers]
        self.processes = [*servers, *workers, *drivers]
        for driver in drivers:
            expect(self, driver, "ready")


def expect(peer, driver, event):
    """Returns the driver's next answer, and fails if it is another event."""
    end = time.monotonic() + PATIENCE_S
    while b"\n" not in driver.heard:
        if select.select([driver.stdout], [], [], 0.5)[0]:
            some = os.read(driver.stdout.fileno(), 1 << 20)
            if not some:
                driver.wait()
                raise Failed(f"{driver.name} ended with {driver.returncode}:\n{proc.tail(driver)}")
            driver.heard += some
            continue
        for process in peer.processes:
            if process.poll() is not None:
                raise Failed(f"{process.name} ended:\n{proc.tail(process)}")
        if time.monotonic() > end:
            raise Failed(f"{driver.name} said nothing for {PATIENCE_S} s")
    line, _, driver.heard = driver.heard.partition(b"\n")
    answer = json.loads(line)
    if answer["event"] != event:
        raise Failed(f"{driver.name} says {answer['event']}, not {event}")
    return answer


def command(peer, drivers, orders):
    """Sends each driver its order; returns the answers, the cost of the window, and the memory."""
    for driver, order in zip(drivers, orders):
        driver.stdin.write(json.dumps(order).encode() + b"\n")
        driver.stdin.flush()
    for driver in drivers:
        expect(peer, driver, "open")
    before = sample(peer)
    for driver in drivers:
        expect(peer, driver, "close")
    after = sample(peer)
    memory = {
        "server_mb": round(proc.memory_mb(peer.servers), 1),
        "worker_mb": round(proc.memory_mb(peer.workers), 1),
    }
    answers = [expect(peer, driver, "done") for driver in drivers]
    return answers, {name: after[name] - before[name] for name in after}, memory


def sample(peer):
    return {
        "seconds": time.monotonic(),
        "server": proc.cpu_ms(peer.servers),
        "worker": proc.cpu_ms(peer.workers),
        "client": proc.cpu_ms(peer.clients),
        "machine": proc.machine_cpu_ms(),
    }


def record(n, cost, memory):
    """The fields that every scenario reports."""
    own = cost["server"] + cost["worker"]
    others = cost["machine"] - own - cost["client"]
    return {
        "cpu_ms_per_job": round(own / n, 3),
        "client_cpu_ms_per_job": round(cost["client"] / n, 3),
        "memory_mb": round(memory["server_mb"] + memory["worker_mb"], 1),
        **memory,
        "n": n,
        "seconds": round(cost["seconds"], 3),
        "other_cores": round(max(others, 0) / 1000 / cost["seconds"], 2),
    }


def percentile(sorted_ms, part):
    """The sample at rank `part` of the sorted samples, without interpolation."""
    return round(sorted_ms[min(len(sorted_ms) - 1, int(part * len(sorted_ms)))], 2)


def percentiles(ms):
    ms = sorted(ms)
    parts = (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99))
    return {name: percentile(ms, part) for name, part in parts}


def throughput(peer, seconds, warm, in_flight, graph=False):
    """A: jobs per second with a fixed number in flight. NA: workflows, with `graph`."""
    count = len(peer.drivers)
    order = {"run": "throughput", "warm_s": warm, "seconds": seconds}
    order |= {"graph": True} if graph else {}
    orders = [dict(order, in_flight=in_flight // count) for _ in range(count)]
    answers, cost, memory = command(peer, peer.drivers, orders)
    n = sum(answer["n"] for answer in answers)
    if n == 0:
        raise Failed("no job was done within the window")
    rate = sum(answer["n"] / answer["seconds"] for answer in answers)
    return {"jobs_per_s": round(rate, 1), **record(n, cost, memory), "in_flight": in_flight}


def latency(peer, warm, n, graph=False):
    """B: one job at a time. NB: one workflow at a time, with `graph`."""
    order = {"run": "latency", "warm": warm, "n": n}
    order |= {"graph": True} if graph else {}
    answers, cost, memory = command(peer, peer.drivers[:1], [order])
    return {**percentiles(answers[0]["ms"]), **record(n, cost, memory), "in_flight": 1}


def parked(peer, n, resumed):
    """C: jobs that wait for an approval: their cost, and the time to resume one."""
    # Exclude one-time costs of the process and the database from the cost of a parked job.
    throughput(peer, 2, 2, 200)
    command(peer, peer.drivers[:1], [{"run": "park", "n": 100}])
    command(peer, peer.drivers[:1], [{"run": "resume", "n": 100}])
    before = {"server": proc.memory_mb(peer.servers), "worker": proc.memory_mb(peer.workers)}
    driver = peer.drivers[:1]
    answers, cost, memory = command(peer, driver, [{"run": "park", "n": n}])
    rate = n / answers[0]["seconds"]
    after = {"server": proc.memory_mb(peer.servers), "worker": proc.memory_mb(peer.workers)}
    grown = {name: round((after[name] - before[name]) * 1024 / n, 2) for name in after}
    answers, _, _ = command(peer, driver, [{"run": "resume", "n": resumed}])
    return {
        **percentiles(answers[0]["ms"]),
        "parked_per_s": round(rate, 1),
        "server_kb_per_parked": grown["server"],
        "worker_kb_per_parked": grown["worker"],
        **record(n, cost, memory),
        "in_flight": n,
    }


def makespan(peer, n, sleep_ms):
    """D: jobs submitted at once, with activities that sleep."""
    count = len(peer.drivers)
    order = {"run": "makespan", "n": n // count, "sleep_ms": sleep_ms}
    answers, cost, memory = command(peer, peer.drivers, [order] * count)
    took = max(answer["seconds"] for answer in answers)
    ideal = 4 * sleep_ms / 1000  # plan, s1, s2 beside s3, s4
    return {"makespan_s": round(took, 3), "ideal_s": ideal, **record(n, cost, memory), "in_flight": n}
