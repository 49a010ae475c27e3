"""The job for peers in Python: a plan of four steps in a diamond, each of which immediately returns
200 bytes derived from its dependencies. Byte for byte the same as load/src/work.rs.

The workflow, in place of a plan, is a draft in three rounds of a loop, a branch on the number of
rounds, two paths at the same time, and a merge after both.
"""

import zlib

GOAL = "Compare the three offers and write a summary of one page"

DIAMOND = [
    {"id": "s1", "needs": []},
    {"id": "s2", "needs": ["s1"]},
    {"id": "s3", "needs": ["s1"]},
    {"id": "s4", "needs": ["s2", "s3"]},
]

RESULT_BYTES = 200
ROUNDS = 3


def plan(goal):
    """The plan activity."""
    return DIAMOND


def step(name, goal, results):
    """The activity of a step; `results` of its dependencies are in the order of their names."""
    crc = zlib.crc32(goal.encode())
    for result in results:
        crc = zlib.crc32(result.encode(), crc)
    return f"{name}:{crc:08x}".ljust(RESULT_BYTES, ".")


def expected(goal=GOAL):
    """The correct result of a job, which the submitter compares with."""
    done = {}
    for planned in DIAMOND:
        done[planned["id"]] = step(planned["id"], goal, [done[n] for n in planned["needs"]])
    return done["s4"]


def expected_of_graph(goal=GOAL):
    """The correct result of the workflow."""
    draft = ""
    for _ in range(ROUNDS):
        draft = step("draft", goal, [draft])
    return step("merge", goal, [step("left", goal, [draft]), step("right", goal, [draft])])
