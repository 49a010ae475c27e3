import { Fold, foldTo, stepOf, times } from '../state/fold.js';
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
