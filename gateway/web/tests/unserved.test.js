import { poolsMissing, rolesMissing, served, starting } from '../state/unserved.js';
import { equal, test } from './assert.js';

const crew = { workers: [{ roles: ['supervisor', 'planner'], draining: false }, { roles: ['executor', 'tools'], draining: true }] };
const held = (/** @type {string} */ kind, /** @type {string} */ pool, code = 'no_worker') => ({ why: { code, kind, pool } });

test('a role of processes that drain is missing, and before the crew is known none is', () => {
  equal(rolesMissing(crew), ['executor', 'tools']);
  equal(rolesMissing(undefined), []);
});
test('each pool without a worker is named once, with its jobs and its command', () => {
  const jobs = [held('call', 'browser'), held('call', 'browser'), held('plan', 'large'), held('call', 'other', 'queued'), {}];
  equal(poolsMissing(jobs, []), [
    { kind: 'call', pool: 'browser', jobs: 2, command: '' },
    { kind: 'plan', pool: 'large', jobs: 1, command: 'callboard serve --roles planner' },
  ]);
  equal(poolsMissing([held('call', 'builtin'), held('call', 'browser')], ['tools']).map((one) => one.pool), ['browser']);
  equal(starting('call', 'builtin'), 'callboard serve --roles tools');
});
test('a pool is served by live workers with capacity', () => {
  const worker = (/** @type {number} */ capacity, draining = false) => ({ draining, pools: [{ pool: 'call.browser', capacity }] });
  const queue = { kind: 'call', pool: 'browser' };
  equal([served([worker(4), worker(0), worker(4, true)], queue), served([worker(4)], { ...queue, kind: 'turn' })], [1, 0]);
});
