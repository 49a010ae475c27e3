"""The protocol of Callboard's tool workers, over nats-py.

docs/tools.md describes it; this file is one implementation, small enough to copy. It takes tool
calls of one pool from every shard of an installation, runs them, stores each result in the job's
log and only then acknowledges the call. If a process dies, its calls are redelivered to another
worker, so a tool may be called more than once with the same idempotency key. A redelivered call runs
only if the job's log still needs it.

It does not implement the protocol of `once` tools, and refuses to announce one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import signal
import socket
import ssl
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable

import nats
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import (
    BadRequestError,
    NotFoundError,
)

import traces

log = logging.getLogger("callboard")

RECORD_VERSION = 1
INLINE_BYTES_MAX = 64 * 1024
PIECE_BYTES = 256 * 1024
# A header with the subject of the message. Callboard ignores records and values without it.
MARK = "Callboard-Subject"
WRONG_LAST_SEQUENCE = (10071, 10164)
RESULT_BYTES_MAX = 1024 * 1024
DELIVERIES_MAX = 5
DRAIN_S = 25.0
PRESENCE_S = 1.0


class Fault(Exception):
    """The call failed without an answer of the tool. `kind` decides whether it is retried."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Call:
    """The context of a call, passed to the tool beside the arguments."""

    job: str
    work: str
    step: str
    attempt: int
    # The same for all attempts of the call: pass it to every operation with effects.
    idempotency_key: str
    language: str


@dataclass
class Running:
    """A call in this process."""

    shard: str
    job: str
    # The position of the call in the job's log.
    seq: int
    run: asyncio.Task[dict[str, Any]]
    # Set once the job's log shows that nobody needs the call.
    obsolete: bool = False


@dataclass
class Tool:
    """A tool: the announced definition, and the coroutine that runs its calls.

    `run(call, args)` returns the result: {"success": bool, "data"?, "error"?, "message"?}.
    """

    name: str
    description: str
    schema: dict[str, Any]
    effect: str
    run: Callable[[Call, dict[str, Any]], Awaitable[dict[str, Any]]]
    version: str = "1"
    timeout_ms: int = 60_000
    concurrency: int = 16
    approval: str = "never"
    # Texts in further languages, by code: {"zh": {"description": "…", "arguments": {"text": "…"}}}
    translations: dict[str, Any] = field(default_factory=dict)
    places: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        if self.effect not in ("pure", "idempotent"):
            raise ValueError(f"{self.name}: this worker runs pure and idempotent tools only")
        self.places = asyncio.Semaphore(self.concurrency)

    def spec(self, pool: str) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "schema": self.schema,
            "effect": self.effect,
            "pool": pool,
            "timeout_ms": self.timeout_ms,
            "concurrency": self.concurrency,
            "approval": self.approval,
            "version": self.version,
            **({"translations": self.translations} if self.translations else {}),
        }


def digest(value: Any) -> str:
    """SHA-256 of JSON with the fields of every object sorted by name and no spaces."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def generation(work: str) -> int:
    """Returns the number of rollbacks before a unit of work: 2 for "g2.r0.step1"."""
    return int(work.split(".")[0].removeprefix("g"))


async def first(*waits: Awaitable[Any]) -> None:
    """Waits for the first of several events."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def version(text: str) -> list[tuple[int, str]]:
    """A sort key for versions, with numbers compared as numbers: 1.9 comes before 1.10."""
    parts = text.replace("-", ".").replace("+", ".").split(".")
    return [(int(p), "") if p.isdigit() else (0, p) for p in parts]


