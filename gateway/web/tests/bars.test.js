import { bars, everyDay, roundUp } from '../parts/bars.js';
import { costText, tokens } from '../parts/cost.js';
import { equal, ok, test } from './assert.js';

test('every day of the window has a place, the empty ones too', () => {
  const from = Date.UTC(2026, 1, 27, 13);
  const days = everyDay([{ day: '2026-02-28', jobs: 2, money: 0.5, usage: { input_tokens: 7, output_tokens: 1 } }], from, from + 2 * 86_400_000);
  equal(days.map((one) => one.day), ['2026-02-27', '2026-02-28', '2026-03-01']);
  equal(days[1], { day: '2026-02-28', jobs: 2, money: 0.5, input: 7, output: 1 });
  equal(days[2].jobs, 0);
  equal(everyDay([], 0, from, 7).length, 7);
});

test('the axis ends at a round number', () => {
  equal([0, 0.0003, 0.02, 0.7, 1, 3, 9, 1200].map(roundUp), [1, 0.0005, 0.02, 1, 1, 5, 10, 2000]);
});

test('bars stand on the ground, and the smallest is visible', () => {
  const box = { width: 30, height: 100, gap: 0.2 };
  const [none, small, all] = bars([0, 0.001, 10], box, 10);
  equal([none.height, none.y], [0, 100]);
  ok(small.height >= 1 && small.y + small.height === 100);
  equal([all.x, all.y, all.width, all.height], [21, 0, 8, 100]);
});

test('a cost without a known price never shows as zero', () => {
  const usage = { input_tokens: 7, output_tokens: 1 };
  equal(costText({}), '$0');
  equal(costText({ usage, money: 0.25 }), '$0.2500');
  equal(costText({ usage, unpriced: usage }), '?');
  equal(costText({ usage, money: 0, unpriced: usage }), '$0.0000 + ?');
  equal([tokens(usage), tokens(undefined)], [8, 0]);
});
