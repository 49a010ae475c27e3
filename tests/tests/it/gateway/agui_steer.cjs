// The official client of AG-UI sends a message to a job that works, three times, and then one to a
// job that has ended. A pause keeps the job at work meanwhile. Prints what it saw as one JSON object.
'use strict';

const { HttpAgent, EventType } = require('@ag-ui/client');

const [gateway, threadId] = process.argv.slice(2);

// Begins a run. `begun` is done once the job has what the run brings.
function run(runId, message, resume) {
  const agent = new HttpAgent({ url: `${gateway}/agui/direct`, threadId });
  if (message) agent.addMessage({ role: 'user', ...message });
  const events = [];
  const taken = {};
  const begun = new Promise((done) => {
    taken.begun = done;
  });
  const subscriber = {
    onEvent: ({ event }) => {
      events.push(event);
      taken.begun();
    },
    onRunFinishedEvent: ({ event }) => void (taken.outcome = event.outcome),
  };
  const ended = agent.runAgent({ runId, resume }, subscriber).then(
    () => null,
    (error) => String(error),
  ).then((failed) => {
    taken.begun();
    const failure = events.find((event) => event.type === EventType.RUN_ERROR);
    const messages = agent.messages.filter((message) => message.role === 'assistant');
    return { events, failed, failure, outcome: taken.outcome, messages, state: agent.state };
  });
  return { begun, ended };
}

async function signal(job, body) {
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'POST', headers, body: JSON.stringify(body) };
  const reply = await fetch(`${gateway}/v1/jobs/${job}/signals`, request);
  if (!reply.ok) throw new Error(await reply.text());
}

async function main() {
  const goal = { id: 'm1', content: 'how high is it' };
  const metres = { id: 'm2', content: 'say it in metres' };
  const asked = await run('r1', goal).ended;
  const job = asked.state.callboard.job;
  await signal(job, { signal: 'pause' });
  const interruptId = asked.outcome.interrupts[0].id;
  const resume = [{ interruptId, status: 'resolved', payload: { answer: 'this one' } }];
  const answered = run('r2', null, resume);
  await answered.begun;
  // The job works, but is paused. One message arrives twice at once, and once more.
  const twice = [run('r3', metres), run('r4', metres)];
  await Promise.all(twice.map(({ begun }) => begun));
  const repeated = run('r3', metres);
  const joined = run('r5', goal);
  await Promise.all([repeated.begun, joined.begun]);
  await signal(job, { signal: 'resume' });
  const seen = { job, answered: await answered.ended };
  seen.steered = await Promise.all([...twice, repeated].map(({ ended }) => ended));
  seen.joined = await joined.ended;
  seen.late = await run('r6', metres).ended;
  seen.next = await run('r7', { id: 'm3', content: 'how wide is it' }).ended;
  process.stdout.write(JSON.stringify(seen));
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
