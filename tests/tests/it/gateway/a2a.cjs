// The official client of A2A for JavaScript sends a goal, answers what it is asked, and lets another
// person approve. Prints what it saw as one JSON object.
'use strict';

const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory } = require('@a2a-js/sdk/client');
const { Role, TaskState } = require('@a2a-js/sdk');

const [url, annsToken, bobsToken] = process.argv.slice(2);

function client(token) {
  const fetchImpl = (input, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  return new ClientFactory(options).createFromUrl(url);
}

const part = ($case, value) => ({ content: { $case, value }, metadata: undefined, filename: '', mediaType: '' });

function message(messageId, parts, ids = {}) {
  const { taskId = '', contextId = '', metadata } = ids;
  const sent = { messageId, taskId, contextId, role: Role.ROLE_USER, parts, metadata, extensions: [], referenceTaskIds: [] };
  return { tenant: '', message: sent, configuration: undefined, metadata: undefined };
}

// The client unwraps the task of a reply.
function shown(task) {
  const { message, state } = task.status;
  const texts = (parts) => parts.map((part) => part.content).filter(({ $case }) => $case === 'text').map(({ value }) => value);
  const data = message && message.parts.map((part) => part.content).find(({ $case }) => $case === 'data');
  return {
    id: task.id,
    contextId: task.contextId,
    state: TaskState[state],
    texts: message ? texts(message.parts) : [],
    question: data ? data.value : null,
    artifacts: task.artifacts.map(({ name, parts }) => ({ name, texts: texts(parts) })),
    history: task.history.length,
  };
}

const refused = (promise) => promise.then((value) => ({ passed: value }), (error) => ({ name: error.name, code: error.code, message: String(error.message) }));

async function streamed(stream) {
  const kinds = [];
  let last = null;
  for await (const { payload } of stream) {
    kinds.push(payload.$case);
    last = payload.value.status ? TaskState[payload.value.status.state] : last;
  }
  return { kinds, last };
}

async function main() {
  const [ann, bob] = await Promise.all([client(annsToken), client(bobsToken)]);
  const seen = { card: await ann.getAgentCard() };
  const goal = message('m1', [part('text', 'two echoes')], { contextId: 'talk', metadata: { agent: 'default' } });
  seen.asked = shown(await ann.sendMessage(goal));
  const taskId = seen.asked.id;
  seen.again = shown(await ann.sendMessage(goal));
  const other = message('m1', [part('text', 'another goal')], { contextId: 'talk' });
  seen.other = await refused(ann.sendMessage(other));
  const approve = message('m2', [part('data', { approved: true })], { taskId });
  seen.own = await refused(ann.sendMessage(approve));
  seen.approved = await streamed(bob.sendMessageStream(approve));
  seen.waiting = shown(await ann.getTask({ tenant: '', id: taskId, historyLength: 1 }));
  seen.misfit = await refused(ann.sendMessage(message('m3', [part('data', { name: 'Ann' })], { taskId })));
  seen.elsewhere = await refused(ann.sendMessage(message('m3', [part('text', 'Ann')], { taskId, contextId: 'other' })));
  seen.still = shown(await ann.getTask({ tenant: '', id: taskId }));
  const ask = seen.still.question.ask;
  const answer = message('m4', [part('text', 'Ann')], { taskId, metadata: { ask } });
  seen.ended = shown(await ann.sendMessage(answer));
  seen.late = await refused(ann.sendMessage(message('m5', [part('text', 'more')], { taskId })));
  seen.cancelled = await refused(ann.cancelTask({ tenant: '', id: taskId, metadata: undefined }));
  seen.subscribed = await refused(streamed(ann.resubscribeTask({ tenant: '', id: taskId })));
  seen.missing = await refused(ann.getTask({ tenant: '', id: 'nothing' }));
  const list = { tenant: '', contextId: 'talk', status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '' };
  seen.listed = await ann.listTasks(list);
  seen.listed.tasks = seen.listed.tasks.map((task) => task.id);
  const second = shown(await ann.sendMessage(message('m6', [part('text', 'two echoes')])));
  seen.second = shown(await ann.cancelTask({ tenant: '', id: second.id, metadata: undefined }));
  process.stdout.write(JSON.stringify(seen));
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