def check(schema: dict[str, Any], args: Any) -> None:
    """Validates `args` against the small subset of JSON Schema that this example uses.

    Use a JSON Schema library for more.
    """
    types = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}
    if not isinstance(args, dict):
        raise Fault("invalid_arguments", ".: the arguments must be an object")
    for name in schema.get("required", []):
        if name not in args:
            raise Fault("invalid_arguments", f"{name}: is required")
    for name, value in args.items():
        wanted = schema["properties"].get(name)
        if wanted is None:
            raise Fault("invalid_arguments", f"{name}: is not expected")
        kind = types[wanted["type"]]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise Fault("invalid_arguments", f"{name}: must be of type {wanted['type']}")
        if kind is str and len(value) > wanted.get("maxLength", len(value)):
            raise Fault("invalid_arguments", f"{name}: is longer than {wanted['maxLength']}")


@dataclass(frozen=True)
class Access:
    """Credentials for a broker that requires authentication; see docs/security.md.

    `nkey_seed` and `ca_file` are paths. The seed is read on every connect, so a rotated key takes
    effect; it needs the package nkeys. `inbox_prefix` is the subject prefix of replies, which must
    match the permissions of the worker's user.
    """

    nkey_seed: str | None = None
    ca_file: str | None = None
    inbox_prefix: str = "_INBOX"

    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"inbox_prefix": self.inbox_prefix.encode()}
        if self.nkey_seed:
            options["nkeys_seed"] = self.nkey_seed
        if self.ca_file:
            options["tls"] = ssl.create_default_context(cafile=self.ca_file)
        return options


