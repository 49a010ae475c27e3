"""The workload on Temporal: the workflow, its activities, and the worker that serves both.

Start the worker as `workflow.py ADDRESS`.
"""

import asyncio
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import PollerBehaviorAutoscaling, UnsandboxedWorkflowRunner, Worker

from harness import work

QUEUE = "peer"


@activity.defn
async def plan(goal: str, sleep_ms: int) -> list[dict]:
    await asyncio.sleep(sleep_ms / 1000)
    return work.plan(goal)


@activity.defn
async def step(name: str, goal: str, results: list[str], sleep_ms: int) -> str:
    await asyncio.sleep(sleep_ms / 1000)
    return work.step(name, goal, results)


@workflow.defn
class Job:
    @workflow.run
    async def run(self, goal: str, sleep_ms: int) -> str:
        limit = timedelta(seconds=30)
        planned = await workflow.execute_activity(
            plan, args=[goal, sleep_ms], start_to_close_timeout=limit
        )
        done: dict[str, str] = {}
        while len(done) < len(planned):
            wave = [
                one
                for one in planned
                if one["id"] not in done and all(need in done for need in one["needs"])
            ]
            results = await asyncio.gather(
                *(
                    workflow.execute_activity(
                        step,
                        args=[one["id"], goal, [done[need] for need in one["needs"]], sleep_ms],
                        start_to_close_timeout=limit,
                    )
                    for one in wave
                )
            )
            done |= {one["id"]: result for one, result in zip(wave, results)}
        return done["s4"]


async def serve(address):
    client = await Client.connect(address)
    pollers = PollerBehaviorAutoscaling(minimum=2, initial=10, maximum=40)
    worker = Worker(
        client,
        task_queue=QUEUE,
        workflows=[Job],
        activities=[plan, step],
        # The sandbox detects non-deterministic code; this workflow is known to be deterministic.
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_concurrent_workflow_tasks=400,
        max_concurrent_activities=2000,
        workflow_task_poller_behavior=pollers,
        activity_task_poller_behavior=pollers,
    )
    print("serving", flush=True)
    await worker.run()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
