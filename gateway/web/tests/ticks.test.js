import { PLACES, ticksOf } from '../pages/job/ticks.js';
import { equal, ok, test } from './assert.js';

/** @param {string[]} types */
const events = (types) => types.map((type, n) => ({ id: `${n + 1}.0`, type }));

test('each of a few events has a tick of its tone', () => {
  const ticks = ticksOf(events(['job', 'step', 'tool', 'step']), new Set(['2.0']));
  equal(ticks, [
    { tone: 'gone', d: 'M500 2V14' },
    { tone: 'idle', d: 'M750 6V14' },
    { tone: 'work', d: 'M1000 2V14' },
    { tone: 'done', d: 'M250 6V14' },
  ]);
});

test('ten thousand events have at most one tick a place, and an error among them is seen', () => {
  const types = Array(10_000).fill('interaction');
  types[4_321] = 'error';
  const ticks = ticksOf(events(types), new Set());
  equal(ticks.map(({ tone }) => tone), ['wait', 'fail']);
  equal(ticks[1].d, 'M432 2V14');
  ok(ticks[0].d.split('M').length <= PLACES + 1);
});

test('a job without events has no ticks', () => {
  equal(ticksOf([], new Set()), []);
});
