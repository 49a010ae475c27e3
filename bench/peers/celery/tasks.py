"""The workload on Celery: one task for every activity, combined into a canvas.

The canvas has the shape of the diamond; Celery passes each step the results of its dependencies.
"""

import os
import time

from celery import Celery, chord

from harness import work

URL = os.environ["PEER_REDIS"]

app = Celery("tasks", broker=URL, backend=URL)
app.conf.update(
    # Tasks of a worker that dies are run again.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=4,
    # Nothing consumes events or heartbeats.
    worker_send_task_events=False,
    task_send_sent_event=False,
    worker_enable_remote_control=False,
    result_expires=3600,
    task_compression=None,
    task_default_delivery_mode="persistent",
    broker_connection_retry_on_startup=True,
)


# Nothing reads the results of these two tasks: the chain passes them on.
@app.task(ignore_result=True)
def plan(goal, sleep_ms):
    time.sleep(sleep_ms / 1000)
    return [goal, work.plan(goal)]


@app.task(ignore_result=True)
def first(planned, sleep_ms):
    time.sleep(sleep_ms / 1000)
    goal, _ = planned
    return [goal, work.step("s1", goal, [])]


@app.task
def middle(given, name, sleep_ms):
    time.sleep(sleep_ms / 1000)
    goal, result = given
    return [goal, work.step(name, goal, [result])]


@app.task
def last(given, sleep_ms):
    time.sleep(sleep_ms / 1000)
    goal = given[0][0]
    return work.step("s4", goal, [result for _, result in given])


def canvas(goal, sleep_ms):
    both = [middle.s(name, sleep_ms) for name in ("s2", "s3")]
    return plan.s(goal, sleep_ms) | first.s(sleep_ms) | chord(both, last.s(sleep_ms))
