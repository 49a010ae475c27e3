"""A tool worker for Callboard in Python: `word_count` and `append_line` in the pool `python`.

    python worker.py --servers nats://127.0.0.1:4222 --data lines.sqlite
"""

import argparse
import asyncio
import logging
import os
import sqlite3

import traces
from callboard import Access, Call, Tool, Worker


async def word_count(call: Call, args: dict) -> dict:
    """Pure: it has no effects, so it may run any number of times."""
    text = args["text"]
    count = {"words": len(text.split()), "characters": len(text), "lines": len(text.splitlines())}
    message = f"共 {count['words']} 个词" if call.language == "zh" else f"{count['words']} words"
    return {"success": True, "data": count, "message": message}


class Lines:
    """Numbered lines in SQLite.

    Idempotent: the line and the idempotency key of its call are stored in one transaction, so a
    repeated call finds its line and adds none.
    """

    def __init__(self, path: str):
        self.db = sqlite3.connect(path, timeout=30)
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS lines"
            " (number INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, line TEXT NOT NULL)"
        )
        self.db.commit()

    async def append(self, call: Call, args: dict) -> dict:
        with self.db:
            self.db.execute("INSERT INTO lines (key, line) VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
                            (call.idempotency_key, args["line"]))
            found = self.db.execute("SELECT number, line FROM lines WHERE key = ?",
                                    (call.idempotency_key,))
            number, line = found.fetchone()
        return {"success": True, "data": {"number": number, "line": line}}


def chinese(description: str, **arguments: str) -> dict:
    """Texts that models of Chinese jobs read."""
    return {"zh": {"description": description, "arguments": arguments}}


def text(name: str, description: str) -> dict:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "maxLength": 100_000, "description": description}},
        "required": [name],
        "additionalProperties": False,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--servers", default=os.environ.get("CALLBOARD__NATS__URL", "nats://127.0.0.1:4222"))
    options.add_argument("--prefix", default=os.environ.get("CALLBOARD__NATS__PREFIX", "cb"))
    options.add_argument("--nkey-seed", default=os.environ.get("CALLBOARD__NATS__NKEY__FILE"),
                         help="a file with the seed of this worker's key")
    options.add_argument("--ca", default=os.environ.get("CALLBOARD__NATS__TLS__CA_FILE"),
                         help="a file with the authority that signed the servers' certificates")
    options.add_argument("--inbox-prefix", default=os.environ.get("CALLBOARD__NATS__INBOX_PREFIX", "_INBOX"),
                         help="where answers come: the inbox of this worker's user")
    options.add_argument("--data", default="lines.sqlite", help="where append_line keeps its lines")
    options.add_argument("--name", help="who announces the tools; a new name for each start when absent")
    options = options.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    lines = Lines(options.data)
    tools = [
        Tool("word_count", "Counts the words, characters and lines of a text.",
             text("text", "The text."), "pure", word_count, timeout_ms=10_000,
             translations=chinese("统计一段文本的词数、字符数和行数。", text="要统计的文本。")),
        Tool("append_line", "Adds a line to a numbered list and gives its number.",
             text("line", "The line."), "idempotent", lines.append, timeout_ms=30_000, concurrency=1,
             translations=chinese("在编号列表中添加一行，返回其编号。", line="要添加的一行。")),
    ]
    access = Access(options.nkey_seed, options.ca, options.inbox_prefix)
    traces.start()
    try:
        asyncio.run(Worker("python", tools, servers=options.servers, prefix=options.prefix,
                           name=options.name, access=access).run())
    finally:
        traces.stop()


if __name__ == "__main__":
    main()
