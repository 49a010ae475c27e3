// A graph that `layout` has placed: its frame, its edges and its nodes.

import { html, ref, svg } from '../lit.js';
import { curve } from '../layout.js';

const PAD = 8;

/** An edge with its arrow. @param {import('../layout.js').Edge} edge @param {string} classes */
export function arrow(edge, classes) {
  const [x, y] = edge.points[edge.points.length - 1];
  return svg`<path class="edge ${classes}" d=${curve([...edge.points.slice(0, -1), [x, y - 5]])}></path><path class="arrow ${classes}" d="M${x - 4} ${y - 7}L${x} ${y - 1}L${x + 4} ${y - 7}z"></path>`;
}

/**
 * The whole graph; it shrinks with the page as long as its words can be read.
 * @param {{places: Map<string, import('../layout.js').Place>, width: number, height: number}} placed
 * @param {{width: number, height: number}} box size of a node
 * @param {string} label @param {unknown} edges @param {[string, unknown][]} nodes by id
 */
export function graphView({ places, width, height }, box, label, edges, nodes) {
  const [wide, high] = [width + 2 * PAD, height + 2 * PAD];
  return html`<div class="graph" role="group" aria-label=${label}>
    <svg width=${wide} height=${high} viewBox="${-PAD} ${-PAD} ${wide} ${high}" ${ref((/** @type {any} */ element) => { if (element instanceof SVGElement) element.style.minWidth = `${Math.min(wide, Math.max(300, width * 0.72))}px`; })}>
      <g class="edges">${edges}</g>
      ${nodes.map(([id, node]) => {
        const place = /** @type {import('../layout.js').Place} */ (places.get(id));
        return svg`<foreignObject x=${place.x} y=${place.y} width=${box.width} height=${box.height}>${node}</foreignObject>`;
      })}
    </svg></div>`;
}
