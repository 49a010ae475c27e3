import { differences, Fold, foldTo, stateOf, stepOf, times } from '../state/fold.js';
import { Live } from '../state/live.js';
import { axis, rows } from '../state/spans.js';
import { equal, ok, test } from './assert.js';

const at = (/** @type {number} */ s) => new Date(Date.UTC(2026, 2, 1, 9, 0, s)).toISOString();
const steps = [{ id: 'read', title: 'Read', tool: 'read_file', state: 'ready' }, { id: 'write', description: 'Write it', depends_on: ['read'], state: 'pending' }];
const log = [
  { id: '1.1', time: at(0), type: 'job', state: 'submitted', goal: 'Summarise' },
  { id: '2.1', time: at(1), type: 'job', state: 'working', sub_status: 'planning' },
  { id: '3.1', time: at(3), type: 'usage', work: 'g0.p1', spent: { input_tokens: 8 }, total: { input_tokens: 8 } },
  { id: '3.2', time: at(3), type: 'plan', phase: 'created', title: 'Summary', revision: 0, confirmed: false, steps },
  { id: '4.1', time: at(3), type: 'interaction', phase: 'asked', question: { id: 'q1', kind: 'plan_check', prompt: 'Right?' } },
  { id: '4.2', time: at(3), type: 'job', state: 'input-required', sub_status: 'parked' },
  { id: '5.1', time: at(33), type: 'interaction', phase: 'answered', ask: 'q1', decision: 'approve', by: 'ann' },
  { id: '5.2', time: at(33), type: 'plan', phase: 'updated', title: 'Summary', revision: 0, confirmed: true, steps },
  { id: '5.3', time: at(33), type: 'job', state: 'working', sub_status: 'executing' },
  { id: '6.1', time: at(34), type: 'step', phase: 'started', step: 'read', label: 'Read', attempt: 1 },
  { id: '6.2', time: at(34), type: 'tool', work: 'g0.r0.read', attempt: 1, step: 'read', tool: 'read_file', phase: 'calling', args: { path: 'notes.md' } },
  { id: '7.1', time: at(36), type: 'tool', work: 'g0.r0.read', attempt: 1, step: 'read', tool: 'read_file', phase: 'called', success: true, duration_ms: 2000 },
  { id: '7.2', time: at(36), type: 'step', phase: 'completed', step: 'read', attempt: 1, response: '12 notes' },
];

test('steps, calls, questions and waiting time', () => {
  const fold = foldTo(log, log.length);
  equal(fold.steps.get('read')?.state, 'completed');
  equal(fold.calls.get('g0.r0.read')?.args, { path: 'notes.md' });
  equal([...fold.questions.values()][0].by, 'ann');
  equal(times(fold, Date.parse(at(36))), { run: 6000, wait: 30000 });
  ok(fold.steps.get('write')?.queued === Date.parse(at(36)), 'a step whose dependencies completed is queued');
});

test('a rollback takes events out and keeps the log', () => {
  const fold = foldTo(log, log.length);
  fold.apply({ id: '8.1', time: at(100), type: 'interaction', phase: 'signaled', signal: 'roll_back', to: 5 });
  equal(fold.steps.get('read')?.state, 'ready');
  equal(fold.events.length, log.length + 1);
  equal(fold.dropped.size, 4);
  equal(times(fold, Date.parse(at(101))), { run: 4000, wait: 30000 });
});

test('a prefix of the log is the job of that time', () => {
  equal(foldTo(log, 6).state, 'input-required');
  equal(new Fold().lines.length, 0);
  equal(stepOf('g0.r0.read.n1.t2', foldTo(log, 4).steps), 'read');
});

test('a long wait is folded, and the axis keeps its order', () => {
  const fold = foldTo(log, log.length);
  const all = rows(fold, Date.parse(at(36)), (key) => key);
  const { x, gaps } = axis(all, Date.parse(at(0)), Date.parse(at(36)));
  equal(gaps.length, 1);
  ok(x(Date.parse(at(0))) === 0 && Math.abs(x(Date.parse(at(36))) - 1) < 1e-9);
  ok(x(Date.parse(at(3))) < x(Date.parse(at(33))) && x(Date.parse(at(33))) < x(Date.parse(at(35))));
});

test('live text: attempts, repetitions and ends', () => {
  const live = new Live();
  const m = (/** @type {number} */ attempt, /** @type {number} */ index, /** @type {string} */ text, what = 'text') => live.take({ work: 'w', attempt, index, what, text }, 0);
  m(1, 0, 'worker', 'taken');
  m(1, 1, 'Hello');
  m(1, 1, 'Hello');
  equal(live.texts.get('w')?.text, 'Hello');
  m(2, 1, 'Again');
  equal(live.texts.get('w')?.text, 'Again');
  ok(!m(1, 9, 'old'));
  live.event({ type: 'usage', work: 'w', attempt: 2 });
  equal(live.texts.size, 0);
  ok(!m(2, 5, 'late'), 'output of an attempt that ended is ignored');
});

