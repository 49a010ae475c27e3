// The official client of MCP, of the era of sessions, works through a job: it lists the tools, submits,
// is refused the approval of its own plan, and goes on after another person approved it. Prints what
// it saw as one JSON object.
'use strict';

const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');

const [url, submitter, approver, program, variables] = process.argv.slice(2);

async function connected(token) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

// A client of the program that a host starts.
async function started(token) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const env = { ...JSON.parse(variables), CALLBOARD_TOKEN: token };
  await client.connect(new StdioClientTransport({ command: program, args: ['mcp', 'serve'], env }));
  return client;
}

async function main() {
  const ann = await connected(submitter);
  const bob = await connected(approver);
  const seen = { server: ann.getServerVersion(), tools: (await ann.listTools()).tools };
  // The client checks every result against the schema of its tool.
  const call = async (client, name, args) => {
    const result = await client.callTool({ name, arguments: args });
    const failed = result.isError === true;
    return { failed, ...(failed ? JSON.parse(result.content[0].text) : result.structuredContent) };
  };
  const goal = { id: 'm1', goal: 'two echoes' };
  seen.submitted = await call(ann, 'submit_job', { ...goal, wait_ms: 50000 });
  seen.again = await call(ann, 'submit_job', goal);
  seen.other = await call(ann, 'submit_job', { ...goal, goal: 'another goal' });
  const open = await call(bob, 'list_questions', { job: 'm1' });
  const { job, question } = open.questions[0];
  seen.kind = question.kind;
  const approval = { job, ask: question.id, decision: 'approve', digest: question.digest };
  seen.own = await call(ann, 'answer_question', approval);
  seen.approved = await call(bob, 'answer_question', approval);
  seen.asked = await call(ann, 'get_job', { job: 'm1', wait_ms: 50000 });
  const { ask } = seen.asked.questions[0];
  seen.answered = await call(ann, 'answer_question', { job: 'm1', ask, value: 'Ann' });
  seen.ended = await call(ann, 'get_job', { job: 'm1', wait_ms: 50000 });
  seen.listed = await call(ann, 'list_jobs', { states: ['completed'] });
  seen.cancelled = await call(ann, 'cancel_job', { job: 'm1' });
  seen.missing = await call(ann, 'get_job', { job: 'nothing' });
  seen.impatient = await call(ann, 'get_job', { job: 'm1', wait_ms: 50001 });
  seen.stranger = await connected('wrong').catch((error) => error.code);
  const child = await started(submitter);
  seen.child = await call(child, 'get_job', { job: 'm1' });
  await child.close();
  await Promise.all([ann.close(), bob.close()]);
  process.stdout.write(JSON.stringify(seen));
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
