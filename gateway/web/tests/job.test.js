import { amount, duration, money } from '../format.js';
import { Announcer } from '../state/announce.js';
import { foldTo } from '../state/fold.js';
import { costText } from '../parts/cost.js';
import { meter, samples, spentOf } from '../state/meter.js';
import { JobStream } from '../state/stream.js';
import { layout } from '../layout.js';
import { recordsOf } from '../pages/job/log.js';
import { withoutDone } from '../pages/job/plan.js';
import { tickLabel } from '../pages/job/time.js';
import { actionsOf } from '../parts/actions.js';
import { nextNode } from '../parts/graph.js';
import { whySentence } from '../parts/why.js';
import { equal, ok, test } from './assert.js';

const MINUTE = 60_000;
const at = (/** @type {number} */ ms) => new Date(ms).toISOString();
const usage = (/** @type {number} */ n, /** @type {number} */ ms, /** @type {number} */ input, /** @type {number} */ output) => ({ id: `${n}.1`, time: at(ms), type: 'usage', work: `g0.r0.a.n1.t${n}`, step: 'a', spent: { input_tokens: input, output_tokens: output }, total: {} });

test('amounts of a budget have their unit', () => {
  equal([amount('time', 90 * MINUTE), amount('money', 0.5), amount('tokens_in', 20_000), amount('steps', 12)], [duration(5_400_000), money(0.5), '20 k', '12']);
  const used = whySentence({ code: 'budget_used', axis: 'time', used: 120_000, limit: 120_000 });
  ok(used.includes(duration(120_000)) && !used.includes('120000'), used);
  ok(whySentence({ code: 'budget_used', axis: 'money', used: 2, limit: 2 }).includes('$2.00'));
});

test('the limit that is reached first at the present rate is told with the time that is left', () => {
  const events = [usage(1, MINUTE, 500, 500), usage(2, 2 * MINUTE, 1500, 500)];
  const all = samples(foldTo(events, 2));
  equal(all.map(({ input, output }) => [input, output]), [[500, 500], [2000, 1000]]);
  const budget = [{ axis: 'tokens', used: 3000, limit: 9000 }, { axis: 'money', used: 0.3, limit: 0.4 }, { axis: 'time', used: 1, limit: 2 }];
  const of = meter({ budget, state: 'working', spent: { money: 0.3 } }, all, 0, 3 * MINUTE, true);
  // 3,000 tokens in three minutes, each 0.0001 dollars.
  ok(of.unit === 'money' && Math.abs((of.rate ?? 0) - 0.1) < 1e-9 && Math.abs((of.left ?? 0) - MINUTE) < 1, JSON.stringify(of));
  const tokens = meter({ budget: budget.slice(0, 1), state: 'working' }, all, 0, 3 * MINUTE, true);
  equal([tokens.unit, tokens.rate, tokens.left, tokens.limit], ['tokens', 1000, 6 * MINUTE, 9000]);
  equal(meter({ budget: [{ axis: 'money', used: 0.4, limit: 0.4 }], state: 'working' }, all, 0, 3 * MINUTE, true).left, 0);
  // Work that waits, has ended, or is as short as a guess has no rate.
  equal(meter({ budget, state: 'completed' }, all, 0, 3 * MINUTE, false).rate, undefined);
  equal(meter({ budget, state: 'working' }, all, 0, 60 * MINUTE, true).rate, undefined);
  equal(meter({ budget, state: 'working' }, all, 2 * MINUTE, 2 * MINUTE + 500, true).rate, undefined);
  // Without a limit and without a price there is no money.
  const free = meter({ state: 'working' }, all, 0, 3 * MINUTE, true);
  equal([free.unit, free.used, free.limit, free.rate], ['tokens', 3000, undefined, 1000]);
  equal([{ usage: { input_tokens: 7, output_tokens: 1 } }, { usage: {} }].map((view) => costText(spentOf(view))), ['?', '$0']);
});

test('work that a rollback took out was paid, and counts in no rate', () => {
  const events = [usage(1, MINUTE, 10, 0), usage(2, MINUTE, 20, 0), { id: '3.1', time: at(MINUTE), type: 'interaction', phase: 'signaled', signal: 'roll_back', to: 1 }];
  equal(samples(foldTo(events, 3)).map((one) => one.input), [10]);
});

test('new text is announced in whole words, at most once a second', () => {
  const announcer = new Announcer();
  const live = (/** @type {string} */ text) => [{ work: 'w', attempt: 1, index: 1, text, thought: '', tool: '', at: 0 }];
  equal(announcer.say(live('Hello wor'), 0), 'Hello');
  equal(announcer.say(live('Hello world. And'), 500), 'Hello');
  equal(announcer.say(live('Hello world. And'), 1000), 'world.');
  equal(announcer.say(live('Hello world. And'), 5000), 'world.');
  equal(announcer.say([{ ...live('Anew, ')[0], attempt: 2 }], 6000), 'Anew,');
});

