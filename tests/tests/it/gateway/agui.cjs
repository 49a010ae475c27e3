// The official client of AG-UI runs an agent to its end, answers what it is asked, and repeats its
// first run. Prints what it saw as one JSON object.
'use strict';

const { HttpAgent, EventType } = require('@ag-ui/client');

const [url, threadId] = process.argv.slice(2);

const agent = () => new HttpAgent({ url, threadId });

// Runs an agent once; the client parses every event and verifies their order.
async function run(agent, parameters) {
  const events = [];
  const taken = { event: null };
  const subscriber = {
    onEvent: ({ event }) => void events.push(event),
    onRunFinishedEvent: ({ event }) => void (taken.event = event),
  };
  const failed = await agent.runAgent(parameters, subscriber).then(() => null, (error) => String(error));
  return { events, failed, outcome: taken.event && taken.event.outcome };
}

const question = { id: 'm1', role: 'user', content: 'two echoes' };

function payload({ reason }) {
  return reason === 'confirmation' ? { approved: true } : { answer: 'Ann' };
}

async function main() {
  const seen = { runs: [] };
  const first = agent();
  first.addMessage(question);
  let last = await run(first, { runId: 'r1' });
  seen.runs.push(last);
  const interrupts = last.outcome.interrupts;
  const wrong = await run(agent(), {
    runId: 'wrong',
    resume: [{ interruptId: interrupts[0].id, status: 'resolved', payload: 'yes' }],
  });
  seen.wrong = wrong.events.find((event) => event.type === EventType.RUN_ERROR);
  const silent = agent();
  silent.addMessage({ id: 'm2', role: 'user', content: 'something else' });
  const unresolved = await run(silent, { runId: 'silent' });
  seen.unresolved = unresolved.events.find((event) => event.type === EventType.RUN_ERROR);
  for (let n = 2; last.outcome && last.outcome.type === 'interrupt'; n += 1) {
    const resume = last.outcome.interrupts.map((interrupt) => ({
      interruptId: interrupt.id,
      status: 'resolved',
      payload: payload(interrupt),
    }));
    last = await run(first, { runId: `r${n}`, resume });
    seen.runs.push(last);
    if (n === 2) {
      // The answer got lost, and the client repeats its request.
      seen.again = await run(agent(), { runId: `r${n}`, resume });
    }
  }
  const repeated = agent();
  repeated.addMessage(question);
  seen.repeated = await run(repeated, { runId: 'r1' });
  seen.messages = first.messages;
  seen.state = first.state;
  process.stdout.write(JSON.stringify(seen));
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
