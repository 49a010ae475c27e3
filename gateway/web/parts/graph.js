// A graph that `layout` has placed: its frame, its edges and its nodes, and the keys that move in it.

import { html, ref, svg } from '../lit.js';
import { curve } from '../layout.js';

const PAD = 8;
/** Distance of one key press, in pixels. */
const STEP = 96;
/** @type {Record<string, [number, number]>} */
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** An edge with its arrow. @param {import('../layout.js').Edge} edge @param {string} classes */
export function arrow(edge, classes) {
  const [x, y] = edge.points[edge.points.length - 1];
  return svg`<path class="edge ${classes}" d=${curve([...edge.points.slice(0, -1), [x, y - 5]])}></path><path class="arrow ${classes}" d="M${x - 4} ${y - 7}L${x} ${y - 1}L${x + 4} ${y - 7}z"></path>`;
}

/**
 * The node that lies next in a direction: the nearest one, where a distance across counts twice. Pure; a test covers it.
 * @param {Map<string, import('../layout.js').Place>} places @param {string} from @param {[number, number]} way @returns {string | undefined}
 */
export function nextNode(places, from, [dx, dy]) {
  const here = places.get(from);
  if (!here) return undefined;
  let found;
  let least = Infinity;
  for (const place of places.values()) {
    const [x, y] = [place.x - here.x, place.y - here.y];
    const ahead = x * dx + y * dy;
    const across = Math.abs(x * dy) + Math.abs(y * dx);
    if (ahead <= 0 || ahead + 2 * across >= least) continue;
    least = ahead + 2 * across;
    found = place.id;
  }
  return found;
}

/**
 * The whole graph; it shrinks with the page as long as its words can be read. Arrow keys move from node to node; on the frame, and
 * with Shift, they move what is seen.
 * @param {{places: Map<string, import('../layout.js').Place>, width: number, height: number}} placed
 * @param {{width: number, height: number}} box size of a node
 * @param {string} label @param {unknown} edges @param {[string, unknown][]} nodes by id
 * @param {(id: string | undefined) => void} [focused] hears which node has the focus
 */
export function graphView({ places, width, height }, box, label, edges, nodes, focused = () => {}) {
  const [wide, high] = [width + 2 * PAD, height + 2 * PAD];
  const nodeOf = (/** @type {EventTarget | null} */ target) => /** @type {Element | null} */ (target)?.closest?.('foreignObject')?.getAttribute('data-node') ?? undefined;
  const key = (/** @type {KeyboardEvent} */ e) => {
    const way = WAYS[e.key];
    if (!way || e.ctrlKey || e.metaKey || e.altKey) return;
    const frame = /** @type {HTMLElement} */ (e.currentTarget);
    const from = nodeOf(e.target);
    e.preventDefault();
    e.stopPropagation();
    if (from === undefined || e.shiftKey) return frame.scrollBy(way[0] * STEP, way[1] * STEP);
    const next = nextNode(places, from, way);
    const element = next && [...frame.querySelectorAll('foreignObject')].find((one) => one.getAttribute('data-node') === next);
    if (!element) return;
    /** @type {HTMLElement | null} */ (element.querySelector('.node'))?.focus({ preventScroll: true });
    element.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  return html`<div class="graph" role="group" aria-label=${label} tabindex="0" @keydown=${key} @focusin=${(/** @type {FocusEvent} */ e) => focused(nodeOf(e.target))} @focusout=${(/** @type {FocusEvent} */ e) => focused(nodeOf(e.relatedTarget))}>
    <svg width=${wide} height=${high} viewBox="${-PAD} ${-PAD} ${wide} ${high}" ${ref((/** @type {any} */ element) => { if (element instanceof SVGElement) element.style.minWidth = `${Math.min(wide, Math.max(300, width * 0.72))}px`; })}>
      <g class="edges">${edges}</g>
      ${nodes.map(([id, node]) => {
        const place = /** @type {import('../layout.js').Place} */ (places.get(id));
        return svg`<foreignObject data-node=${id} x=${place.x} y=${place.y} width=${box.width} height=${box.height}>${node}</foreignObject>`;
      })}
    </svg></div>`;
}
