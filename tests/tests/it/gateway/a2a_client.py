"""The official client of A2A for Python follows a task while the gateway is killed.

Prints one line when it follows the task, and then what it saw as one JSON object.
"""

import asyncio
import json
import sys

import httpx
from a2a.client import ClientConfig, create_client
from a2a.client.errors import A2AClientError
from a2a.types.a2a_pb2 import (
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

URL, ANN, BOB = sys.argv[1:]


async def client(token):
    headers = {"authorization": f"Bearer {token}"}
    http = httpx.AsyncClient(headers=headers, timeout=60, trust_env=False)
    return await create_client(URL, ClientConfig(httpx_client=http))


def request(message_id, parts, task_id=""):
    message = Message(message_id=message_id, role=Role.ROLE_USER, parts=parts, task_id=task_id)
    return SendMessageRequest(message=message)


def shown(event):
    return MessageToDict(event)


def state(event):
    kind = event.WhichOneof("payload")
    status = getattr(event, kind).status if kind in ("task", "status_update") else None
    return status and TaskState.Name(status.state)


async def main():
    ann, bob = await client(ANN), await client(BOB)
    seen = {"card": MessageToDict(await ann.get_extended_agent_card(GetExtendedAgentCardRequest()))}
    goal = request("p1", [Part(text="two echoes")])
    first = [event async for event in ann.send_message(goal)]
    seen["first"] = [state(event) for event in first]
    task = first[0].task.id
    seen["task"] = task
    breaks, following, states = 0, asyncio.Event(), []

    async def follow():
        nonlocal breaks
        while True:
            try:
                async for event in ann.subscribe(SubscribeToTaskRequest(id=task)):
                    states.append(state(event))
                    if not breaks:
                        print("following", flush=True)
                    else:
                        following.set()
                if breaks:
                    return
                # The connection was closed in order.
                breaks += 1
            except A2AClientError:
                breaks += 1
                # A gateway that is not back yet refuses the connection at once.
                await asyncio.sleep(0.02)

    follower = asyncio.create_task(follow())
    await following.wait()
    approval = Part(data=ParseDict({"approved": True}, Value()))
    async for event in bob.send_message(request("p2", [approval], task)):
        seen["bob"] = state(event)
    await follower
    seen["breaks"], seen["followed"] = breaks, states
    answer = [event async for event in ann.send_message(request("p3", [Part(text="Ann")], task))]
    seen["ended"] = [state(event) for event in answer]
    seen["kinds"] = [event.WhichOneof("payload") for event in answer]
    whole = await ann.get_task(GetTaskRequest(id=task))
    seen["whole"] = MessageToDict(whole)
    print(json.dumps(seen))


asyncio.run(main())
