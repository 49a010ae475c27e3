// The official client of A2A for JavaScript sends a goal with a receiver of notifications, and sets,
// lists and deletes others. Prints what it saw as one JSON object.
'use strict';

const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory } = require('@a2a-js/sdk/client');
const { Role, TaskState } = require('@a2a-js/sdk');

const [url, token, receiver] = process.argv.slice(2);

const fetchImpl = (input, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${token}`);
  return fetch(input, { ...init, headers });
};

const config = (id, taskId, more = {}) => ({ tenant: '', id, taskId, url: `${receiver}/${id}`, token: '', authentication: undefined, ...more });
const refused = (promise) => promise.then((value) => ({ passed: value }), (error) => ({ name: error.name, message: String(error.message) }));

async function main() {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  const client = await new ClientFactory(options).createFromUrl(url);
  const card = await client.getAgentCard();
  const seen = { notifies: card.capabilities.pushNotifications };
  const content = { content: { $case: 'text', value: 'two echoes' }, metadata: undefined, filename: '', mediaType: '' };
  const message = { messageId: 'm1', taskId: '', contextId: '', role: Role.ROLE_USER, parts: [content], metadata: undefined, extensions: [], referenceTaskIds: [] };
  const secrets = { token: 't1', authentication: { scheme: 'Bearer', credentials: 'c1' } };
  const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: config('steady', '', secrets), returnImmediately: true };
  const task = await client.sendMessage({ tenant: '', message, configuration, metadata: undefined });
  seen.task = task.id;
  seen.state = TaskState[task.status.state];
  await client.createTaskPushNotificationConfig(config('unwanted', task.id));
  seen.shown = await client.getTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'steady' });
  const list = async () => (await client.listTaskPushNotificationConfig({ tenant: '', taskId: task.id, pageSize: 10, pageToken: '' })).configs.map(({ id }) => id);
  seen.listed = await list();
  await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'unwanted' });
  await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'unwanted' });
  seen.left = await list();
  seen.missing = await refused(client.getTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'unwanted' }));
  seen.nowhere = await refused(client.createTaskPushNotificationConfig(config('x', task.id, { url: 'nowhere' })));
  seen.taskless = await refused(client.createTaskPushNotificationConfig(config('x', 'nothing')));
  process.stdout.write(JSON.stringify(seen));
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
