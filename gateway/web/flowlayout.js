// Places of a workflow's graph: layers for the way forwards, and edges back to earlier nodes in lanes beside them. Pure.

import { layout } from './layout.js';

/**
 * @typedef {{from: string, to: string, kind: string, when?: string, name?: string, after_ms?: number}} Way
 * @typedef {{from: string, to: string, ways: number[], points: [number, number][], back: boolean, label: [number, number]}} Edge one line for all ways between two places
 * @typedef {{places: Map<string, import('./layout.js').Place>, edges: Edge[], width: number, height: number}} Placed
 */

/** Distance of two lanes, in pixels. */
const LANE = 16;
/** Characters of a label. */
export const LABEL = 30;
/** Width of a character of a label, in pixels. */
const LETTER = 6.5;

/**
 * @param {string} start first node
 * @param {string[]} ids nodes
 * @param {Way[]} ways
 * @param {{width: number, height: number, gapX: number, gapY: number}} box
 * @returns {Placed}
 */
export function flowLayout(start, ids, ways, box) {
  const all = [...new Set([start, ...ids, ...ways.flatMap((way) => [way.from, way.to])])];
  /** Ways between two places share a line. @type {Map<string, {from: string, to: string, ways: number[]}>} */
  const lines = new Map();
  ways.forEach((way, n) => {
    const key = `${way.from}>${way.to}`;
    const line = lines.get(key) ?? { from: way.from, to: way.to, ways: [] };
    line.ways.push(n);
    lines.set(key, line);
  });
  // The paths of a parallel or map node lie between it and its join, also where none of them leads there.
  const between = all.filter((id) => id.startsWith('join:')).map((join) => ({ from: join.slice(5), to: join }));
  const next = Map.groupBy([...lines.values(), ...between], (line) => line.from);
  const back = backwards(start, all, (id) => (next.get(id) ?? []).map((line) => line.to));
  /** @type {Map<string, string[]>} */
  const needs = new Map(all.map((id) => [id, []]));
  for (const line of [...lines.values(), ...between]) if (!back.has(`${line.from}>${line.to}`)) needs.get(line.to)?.push(line.from);
  const placed = layout(inOrder(start, all, next).map((id) => ({ id, depends_on: needs.get(id) ?? [] })), { ...box, whole: true });
  const { places } = placed;
  const middle = (/** @type {string} */ id) => (places.get(id)?.x ?? 0) + box.width / 2;
  /** @type {Edge[]} */
  const edges = [];
  for (const edge of placed.edges) {
    const line = lines.get(`${edge.from}>${edge.to}`);
    if (line) edges.push({ ...line, points: edge.points, back: false, label: halfway(edge.points) });
  }
  // Short ways back are inside of long ones.
  const turns = [...lines.values()].filter((line) => back.has(`${line.from}>${line.to}`)).map((line) => {
    const [from, to] = [/** @type {import('./layout.js').Place} */ (places.get(line.from)), /** @type {import('./layout.js').Place} */ (places.get(line.to))];
    return { line, from, to, top: Math.min(from.rank, to.rank), bottom: Math.max(from.rank, to.rank) };
  }).sort((a, b) => a.bottom - a.top - (b.bottom - b.top));
  /** @type {{x: number, top: number, bottom: number}[]} */
  const lanes = [];
  let width = placed.width;
  for (const { line, from, to, top, bottom } of turns) {
    const beside = [...places.values()].filter((place) => place.rank >= top && place.rank <= bottom);
    let x = Math.max(...beside.map((place) => place.x)) + box.width + LANE;
    while (lanes.some((lane) => Math.abs(lane.x - x) < LANE && lane.top <= bottom && lane.bottom >= top)) x += LANE;
    lanes.push({ x, top, bottom });
    width = Math.max(width, x + LANE + roomOf(line.ways.map((way) => ways[way])));
    // A way back leaves below the middle and arrives above it, so that those of one node are apart.
    const [y0, y1] = [from.y + box.height * 0.7, to.y + box.height * 0.3];
    const [right, arrival] = [middle(line.from) + box.width / 2, middle(line.to) + box.width / 2];
    edges.push({ ...line, back: true, points: [[right, y0], [x, y0], [x, y1], [arrival, y1]], label: [x + 6, (y0 + y1) / 2] });
  }
  return { places, edges, width, height: placed.height };
}

/** The width of the conditions of ways, as far as they are shown. @param {Way[]} ways */
const roomOf = (ways) => Math.min(LABEL, ways.map((way) => way.when ?? '').filter(Boolean).join(' · ').length) * LETTER;

/** The point of a line at which its label is: the middle of its last part. @param {[number, number][]} points @returns {[number, number]} */
function halfway(points) {
  const [x0, y0] = points[0];
  const [x1, y1] = points[1];
  return [Math.round((x0 + x1) / 2), Math.round((y0 + y1) / 2)];
}

/** The edges that close a circle, in a walk from the start. @param {string} start @param {string[]} all @param {(id: string) => string[]} next */
function backwards(start, all, next) {
  const back = new Set();
  const done = new Set();
  const open = new Set();
  for (const first of [start, ...all]) {
    if (done.has(first)) continue;
    /** @type {{id: string, rest: string[]}[]} */
    const stack = [{ id: first, rest: [...next(first)] }];
    open.add(first);
    while (stack.length) {
      const top = stack[stack.length - 1];
      const to = top.rest.shift();
      if (to === undefined) {
        open.delete(top.id);
        done.add(top.id);
        stack.pop();
      } else if (open.has(to)) back.add(`${top.id}>${to}`);
      else if (!done.has(to)) {
        open.add(to);
        stack.push({ id: to, rest: [...next(to)] });
      }
    }
  }
  return back;
}

/** The nodes in the order in which paths reach them. @param {string} start @param {string[]} all @param {Map<string, {to: string}[]>} next */
function inOrder(start, all, next) {
  const seen = new Set([start]);
  for (const id of seen) for (const line of next.get(id) ?? []) seen.add(line.to);
  return [...seen, ...all.filter((id) => !seen.has(id))];
}

/** The line of a way back: with corners that are round. @param {[number, number][]} points */
export function lane([[x0, y0], [x, a], [, b], [x1]]) {
  const r = Math.min(8, Math.abs(a - b) / 2);
  const s = b < a ? -1 : 1;
  return `M${x0} ${y0}H${x - r}Q${x} ${a} ${x} ${a + s * r}V${b - s * r}Q${x} ${b} ${x - r} ${b}H${x1 + 5}`;
}
