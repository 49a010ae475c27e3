"""Executes the commands of the harness for peers in Python, as load/src/driver.rs does.

A peer is an object with `run(job)`, with `run_graph(job)` if it has the workflow, and with
`park(job)`, `parked()` and `resume(job)` if it can wait for an approval. A job is its id and the milliseconds for which its activities sleep.
"""

import asyncio
import itertools
import json
import os
import sys
import time

from .work import expected, expected_of_graph


class Wrong(Exception):
    """A job has a wrong result. Without this check, a peer that drops work would look fast."""


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


async def drive(peer):
    """Executes commands until the end of the input."""
    numbers = itertools.count()
    prefix = f"j{os.getpid()}"
    driver = Driver(peer, lambda: f"{prefix}-{next(numbers)}")
    loop = asyncio.get_running_loop()
    say("ready")
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        say("done", **await getattr(driver, order.pop("run"))(**order))


class Driver:
    def __init__(self, peer, new_id):
        self.peer, self.new_id, self.waiting = peer, new_id, []
        self.wanted, self.wanted_of_graph = expected(), expected_of_graph()

    def check(self, got, wanted=None):
        wanted = wanted or self.wanted
        if got != wanted:
            raise Wrong(f"{got!r}, not {wanted!r}")

    async def run(self, sleep_ms=0, graph=False):
        if graph:
            self.check(await self.peer.run_graph(self.new_id()), self.wanted_of_graph)
        else:
            self.check(await self.peer.run(self.new_id(), sleep_ms))

    async def throughput(self, in_flight, warm_s, seconds, graph=False):
        stop, done = False, 0

        async def client():
            nonlocal done
            while not stop:
                await self.run(graph=graph)
                done += 1

        clients = [asyncio.create_task(client()) for _ in range(in_flight)]
        await pause(warm_s, clients)
        opened, before = time.perf_counter(), done
        say("open")
        await pause(seconds, clients)
        # A queue advances slow jobs in step, and they end in waves: count more than one wave.
        while done - before < 2 * in_flight and time.perf_counter() - opened < 4 * seconds:
            await pause(1, clients)
        after, took = done, time.perf_counter() - opened
        say("close")
        stop = True
        await asyncio.gather(*clients)
        return {"n": after - before, "seconds": took}

    async def latency(self, warm, n, graph=False):
        for _ in range(warm):
            await self.run(graph=graph)
        say("open")
        ms = []
        for _ in range(n):
            started = time.perf_counter()
            await self.run(graph=graph)
            ms.append((time.perf_counter() - started) * 1000)
        say("close")
        return {"n": n, "ms": ms}

    async def park(self, n):
        ids = [self.new_id() for _ in range(n)]
        before, started = await self.peer.parked(), time.perf_counter()
        say("open")
        for at in range(0, n, 200):
            await asyncio.gather(*(self.peer.park(job) for job in ids[at : at + 200]))
        while await self.peer.parked() < before + n:
            await asyncio.sleep(0.05)
        took = time.perf_counter() - started
        say("close")
        self.waiting += ids
        return {"n": n, "seconds": took}

    async def resume(self, n):
        chosen, self.waiting = self.waiting[:n], self.waiting[n:]
        say("open")
        ms = []
        for job in chosen:
            started = time.perf_counter()
            self.check(await self.peer.resume(job))
            ms.append((time.perf_counter() - started) * 1000)
        say("close")
        return {"n": len(chosen), "ms": ms}

    async def makespan(self, n, sleep_ms):
        started = time.perf_counter()
        say("open")
        await asyncio.gather(*(self.run(sleep_ms) for _ in range(n)))
        took = time.perf_counter() - started
        say("close")
        return {"n": n, "seconds": took}


async def pause(seconds, clients):
    """Sleeps, but raises early the error of a client that failed."""
    done, _ = await asyncio.wait(clients, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for client in done:
        client.result()
