"""The workload on LangGraph: the graph, and the submitter in the same process.

Every node is an activity; a checkpoint is written before the next one starts (durability "sync").
The graph has the shape of the diamond, which is cheaper than building it from the plan. The
workflow is a graph of its own, with a loop, a branch and two paths at the same time.
"""

import asyncio
import itertools
import sys
from contextlib import AsyncExitStack
from typing import TypedDict

import uvloop
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from harness import work
from harness.driver import drive


class State(TypedDict, total=False):
    goal: str
    sleep_ms: int
    approve: bool
    plan: list
    s1: str
    s2: str
    s3: str
    s4: str


async def rest(state):
    if state["sleep_ms"]:
        await asyncio.sleep(state["sleep_ms"] / 1000)


async def plan(state: State):
    await rest(state)
    return {"plan": work.plan(state["goal"])}


async def approval(state: State):
    interrupt("approve the plan")
    return {}


def next_of(state: State):
    return "approval" if state["approve"] else "s1"


def activity(planned):
    name, needs = planned["id"], planned["needs"]

    async def step(state: State):
        await rest(state)
        return {name: work.step(name, state["goal"], [state[need] for need in needs])}

    return step


def graph():
    built = StateGraph(State)
    built.add_node("plan", plan)
    built.add_node("approval", approval)
    for planned in work.DIAMOND:
        built.add_node("do_" + planned["id"], activity(planned))
    built.add_edge(START, "plan")
    built.add_conditional_edges("plan", next_of, {"approval": "approval", "s1": "do_s1"})
    built.add_edge("approval", "do_s1")
    built.add_edge("do_s1", "do_s2")
    built.add_edge("do_s1", "do_s3")
    built.add_edge(["do_s2", "do_s3"], "do_s4")
    built.add_edge("do_s4", END)
    return built


class Workflow(TypedDict, total=False):
    goal: str
    rounds: int
    draft: str
    left: str
    right: str
    merge: str


async def draft(state: Workflow):
    result = work.step("draft", state["goal"], [state["draft"]])
    return {"draft": result, "rounds": state["rounds"] + 1}


def next_of_draft(state: Workflow):
    return "draft" if state["rounds"] < work.ROUNDS else "choose"


def paths_of(state: Workflow):
    """The branch, whose true side has two paths at the same time."""
    return ["left", "right"] if state["rounds"] == work.ROUNDS else ["wrong"]


def node(name, needs):
    async def run(state: Workflow):
        return {name: work.step(name, state["goal"], [state[need] for need in needs])}

    return run


async def choose(state: Workflow):
    return {}


async def wrong(state: Workflow):
    raise ValueError("the loop has not ended")


def workflow():
    built = StateGraph(Workflow)
    built.add_node("do_draft", draft)
    built.add_node("choose", choose)
    built.add_node("wrong", wrong)
    for name, needs in (("left", ["draft"]), ("right", ["draft"]), ("merge", ["left", "right"])):
        built.add_node("do_" + name, node(name, needs))
    built.add_edge(START, "do_draft")
    after_draft = {"draft": "do_draft", "choose": "choose"}
    built.add_conditional_edges("do_draft", next_of_draft, after_draft)
    paths = {"left": "do_left", "right": "do_right", "wrong": "wrong"}
    built.add_conditional_edges("choose", paths_of, paths)
    built.add_edge(["do_left", "do_right"], "do_merge")
    built.add_edge("do_merge", END)
    return built


class Application:
    """Spreads jobs over several checkpointers, since each locks its connection."""

    def __init__(self, graphs, workflows):
        self.graphs = itertools.cycle(graphs)
        self.workflows = itertools.cycle(workflows)
        self.interrupted, self.count = {}, 0

    async def invoke(self, graph, job, given):
        config = {"configurable": {"thread_id": job}}
        return await graph.ainvoke(given, config, durability="sync")

    async def run(self, job, sleep_ms):
        given = {"goal": work.GOAL, "sleep_ms": sleep_ms, "approve": False}
        return (await self.invoke(next(self.graphs), job, given))["s4"]

    async def run_graph(self, job):
        given = {"goal": work.GOAL, "rounds": 0, "draft": ""}
        return (await self.invoke(next(self.workflows), job, given))["merge"]

    async def park(self, job):
        given = {"goal": work.GOAL, "sleep_ms": 0, "approve": True}
        stopped = await self.invoke(next(self.graphs), job, given)
        self.count += "__interrupt__" in stopped

    async def parked(self):
        return self.count

    async def resume(self, job):
        return (await self.invoke(next(self.graphs), job, Command(resume="yes")))["s4"]


async def main(url, savers, pipeline):
    async with AsyncExitStack() as stack:
        graphs, workflows = [], []
        for _ in range(savers):
            opened = AsyncPostgresSaver.from_conn_string(url, pipeline=pipeline)
            saver = await stack.enter_async_context(opened)
            graphs.append(graph().compile(checkpointer=saver))
            workflows.append(workflow().compile(checkpointer=saver))
        await drive(Application(graphs, workflows))


async def setup(url):
    async with AsyncPostgresSaver.from_conn_string(url) as saver:
        await saver.setup()


if __name__ == "__main__":
    if sys.argv[1] == "setup":
        uvloop.run(setup(sys.argv[2]))
    else:
        uvloop.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "pipeline"))
