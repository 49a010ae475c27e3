"""The submitter: sends canvases and polls all pending results with one MGET, which is cheaper than
`get()` for each.
"""

import asyncio
import json

import redis
import tasks

from harness import work
from harness.driver import drive


class Submitter:
    def __init__(self):
        self.redis = redis.Redis.from_url(tasks.URL)
        self.waiting = {}
        self.looking = None

    async def run(self, job, sleep_ms):
        sent = tasks.canvas(work.GOAL, sleep_ms).apply_async()
        key = tasks.app.backend.get_key_for_task(sent.id)
        done = self.waiting[key] = asyncio.get_running_loop().create_future()
        if self.looking is None or self.looking.done():
            self.looking = asyncio.create_task(self.look())
        return await done

    async def look(self):
        while self.waiting:
            # Poll often for one job, whose latency is measured, and rarely for many, to save
            # processor time.
            await asyncio.sleep(0.001 if len(self.waiting) == 1 else 0.01)
            keys = list(self.waiting)
            for key, value in zip(keys, self.redis.mget(keys)):
                if value is not None:
                    answer = json.loads(value)
                    if answer["status"] == "SUCCESS":
                        self.waiting.pop(key).set_result(answer["result"])
                    else:
                        failure = RuntimeError(f"{answer['status']}: {answer['result']}")
                        self.waiting.pop(key).set_exception(failure)


async def main():
    await drive(Submitter())


if __name__ == "__main__":
    asyncio.run(main())
