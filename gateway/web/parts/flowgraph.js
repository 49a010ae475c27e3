// The drawing of a workflow: that of a definition, or of a job with its states.

import { html, nothing, svg } from '../lit.js';
import { flowLayout, LABEL, lane } from '../flowlayout.js';
import { t } from '../settings.js';
import { duration } from '../format.js';
import { arrow, graphView } from './graph.js';
import { mark, tone } from './mark.js';
import { plain } from './ui.js';

export const FLOW_WORDS = { en: () => import('../words/flow.en.js'), zh: () => import('../words/flow.zh.js') };

const BOX = { width: 216, height: 62, gapX: 28, gapY: 56 };
/** Space above and below a join in its box, in pixels. */
const SIGN = 18;

/**
 * @typedef {import('../flowlayout.js').Way} Way
 * @typedef {{id: string, label: string, type: string, names?: string, join?: 'all' | 'any' | {at_least: number}}} Node
 * @typedef {{start: string, nodes: Node[], edges: Way[]}} Shape
 * @typedef {{state: (id: string) => string, visits: (id: string) => {visits: number, failed: number} | undefined, times: (way: Way) => number, isDone: boolean}} Progress
 */

/** The places of shapes that were drawn. @type {WeakMap<Shape, import('../flowlayout.js').Placed>} */
const PLACED = new WeakMap();
/** @param {Shape} shape */
function placedOf(shape) {
  let placed = PLACED.get(shape);
  if (!placed) PLACED.set(shape, (placed = flowLayout(shape.start, shape.nodes.map((node) => node.id), shape.edges, BOX)));
  return placed;
}

/**
 * @param {Shape} shape
 * @param {{chosen?: string, near?: string, choose: (id: string) => void, focused?: (id: string | undefined) => void, progress?: Progress}} how
 *   without `progress`, the graph is that of a definition
 */
export function flowGraph(shape, { chosen, near = chosen, choose, focused, progress }) {
  const placed = placedOf(shape);
  const at = new Map(shape.nodes.map((node) => [node.id, node]));
  const lines = placed.edges.map((edge) => {
    const times = progress ? edge.ways.reduce((n, way) => n + progress.times(shape.edges[way]), 0) : 0;
    const dashed = edge.ways.every((way) => ['error', 'timeout'].includes(shape.edges[way].kind));
    const classes = `${times ? 'lit' : ''} ${dashed ? 'dashed' : ''} ${near && (edge.from === near || edge.to === near) ? 'focus' : ''}`;
    const [x, y] = edge.points[3] ?? [0, 0];
    // A join and the end are lower than a node.
    const cut = (/** @type {[number, number]} */ [left, top], /** @type {number} */ n) => /** @type {[number, number]} */ ([left, top + (n === 0 && !at.has(edge.from) ? -SIGN : n === edge.points.length - 1 && !at.has(edge.to) ? SIGN : 0)]);
    const line = edge.back
      ? svg`<path class="edge ${classes}" d=${lane(edge.points)}></path><path class="arrow ${classes}" d="M${x + 7} ${y - 4}L${x + 1} ${y}L${x + 7} ${y + 4}z"></path>`
      : arrow({ ...edge, points: edge.points.map(cut) }, classes);
    return { line, words: label(edge, edge.ways.map((way) => shape.edges[way]), times) };
  });
  const nodes = [...placed.places.keys()].map((id) => {
    const one = at.get(id);
    return [id, one ? nodeBox(one, id === chosen, () => choose(id), progress) : sign(id, at, progress)];
  });
  return graphView(placed, BOX, t('flow_graph', { n: shape.nodes.length }), [lines.map(({ line }) => line), lines.map(({ words }) => words)], /** @type {[string, unknown][]} */ (nodes), focused);
}

/** The text of a line: conditions, names of branches, and how often it was taken. @param {import('../flowlayout.js').Edge} edge @param {Way[]} ways @param {number} times */
function label(edge, ways, times) {
  const words = ways.map((way) => wayWords(way)).filter(Boolean).join(' · ');
  const text = `${words.length > LABEL ? `${words.slice(0, LABEL - 1)}…` : words}${times > 1 ? ` ×${times}` : ''}`.trim();
  if (!text) return nothing;
  const [x, y] = edge.label;
  return svg`<text class="edge-label ${times ? 'lit' : ''}" x=${x} y=${y + 4} text-anchor=${edge.back ? 'start' : 'middle'}><title>${plain(words)}</title>${text}</text>`;
}

/** A way in words. @param {Way} way */
function wayWords(way) {
  switch (way.kind) {
    case 'error':
      return t('flow_error');
    case 'timeout':
      return t('flow_after', { time: duration(way.after_ms ?? NaN) });
    case 'item':
      return t('flow_each', { items: way.name });
    default:
      return way.when ?? way.name ?? '';
  }
}

/** @param {Node} one @param {boolean} chosen @param {() => void} choose @param {Progress | undefined} progress */
function nodeBox(one, chosen, choose, progress) {
  const state = progress?.state(one.id);
  const known = progress?.visits(one.id);
  const quiet = state && ['pending', 'skipped', 'canceled'].includes(state);
  return html`<button class="node ${state ? `line-${tone(state)}` : ''} ${chosen ? 'at' : ''} ${quiet ? 'quiet' : ''}" title=${one.label} aria-pressed=${chosen ? 'true' : 'false'} @click=${choose}>
    ${state ? mark(state) : nothing}<span class="node-words"><span class="node-title">${plain(one.label)}</span><span class="node-sub muted"><span class="cut">${t(`node_${one.type}`)}${one.names ? html` <code>${one.names}</code>` : nothing}</span>${known?.failed ? html`<span class="failed-text">✗${known.failed}</span>` : nothing}<span class="end num">${known && known.visits > 1 ? `×${known.visits}` : ''}</span></span></span></button>`;
}

/** A join, or the end. @param {string} id @param {Map<string, Node>} at @param {Progress | undefined} progress */
function sign(id, at, progress) {
  const of = id.slice('join:'.length);
  const reached = progress && (id === 'end' ? progress.isDone : progress.state(of) === 'completed');
  const join = at.get(of)?.join;
  const words = id === 'end' ? t('flow_end') : typeof join === 'object' ? t('flow_join_n', { n: join.at_least }) : t(join === 'any' ? 'flow_join_any' : 'flow_join_all');
  return html`<span class="flow-sign ${reached ? 'lit' : ''}"><span>${words}</span></span>`;
}