class Worker:
    """Announces tools and answers their calls until SIGTERM or SIGINT."""

    def __init__(self, pool: str, tools: list[Tool], *, servers: str, prefix: str = "cb",
                 slots: int = 64, ack_wait_s: float = 30.0, name: str | None = None,
                 access: Access = Access()):
        self.pool, self.servers, self.prefix = pool, servers, prefix
        self.access = access
        self.tools = {tool.name: tool for tool in tools}
        self.name = name or f"python-{uuid.uuid4().hex[:12]}"
        self.capacity = slots
        self.slots = asyncio.Semaphore(slots)
        self.started_ms = time.time_ns() // 1_000_000
        self.ack_wait_s = ack_wait_s
        self.stopping = asyncio.Event()
        self.running: set[asyncio.Task[None]] = set()
        self.calls: list[Running] = []

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.stopping.set)
        self.nats = await nats.connect(self.servers.split(","), name=self.name,
                                       max_reconnect_attempts=-1, **self.access.options())
        self.js = self.nats.jetstream()
        await self.nats.subscribe(f"{self.prefix}.stop.*.*", cb=self.stopped)
        shards = await self.shards()
        pullers = [asyncio.create_task(self.pull(shard)) for shard in shards]
        announcer = asyncio.create_task(self.announce())
        presence = asyncio.create_task(self.present())
        log.info("ready: %s in pool %s, %d shards", ", ".join(self.tools), self.pool, len(shards))
        stopped = asyncio.create_task(self.stopping.wait())
        try:
            # A task that ends before the stop signal has failed.
            await asyncio.wait([stopped, announcer, *pullers], return_when=asyncio.FIRST_COMPLETED)
            for task in (announcer, *pullers):
                if task.done():
                    task.result()
            log.info("finishing %d calls", len(self.running))
            await self.say()
            await asyncio.gather(*pullers)
            if self.running:
                await asyncio.wait(self.running, timeout=DRAIN_S)
        finally:
            # Unacknowledged calls are redelivered to another worker.
            for task in (stopped, announcer, presence, *pullers, *self.running):
                task.cancel()
            await self.nats.close()

    async def present(self) -> None:
        """Announces this worker every second, so that operators and waiting jobs see it."""
        while True:
            await self.say()
            await asyncio.sleep(PRESENCE_S)

    async def say(self) -> None:
        """Sends one presence message. `draining` says goodbye: no new calls are taken."""
        load = {"pool": f"call.{self.pool}", "in_flight": len(self.running), "capacity": self.capacity}
        said = {"v": 1, "pools": [load], "host": socket.gethostname(), "pid": os.getpid(),
                "started_ms": self.started_ms, "draining": self.stopping.is_set()}
        try:
            await self.nats.publish(f"{self.prefix}.crew.worker.{self.name}", json.dumps(said).encode())
        except NatsError as error:
            log.warning("the presence message could not be sent: %s", error)

    async def shards(self) -> list[int]:
        """Returns the installation's shards, each of which has a stream."""
        start, found = f"{self.prefix}-shard-", []
        while True:
            infos = await self.js.streams_info(offset=len(found))
            if not infos:
                break
            found += [info.config.name for info in infos]
        shards = sorted(int(name[len(start):]) for name in found if name.startswith(start))
        if not shards:
            raise SystemExit(f"no Callboard installation with prefix {self.prefix!r} here; "
                             "start Callboard first")
        return shards

    async def announce(self) -> None:
        """Announces every tool, and checks every 30 seconds that it is still announced."""
        while True:
            for tool in self.tools.values():
                try:
                    await self.announce_one(tool)
                except BadRequestError as error:
                    if error.err_code not in WRONG_LAST_SEQUENCE:
                        raise
                    log.info("%s: somebody else announced it at the same moment", tool.name)
                except NatsError as error:
                    log.warning("%s could not be announced: %s", tool.name, error)
            await asyncio.sleep(30)

    async def announce_one(self, tool: Tool) -> None:
        spec = tool.spec(self.pool)
        value = json.dumps({**spec, "by": self.name}).encode()
        theirs, revision = await self.announced(tool.name)
        if theirs is None:
            await self.register(tool.name, value, revision)
            log.info("%s announced", tool.name)
            return
        by = theirs.pop("by", None)
        if theirs == spec:
            return
        # Both define the same tool if they differ only in what people and models are told of it.
        told = ("commands", "translations")
        same = {k: v for k, v in theirs.items() if k not in told} == {
            k: v for k, v in spec.items() if k not in told
        }
        adds = any(k in spec and k not in theirs for k in told)
        if same and not adds:
            return
        newer = version(tool.version) > version(theirs.get("version", "1"))
        if newer or same or by == self.name:
            await self.register(tool.name, value, revision)
            log.info("%s announced in place of version %s", tool.name, theirs.get("version"))
        else:
            log.error("%s is announced by %s with another definition than %s has; give one of them "
                      "another name or a new version", tool.name, by, self.name)

    async def announced(self, name: str) -> tuple[dict[str, Any] | None, int]:
        """Returns the announcement of a tool, or None, and the revision to replace. A value that was
        deleted or has no mark is no announcement.
        """
        subject = f"$KV.{self.prefix}-tools.{name}"
        try:
            found = await self.js.get_last_msg(f"KV_{self.prefix}-tools", subject, direct=True)
        except NotFoundError:
            return None, 0
        headers = found.headers or {}
        if headers.get(MARK) != subject or "KV-Operation" in headers:
            return None, found.seq
        return json.loads(found.data), found.seq

    async def register(self, name: str, value: bytes, revision: int) -> None:
        subject = f"$KV.{self.prefix}-tools.{name}"
        await self.js.publish(subject, value, headers={
            MARK: subject, "Nats-Expected-Last-Subject-Sequence": str(revision)})

    async def pull(self, shard: int) -> None:
        """Fetches calls of one shard while there are free slots. A call whose tool runs as many calls
        as it may is the last that is fetched until it runs.
        """
        stream, durable = f"{self.prefix}-shard-{shard}", f"call-{self.pool}"
        config = ConsumerConfig(
            durable_name=durable,
            filter_subject=f"{self.prefix}.{shard}.*.do.call.{self.pool}",
            deliver_policy=DeliverPolicy.ALL,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=self.ack_wait_s,
            max_deliver=-1,
            max_ack_pending=20_000,
            max_waiting=8192,
        )
        try:
            consumer = await self.js.consumer_info(stream, durable)
        except NotFoundError:
            consumer = await self.js.add_consumer(stream, config)
        # The consumer's actual setting, since heartbeats depend on it.
        self.ack_wait_s = consumer.config.ack_wait or self.ack_wait_s
        queue = await self.js.pull_subscribe_bind(consumer=durable, stream=stream)
        while not self.stopping.is_set():
            await self.slots.acquire()
            try:
                [message] = await queue.fetch(1, timeout=1.0)
            except NatsTimeout:
                self.slots.release()
                continue
            except Exception as error:
                self.slots.release()
                log.warning("shard %d: %s; trying again", shard, error)
                await asyncio.sleep(1.0)
                continue
            placed = asyncio.Event()
            task = asyncio.create_task(self.answer(message, placed))
            self.running.add(task)
            task.add_done_callback(self.ended)
            await first(placed.wait(), self.stopping.wait(), asyncio.wait([task]))

    def ended(self, task: asyncio.Task[None]) -> None:
        self.running.discard(task)
        self.slots.release()
        if not task.cancelled() and task.exception():
            log.error("a call was given up: %s", task.exception())

    async def answer(self, message: Any, placed: asyncio.Event) -> None:
        """Handles one call: runs it, stores the result, and only then acknowledges. `placed` is
        set when the tool runs.
        """
        _, shard, job, *_ = message.subject.split(".")
        if self.forged(message, shard, job):
            log.error("job %s: a client made the server write a call; the call is ignored", job)
            return await message.term()
        try:
            command = await self.body(message)
        except ValueError as error:
            # The supervisor parks a job whose log has an unreadable record.
            log.error("job %s: a call cannot be read: %s", job, error)
            return await message.nak(delay=60)
        delivered, seq = message.metadata.num_delivered, message.metadata.sequence.stream
        if await self.has_ended(shard, job, seq):
            log.info("job %s ended before %s began", job, command["work"])
            return await message.ack()
        if delivered > 1 and await self.is_obsolete(shard, job, seq, command):
            log.info("job %s: %s is no longer needed", job, command["work"])
            return await message.ack()
        run = asyncio.create_task(self.called(job, command, delivered, placed))
        heart = asyncio.create_task(self.beat(message, run, command["effect"]))
        call = Running(shard, job, seq, run)
        self.calls.append(call)
        try:
            with traces.tool_call(message.headers or {}, job, command) as span:
                called = await run
                if "fault" in called:
                    span.fail(called["fault"])
            await self.append(shard, job, called, span.traceparent)
            await message.ack()
            log.info("job %s: %s answered %s", job, command["tool"], command["work"])
        except asyncio.CancelledError:
            if not call.obsolete:
                raise
            log.info("job %s: ended %s", job, command["work"])
            await message.ack()
        finally:
            self.calls.remove(call)
            run.cancel()
            heart.cancel()

    async def stopped(self, message: Any) -> None:
        """Ends the calls of a job that has ended. The message is a hint; the job's log proves it."""
        *_, shard, job = message.subject.split(".")
        for call in [call for call in self.calls if (call.shard, call.job) == (shard, job)]:
            if await self.is_obsolete(shard, job, call.seq, None):
                call.obsolete = True
                call.run.cancel()

    async def is_obsolete(self, shard: str, job: str, seq: int, command: dict[str, Any] | None) -> bool:
        """Returns whether a record after the call at `seq` makes it obsolete: the end of the job, a
        decision of a later generation, or an answer to `command`. A worker without the right to read
        the log cannot know, and runs the call.
        """
        while True:
            try:
                found = await self.js.get_msg(f"{self.prefix}-shard-{shard}", seq=seq + 1, next=True,
                                              subject=f"{self.prefix}.{shard}.{job}.>", direct=True)
            except NotFoundError:
                return False
            except NatsError as error:
                log.warning("job %s: the log cannot be read: %s", job, error)
                return False
            seq, (family, kind, *_) = found.seq, found.subject.split(".")[3:]
            if (family, kind) == ("do", "finish"):
                return True
            if command is None or (family, kind) not in (("do", "plan"), ("do", "turn"), ("do", "call"),
                                                         ("do", "done"), ("in", "crew")):
                continue
            record = json.loads(found.data)
            body = record.get("body") or json.loads(await self.fetch(**record["body_ref"]))
            if family == "do" and generation(body.get("command", body)["work"]) > generation(command["work"]):
                return True
            answered = (body.get("work"), body.get("attempt")) == (command["work"], command["attempt"])
            if record["kind"] == "called" and answered:
                return True

    def forged(self, message: Any, shard: str, job: str) -> bool:
        """Returns whether the server wrote the message on behalf of a client without the right to
        do so: as the answer to a request with this subject as its reply subject, or from a
        schedule. Decisions may name the timer of their own job that they remove.
        """
        headers = message.headers or {}
        # Calls of a release that marked nothing may still wait in the queue.
        if headers.get(MARK, message.subject) != message.subject:
            return True
        timer = headers.get("Nats-Scheduler", f"{self.prefix}.{shard}.{job}.at.")
        return "Nats-Sequence" in headers or not timer.startswith(f"{self.prefix}.{shard}.{job}.at.")

    async def has_ended(self, shard: str, job: str, call: int) -> bool:
        """Returns whether the job ended after the call: nobody waits for the result any more."""
        end = f"{self.prefix}.{shard}.{job}.do.finish.none"
        try:
            found = await self.js.get_last_msg(f"{self.prefix}-shard-{shard}", end, direct=True)
        except NotFoundError:
            return False
        return found.seq > call

    async def beat(self, message: Any, run: asyncio.Task[Any], effect: str) -> None:
        """Extends the deadline of the call. After so long without the server that the call may soon
        be redelivered, a tool with effects is cancelled: two runs must not overlap.
        """
        heard = time.monotonic()
        while True:
            await asyncio.sleep(self.ack_wait_s / 3)
            if self.nats.is_connected:
                await message.in_progress()
                heard = time.monotonic()
            elif effect != "pure" and time.monotonic() - heard > self.ack_wait_s / 2:
                run.cancel()

    async def body(self, message: Any) -> dict[str, Any]:
        """Returns the body of a record, inline or from the stream of large values."""
        record = json.loads(message.data)
        if record["v"] > RECORD_VERSION or record["kind"] != "call":
            raise ValueError(f"kind {record['kind']!r} in version {record['v']}")
        if "body" in record:
            return record["body"]
        return json.loads(await self.fetch(**record["body_ref"]))

    async def fetch(self, sha256: str, bytes: int) -> bytes:
        """Returns a large value, assembled from its pieces and verified against its digest."""
        return b"".join(await self.pieces(sha256, bytes))

    async def pieces(self, sha256: str, bytes: int) -> list[bytes]:
        """Returns the stored pieces of a large value."""
        pieces: list[Any] = []
        while sum(map(len, pieces)) < bytes:
            pieces.append(await self.piece(sha256, len(pieces)))
        if hashlib.sha256(b"".join(pieces)).hexdigest() != sha256:
            raise ValueError(f"object {sha256} is damaged")
        return pieces

    async def piece(self, sha256: str, piece: int) -> Any:
        subject = f"{self.prefix}.object.{sha256}.{piece}"
        try:
            found = await self.js.get_last_msg(f"{self.prefix}-objects", subject, direct=True)
        except NotFoundError:
            raise ValueError(f"piece {piece} of object {sha256} is missing") from None
        return found.data

    async def called(self, job: str, command: dict[str, Any], delivered: int,
                     placed: asyncio.Event) -> dict[str, Any]:
        """Runs a call and always returns an answer, also after a fault or an exception."""
        begun, fault = time.monotonic(), None
        try:
            if delivered > DELIVERIES_MAX:
                raise Fault("worker_lost", f"{delivered - 1} workers took it and none answered")
            result = await self.carry_out(job, command, placed)
            if len(json.dumps(result).encode()) > RESULT_BYTES_MAX:
                result = {"success": False, "error": "the result is larger than 1 MiB"}
        except Fault as error:
            fault, result = error.kind, {"success": False, "error": str(error)}
        except Exception as error:
            log.exception("job %s: %s broke", job, command["tool"])
            fault, result = "internal", {"success": False, "error": f"the tool broke: {error!r}"}
        answer = {"work": command["work"], "attempt": command["attempt"], "result": result}
        if fault:
            answer["fault"] = fault
        return {**answer, "duration_ms": int((time.monotonic() - begun) * 1000)}

    async def carry_out(self, job: str, command: dict[str, Any],
                        placed: asyncio.Event) -> dict[str, Any]:
        tool = self.tools.get(command["tool"])
        if tool is None:
            raise Fault("unknown_tool", f"there is no tool {command['tool']} here")
        if (command["version"], command["effect"]) != (tool.version, tool.effect):
            raise Fault("version_mismatch", f"{tool.name} here is {tool.effect}, version {tool.version}")
        approved = command.get("approved")
        bound = {"job": job, "work": command["work"], "tool": tool.name,
                 "version": tool.version, "args": command["args"]}
        if approved != digest(bound) and (approved is not None or tool.approval == "always"):
            raise Fault("version_mismatch", "the approval belongs to another call")
        check(tool.schema, command["args"])
        call = Call(job, command["work"], command["step"], command["attempt"],
                    command["idempotency_key"], command.get("language", "en"))
        async with tool.places:
            placed.set()
            try:
                return await asyncio.wait_for(tool.run(call, command["args"]), tool.timeout_ms / 1000)
            except asyncio.TimeoutError:
                raise Fault("timeout", f"not finished within {tool.timeout_ms} ms") from None

    async def append(self, shard: str, job: str, called: dict[str, Any],
                     traceparent: str | None) -> None:
        """Appends the result to the job's log, and retries until the server confirms it."""
        record = {"v": RECORD_VERSION, "kind": "called", "id": str(uuid.uuid4()), "by": self.name}
        body = json.dumps(called, ensure_ascii=False, separators=(",", ":")).encode()
        subject = f"{self.prefix}.{shard}.{job}.in.call.{self.pool}"
        kept = {MARK: subject, "Nats-Msg-Id": record["id"]}
        if traceparent:
            kept["traceparent"] = traceparent
        while True:
            try:
                if len(body) > INLINE_BYTES_MAX:
                    record["body_ref"] = {"sha256": await self.store(body), "bytes": len(body)}
                else:
                    record["body"] = called
                payload = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
                # A repeat with the same id is stored once, and a result that is stored twice counts
                # once.
                await self.js.publish(subject, payload, headers=kept)
                return
            except Exception as error:
                log.warning("job %s: the result is not stored yet: %s", job, error)
                await asyncio.sleep(1.0)

    async def store(self, value: bytes) -> str:
        """Stores a large value in pieces, each only if absent, and returns the value's name.

        A value that exists already is rewritten unchanged, since garbage collection spares recent
        writes.
        """
        name = hashlib.sha256(value).hexdigest()
        for piece, start in enumerate(range(0, len(value), PIECE_BYTES)):
            part = value[start:start + PIECE_BYTES]
            try:
                await self.put(name, piece, part, {"Nats-Expected-Last-Subject-Sequence": "0"})
            except BadRequestError as error:
                if error.err_code not in WRONG_LAST_SEQUENCE:
                    raise
                # The same value was stored before, perhaps in other pieces.
                if await self.piece(name, piece) != part:
                    break
                await self.put(name, piece, part, {"Nats-Rollup": "sub"})
        else:
            await self.fetch(name, len(value))
            return name
        for piece, part in enumerate(await self.pieces(name, len(value))):
            await self.put(name, piece, part, {"Nats-Rollup": "sub"})
        return name

    async def put(self, name: str, piece: int, part: bytes, headers: dict[str, str]) -> None:
        await self.js.publish(f"{self.prefix}.object.{name}.{piece}", part, headers=headers)
