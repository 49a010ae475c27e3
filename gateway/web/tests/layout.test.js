import { layout } from '../layout.js';
import { equal, ok, test } from './assert.js';

const box = { width: 100, height: 40, gapX: 20, gapY: 30 };

test('ranks follow the longest path, and implied edges are left out', () => {
  const { places, edges, implied } = layout([{ id: 'a', depends_on: [] }, { id: 'b', depends_on: ['a'] }, { id: 'c', depends_on: ['a', 'b'] }], box);
  equal(places.get('c')?.rank, 2);
  equal(edges.length, 2);
  equal(implied, 1);
});

test('nodes of one rank do not overlap', () => {
  const nodes = [{ id: 'r', depends_on: [] }, ...[1, 2, 3, 4].map((n) => ({ id: `n${n}`, depends_on: ['r'] }))];
  const xs = [1, 2, 3, 4].map((n) => layout(nodes, box).places.get(`n${n}`)?.x ?? 0).sort((a, b) => a - b);
  for (let i = 1; i < xs.length; i++) ok(xs[i] - xs[i - 1] >= box.width);
});

test('a circle ends', () => {
  equal(layout([{ id: 'a', depends_on: ['b'] }, { id: 'b', depends_on: ['a'] }], box).places.size, 2);
});

test('500 steps have places of their own', () => {
  const nodes = Array.from({ length: 500 }, (_, i) => ({ id: `s${i}`, depends_on: [...new Set([1, 7, 13].map((d) => i - d).filter((d) => d >= 0 && i % 5))].map((d) => `s${d}`) }));
  const { places } = layout(nodes, box);
  equal(places.size, 500);
  equal(new Set([...places.values()].map((place) => `${place.x},${place.y}`)).size, 500);
});
