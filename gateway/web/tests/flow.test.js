import { flowLayout } from '../flowlayout.js';
import { Flow } from '../state/flow.js';
import { foldTo } from '../state/fold.js';
import { equal, ok, test } from './assert.js';

const box = { width: 100, height: 40, gapX: 20, gapY: 30 };
const way = (/** @type {string} */ from, /** @type {string} */ to, kind = 'next', /** @type {string | undefined} */ when = undefined) => ({ from, to, kind, when });

test('a loop has one edge back, beside the nodes that it passes', () => {
  const ways = [way('draft', 'judge'), way('judge', 'good'), way('good', 'draft', 'next', 'x < 3'), way('good', 'end')];
  const { places, edges, width } = flowLayout('draft', ['draft', 'good', 'judge'], ways, box);
  equal(['draft', 'judge', 'good', 'end'].map((id) => places.get(id)?.rank), [0, 1, 2, 3]);
  equal(edges.filter((edge) => edge.back).map(({ from, to }) => `${from}>${to}`), ['good>draft']);
  const back = edges.find((edge) => edge.back);
  const right = Math.max(...[...places.values()].map((place) => place.x)) + box.width;
  ok((back?.points[1][0] ?? 0) > right && (back?.points[1][0] ?? 0) < width);
});

test('two loops beside the same nodes have lanes of their own', () => {
  const ways = [way('a', 'b'), way('b', 'c'), way('c', 'a'), way('c', 'b', 'next', 'x'), way('c', 'end')];
  const lanes = flowLayout('a', ['a', 'b', 'c'], ways, box).edges.filter((edge) => edge.back).map((edge) => edge.points[1][0]);
  equal(lanes.length, 2);
  ok(Math.abs(lanes[0] - lanes[1]) >= 16, String(lanes));
});

test('a way past a node is drawn although a longer one says the same', () => {
  const ways = [way('a', 'b', 'next', 'x'), way('b', 'c'), way('a', 'c')];
  equal(flowLayout('a', ['a', 'b', 'c'], ways, box).edges.length, 3);
});

test('ways between the same nodes share a line, and a node may go on to itself', () => {
  const { edges } = flowLayout('a', ['a'], [way('a', 'a', 'next', 'x'), way('a', 'end'), way('a', 'end', 'error')], box);
  equal(edges.map(({ from, to, ways, back }) => [`${from}>${to}`, ways, back]), [['a>end', [1, 2], false], ['a>a', [0], true]]);
});

test('a join lies below every path to it', () => {
  const ways = [way('fan', 'a', 'branch'), way('fan', 'b', 'branch'), way('a', 'join:fan'), way('b', 'c'), way('c', 'join:fan'), way('join:fan', 'end')];
  const { places } = flowLayout('fan', ['a', 'b', 'c', 'fan'], ways, box);
  ok((places.get('join:fan')?.rank ?? 0) > Math.max(places.get('a')?.rank ?? 9, places.get('c')?.rank ?? 9));
});

test('events of nodes give states, visits and ways', () => {
  const node = (/** @type {number} */ n, /** @type {any} */ e) => ({ id: `${n}.1`, time: new Date(n).toISOString(), type: 'node', ...e });
  const events = [
    node(1, { node: 'a', visit: 'a--1', phase: 'entered', kind: 'tool' }),
    node(2, { node: 'a', visit: 'a--1', phase: 'ended', state: 'failed', error: 'x' }),
    node(3, { node: 'a', visit: 'a--1', phase: 'routed', to: 'a', way: 'error' }),
    node(4, { node: 'a', visit: 'a--2', phase: 'entered', kind: 'tool' }),
  ];
  const then = foldTo(events, 2).flow;
  equal(then.stateOf('a', new Map(), false), 'failed');
  const { flow } = foldTo(events, 4);
  equal([flow.stateOf('a', new Map(), false), flow.nodes.get('a')?.visits, flow.nodes.get('a')?.failed], ['running', 2, 1]);
  equal(flow.stateOf('a', new Map([['a--2', { state: 'waiting' }]]), false), 'waiting');
  equal([flow.stateOf('a', new Map(), true), flow.stateOf('b', new Map(), true)], ['canceled', 'pending']);
  equal([flow.times(way('a', 'a', 'error'), 'a'), flow.times(way('a', 'a'), 'a')], [1, 0]);
});

test('the beginning of a branch counts the visits that no route made', () => {
  const flow = new Flow();
  for (const n of [1, 2, 3]) flow.take({ type: 'node', node: 'b', visit: `b--${n}`, phase: 'entered' });
  flow.take({ type: 'node', node: 'c', visit: 'c--1', phase: 'routed', to: 'b', way: 'next' });
  equal(flow.times(way('fan', 'b', 'branch'), 'fan'), 2);
});
