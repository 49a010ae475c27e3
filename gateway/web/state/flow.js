// The progress of a workflow as the events tell it: states and visits of nodes, and the ways that were taken. Pure.

/**
 * @typedef {{visits: number, failed: number, open: Set<string>, state: string, last: string}} NodeProgress
 * @typedef {{node: string, to: string, way: string, when?: string}} Taken
 */

export class Flow {
  constructor() {
    /** @type {Map<string, NodeProgress>} */
    this.nodes = new Map();
    /** @type {Taken[]} */
    this.taken = [];
  }

  /** @param {any} e an event of a node */
  take(e) {
    let node = this.nodes.get(e.node);
    if (!node) this.nodes.set(e.node, (node = { visits: 0, failed: 0, open: new Set(), state: 'pending', last: e.visit }));
    if (e.phase === 'entered') {
      node.visits++;
      node.open.add(e.visit);
      node.last = e.visit;
    } else if (e.phase === 'ended') {
      node.open.delete(e.visit);
      node.state = e.state;
      if (e.state === 'failed') node.failed++;
    } else if (e.phase === 'routed') this.taken.push({ node: e.node, to: e.to, way: e.way, when: e.when });
  }

  /** The state of a node: that of an open visit, if there is any. @param {string} id @param {Map<string, {state: string}>} steps @param {boolean} over whether the job has ended */
  stateOf(id, steps, over) {
    const node = this.nodes.get(id);
    if (!node) return 'pending';
    const open = [...node.open].map((visit) => steps.get(visit)?.state ?? 'running');
    if (!open.length) return node.state;
    if (over) return open.find((state) => state === 'failed') ?? 'canceled';
    return open.includes('running') ? 'running' : open.includes('waiting') ? 'waiting' : open.find((state) => state !== 'completed') ?? 'running';
  }

  /** The number of times that a way was taken. @param {import('../flowlayout.js').Way} way @param {string} start */
  times(way, start) {
    const node = way.from.replace('join:', '');
    const is = (/** @type {Taken} */ one) => one.node === node && one.to === way.to && one.way === way.kind && one.when === way.when;
    if (way.kind !== 'branch' && way.kind !== 'item') return this.taken.filter(is).length;
    // Every other visit of the first node of a branch or a body followed a route.
    const routed = this.taken.filter((one) => one.to === way.to).length + (way.to === start ? 1 : 0);
    return Math.max(0, (this.nodes.get(way.to)?.visits ?? 0) - routed);
  }
}