const turn = (/** @type {string} */ work, /** @type {number} */ attempt, /** @type {string} */ step = 'write') => ({ type: 'turn', phase: 'asked', work, attempt, step });
test('a model call begins when it is asked for, and ends with its cost or its error', () => {
  const asked = [...log, { id: '8.1', time: at(40), ...turn('g0.r0.write.n1.t1', 1) }];
  const now = foldTo(asked, asked.length);
  equal(now.turns.at(-1)?.to, undefined);
  const all = rows(now, Date.parse(at(50)), (key) => key);
  equal(all.filter((row) => row.kind === 'turn').map((row) => [row.state, row.bars[0].from, row.bars[0].to]), [['running', Date.parse(at(40)), Date.parse(at(50))]]);
  const more = [...asked,
    { id: '9.1', time: at(60), type: 'error', scope: 'attempt', message: '503', work: 'g0.r0.write.n1.t1', attempt: 1, step: 'write' },
    { id: '9.2', time: at(60), type: 'usage', work: 'g0.r0.write.n1.t1', step: 'write', spent: { input_tokens: 5 }, total: {} },
    { id: '10.1', time: at(61), ...turn('g0.r0.write.n1.t1', 2) },
    { id: '11.1', time: at(63), type: 'usage', work: 'g0.r0.write.n1.t1', attempt: 2, step: 'write', spent: { input_tokens: 7 }, total: {} },
    { id: '12.1', time: at(64), ...turn('g0.r0.write.n1.t2', 1) }];
  const fold = foldTo(more, more.length);
  const turns = fold.steps.get('write')?.turns ?? [];
  equal(turns.map((one) => [one.attempt, stateOf(one), one.tokens?.input_tokens]), [[1, 'failed', 5], [2, 'completed', 7], [1, 'running', undefined]]);
  equal(turns.map((one) => one.from), [40, 61, 64].map((s) => Date.parse(at(s))));
  equal(rows(fold, Date.parse(at(70)), (key, args) => `${key} ${args?.n ?? ''}`).filter((row) => row.step === 'write' && row.depth).map((row) => `${row.label} ${row.state}`), ['row_turn 1 completed', 'row_try 1 failed', 'row_turn 2 running']);
  fold.apply({ id: '13.1', time: at(80), type: 'interaction', phase: 'signaled', signal: 'roll_back', to: 12 });
  equal(stateOf(/** @type {any} */ (fold.turns.at(-1))), 'canceled');
});

test('a planner that is asked has one row', () => {
  const planning = [...log.slice(0, 2), { id: '2.2', time: at(2), type: 'turn', phase: 'asked', work: 'g0.p1', attempt: 1 }];
  const now = rows(foldTo(planning, 3), Date.parse(at(9)), (key) => key);
  equal(now.map((row) => [row.kind, row.state, row.bars[0].from]), [['plan', 'running', Date.parse(at(2))]]);
});

test('every plan is a version: what was added, removed and changed in place, and by whom', () => {
  const check = (/** @type {string} */ id, /** @type {any[]} */ planned) => ({ type: 'interaction', phase: 'asked', question: { id, kind: 'plan_check', prompt: 'Right?', revision: 0, plan: { title: 'Summary', steps: planned } } });
  const edited = /** @type {any[]} */ ([{ ...steps[0], args: { path: 'other.md' } }, { id: 'mail', title: 'Mail it', depends_on: ['read'] }]);
  const events = [...log.slice(0, 4),
    { id: '4.1', time: at(3), ...check('q1', [{ ...steps[0], args: { path: 'notes.md' } }, steps[1]]) },
    { id: '5.1', time: at(9), type: 'interaction', phase: 'answered', ask: 'q1', decision: 'edit', by: 'ann' },
    { id: '5.2', time: at(9), type: 'plan', phase: 'updated', title: 'Summary', revision: 0, confirmed: false, steps: edited.map(({ args: _, ...step }) => step) },
    { id: '6.1', time: at(9), ...check('q2', edited) },
    { id: '7.1', time: at(12), type: 'interaction', phase: 'told', text: 'be brief', by: 'bob' },
    { id: '8.1', time: at(13), type: 'plan', phase: 'updated', title: 'Summary', revision: 1, confirmed: true, steps: edited.slice(1).map((step) => ({ ...step, description: 'Mail it briefly' })) },
    { id: '9.1', time: at(14), type: 'plan', phase: 'updated', title: 'Summary', revision: 1, confirmed: true, steps: edited.slice(1).map((step) => ({ ...step, description: 'Mail it briefly', state: 'completed' })) }];
  const { revisions } = foldTo(events, events.length);
  const told = revisions.map((version, n) => [version.author.how, version.author.by ?? '', ...differences(revisions[n - 1], version).map((row) => `${row.change} ${row.step.id} ${row.fields}`)]);
  equal(told, [
    ['planner', '', 'kept read ', 'kept write '],
    ['edited', 'ann', 'changed read args', 'removed write ', 'added mail '],
    ['told', 'bob', 'removed read ', 'changed mail description'],
  ]);
  // The question shows the arguments, which the event of the plan does not have.
  equal(revisions[1].steps[0].args, { path: 'other.md' });
});

test('a plan whose arguments alone were edited is another version', () => {
  const plan = (/** @type {string} */ path) => ({ type: 'interaction', phase: 'asked', question: { id: path, kind: 'plan_check', prompt: 'Right?', revision: 0, plan: { title: 'Summary', steps: [{ ...steps[0], args: { path } }, steps[1]] } } });
  const events = [...log.slice(0, 4), { id: '4.1', time: at(3), ...plan('a') }, { id: '5.1', time: at(9), type: 'interaction', phase: 'answered', ask: 'a', decision: 'edit', by: 'ann' }, { id: '6.1', time: at(9), ...plan('b') }];
  const { revisions } = foldTo(events, events.length);
  equal(revisions.map((version) => [version.author.how, version.steps[0].args]), [['planner', { path: 'a' }], ['edited', { path: 'b' }]]);
  equal(differences(revisions[0], revisions[1]).map((row) => `${row.change} ${row.fields}`), ['changed args', 'kept ']);
});
