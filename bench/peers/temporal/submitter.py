"""The submitter: starts workflows and waits for their results with the SDK's long poll."""

import asyncio
import sys

from temporalio.client import Client
from workflow import QUEUE, Job

from harness import work
from harness.driver import drive


class Submitter:
    def __init__(self, client):
        self.client = client

    async def run(self, job, sleep_ms):
        return await self.client.execute_workflow(
            Job.run, args=[work.GOAL, sleep_ms], id=job, task_queue=QUEUE
        )


async def main(address):
    await drive(Submitter(await Client.connect(address)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