/** A page whose clock, visibility and connections a test moves. */
function stage() {
  const told = { now: 0, hidden: false, timers: /** @type {(() => void)[]} */ ([]), watches: /** @type {{on: any, after: string | undefined, stopped: boolean}[]} */ ([]), listeners: /** @type {Set<() => void>} */ (new Set()), view: /** @type {any} */ ({ seq: 1 }) };
  const page = {
    watch: (/** @type {string} */ _job, /** @type {any} */ on, /** @type {string | undefined} */ after) => {
      const watch = { on, after, stopped: false };
      told.watches.push(watch);
      return () => { watch.stopped = true; };
    },
    job: () => Promise.resolve(told.view),
    now: () => told.now,
    hidden: () => told.hidden,
    later: (/** @type {() => void} */ run) => told.timers.push(run),
    forget: (/** @type {number} */ timer) => { if (timer) told.timers[timer - 1] = () => {}; },
    onVisibility: (/** @type {() => void} */ run) => { told.listeners.add(run); return () => told.listeners.delete(run); },
  };
  const show = (/** @type {boolean} */ shown) => { told.hidden = !shown; told.listeners.forEach((run) => run()); };
  const elapse = () => told.timers.splice(0).forEach((run) => run());
  return { told, page, show, elapse };
}
const event = (/** @type {string} */ id) => ({ id, time: at(0), type: 'notice', message: id });

test('a hidden tab gives its stream back, and goes on after the last event', () => {
  const { told, page, show, elapse } = stage();
  const stream = new JobStream('j1', /** @type {any} */ (page));
  told.watches[0].on.event(event('1.1'));
  show(false);
  show(true);
  elapse();
  ok(!told.watches[0].stopped && told.watches.length === 1, 'a short look away costs nothing');
  told.watches[0].on.live({ work: 'w', attempt: 1, index: 1, what: 'text', text: 'Half a' });
  show(false);
  elapse();
  ok(told.watches[0].stopped);
  equal(stream.live.texts.size, 0);
  show(true);
  equal([told.watches.length, told.watches[1].after], [2, '1.1']);
  told.watches[1].on.event(event('2.1'));
  equal(stream.fold.events.map((e) => e.id), ['1.1', '2.1']);
  stream.close();
  ok(told.watches[1].stopped && told.listeners.size === 0);
});

const reopened = stage();
const ended = new JobStream('j1', /** @type {any} */ (reopened.page));
reopened.told.watches[0].on.event(event('1.1'));
reopened.told.watches[0].on.view({ seq: 1 });
reopened.told.watches[0].on.end();
reopened.told.now = 16_000;
ended.tick();
await Promise.resolve();
const untouched = reopened.told.watches.length;
reopened.told.view = { seq: 2 };
reopened.told.now = 17_000;
ended.tick();
await Promise.resolve();
const early = reopened.told.watches.length;
reopened.told.now = 40_000;
ended.tick();
await Promise.resolve();
await Promise.resolve();
test('a job that somebody else reopened is followed again, after its last event', () => {
  equal([untouched, early, reopened.told.watches.length], [1, 1, 2]);
  equal([reopened.told.watches[1].after, ended.ended, ended.fold.events.length], ['1.1', false, 1]);
});

test('records keep the text that is stored', () => {
  const { records, more } = recordsOf('{"records":[{"seq":7,"record":{"kind":"called","body":{"n":12345678901234567890}}}],"more":true}');
  equal([records[0].seq, more, records[0].raw.includes('12345678901234567890')], [7, true, true]);
});

test('finished steps hide, and the chosen one stays', () => {
  const steps = [{ id: 'a', state: 'completed', depends_on: [] }, { id: 'b', state: 'skipped', depends_on: ['a'] }, { id: 'c', state: 'running', depends_on: ['a', 'b'] }];
  equal(withoutDone(steps, null).map((step) => [step.id, step.depends_on.join()]), [['c', '']]);
  equal(withoutDone(steps, 'a').map((step) => [step.id, step.depends_on.join()]), [['a', ''], ['c', 'a']]);
});

test('an arrow key goes to the nearest node in its direction', () => {
  const { places } = layout([{ id: 'r', depends_on: [] }, ...['x', 'y', 'z'].map((id) => ({ id, depends_on: ['r'] })), { id: 'end', depends_on: ['y'] }], { width: 100, height: 40, gapX: 20, gapY: 30 });
  const go = (/** @type {string} */ from, /** @type {[number, number]} */ way) => nextNode(places, from, way);
  const row = ['x', 'y', 'z'].sort((a, b) => (places.get(a)?.x ?? 0) - (places.get(b)?.x ?? 0));
  equal([go(row[0], [1, 0]), go(row[2], [-1, 0]), go(row[0], [-1, 0])], [row[1], row[1], undefined]);
  equal([go('end', [0, -1]), go('y', [0, -1]), go('r', [0, -1])], ['y', 'r', undefined]);
});

test('two ticks of the axis never have one label', () => {
  equal([26_500, 27_000, 27_500, 200].map((ms) => tickLabel(ms, 500)), ['26.5 s', '27.0 s', '27.5 s', '200 ms']);
});

test('a position of an ended job gets no name', () => {
  ok(actionsOf({ state: 'working' }).includes('snapshot') && !actionsOf({ state: 'completed' }).includes('snapshot'));
});
