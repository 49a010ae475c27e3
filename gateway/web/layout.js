// Layered layout of a directed acyclic graph: transitive reduction, longest-path ranks, barycentre sweeps. Pure.

/**
 * @typedef {{id: string, depends_on: string[]}} Node
 * @typedef {{id: string, x: number, y: number, rank: number}} Place
 * @typedef {{from: string, to: string, points: [number, number][]}} Edge
 */

/**
 * @param {Node[]} nodes
 * @param {{width: number, height: number, gapX: number, gapY: number, wrap?: number, whole?: boolean}} box with `whole`, edges that others imply are drawn too
 * @param {string[]} [earlier] order of the last layout, so that nodes do not jump
 * @returns {{places: Map<string, Place>, edges: Edge[], implied: number, width: number, height: number}}
 */
export function layout(nodes, box, earlier = []) {
  const count = nodes.length;
  const index = new Map(nodes.map((node, i) => [node.id, i]));
  /** @type {number[][]} */
  const parents = nodes.map((node) => [...new Set(node.depends_on)].map((id) => index.get(id) ?? -1).filter((i) => i >= 0));

  // Ranks: the longest path from a root. A circle, which no valid plan has, ends at its first repeated node.
  const rank = new Int32Array(count).fill(-1);
  const rankOf = (/** @type {number} */ start) => {
    const stack = [start];
    const open = new Set([start]);
    while (stack.length) {
      const node = stack[stack.length - 1];
      const missing = parents[node].find((p) => rank[p] < 0 && !open.has(p));
      if (missing !== undefined) {
        stack.push(missing);
        open.add(missing);
        continue;
      }
      rank[node] = parents[node].reduce((most, p) => Math.max(most, rank[p] + 1), 0);
      open.delete(node);
      stack.pop();
    }
  };
  for (let i = 0; i < count; i++) if (rank[i] < 0) rankOf(i);

  // Transitive reduction by bit sets of ancestors, in the order of ranks.
  const words = (count + 31) >> 5;
  const above = new Uint32Array(words * count);
  const byRank = [...Array(count).keys()].sort((a, b) => rank[a] - rank[b]);
  let implied = 0;
  /** @type {number[][]} */
  const kept = nodes.map(() => []);
  for (const node of byRank) {
    const sorted = parents[node].toSorted((a, b) => rank[b] - rank[a]);
    for (const parent of sorted) {
      const row = node * words;
      if (!box.whole && above[row + (parent >> 5)] & (1 << (parent & 31))) {
        implied++;
        continue;
      }
      kept[node].push(parent);
      for (let w = 0; w < words; w++) above[row + w] |= above[parent * words + w];
      above[row + (parent >> 5)] |= 1 << (parent & 31);
    }
  }

  // Layers with dummy nodes on edges that span several ranks.
  /** @type {number[][]} */
  const layers = [];
  /** @type {number[][]} */
  const up = [];
  /** @type {number[][]} */
  const down = [];
  /** @type {number[]} */
  const layerOf = [];
  const add = (/** @type {number} */ layer) => {
    const id = up.length;
    up.push([]);
    down.push([]);
    layerOf.push(layer);
    (layers[layer] ??= []).push(id);
    return id;
  };
  const order = new Map(earlier.map((id, i) => [id, i]));
  for (let i = 0; i < count; i++) add(rank[i]);
  /** @type {{from: number, to: number, path: number[]}[]} */
  const chains = [];
  let dummies = 0;
  for (let node = 0; node < count; node++)
    for (const parent of kept[node]) {
      const path = [parent];
      let at = parent;
      // An edge across many layers, or one of very many, is drawn straight.
      if (dummies < 2000 && rank[node] - rank[parent] <= 16)
        for (let layer = rank[parent] + 1; layer < rank[node]; layer++) {
          const dummy = add(layer);
          dummies++;
          down[at].push(dummy);
          up[dummy].push(at);
          path.push((at = dummy));
        }
      down[at].push(node);
      up[node].push(at);
      path.push(node);
      chains.push({ from: parent, to: node, path });
    }
  const position = new Float64Array(up.length);
  for (const layer of layers) {
    layer.sort((a, b) => (order.get(nodes[a]?.id) ?? a) - (order.get(nodes[b]?.id) ?? b));
    layer.forEach((node, i) => (position[node] = i));
  }
  const weight = new Float64Array(up.length);
  for (let sweep = 0; sweep < 8; sweep++) {
    const downwards = sweep % 2 === 0;
    let moved = false;
    for (let k = 0; k < layers.length; k++) {
      const layer = layers[downwards ? k : layers.length - 1 - k];
      for (const node of layer) {
        const near = downwards ? up[node] : down[node];
        let sum = 0;
        for (const other of near) sum += position[other];
        weight[node] = near.length ? sum / near.length : position[node];
      }
      let sorted = true;
      for (let i = 1; i < layer.length && sorted; i++) sorted = weight[layer[i - 1]] <= weight[layer[i]];
      if (sorted) continue;
      moved = true;
      layer.sort((a, b) => weight[a] - weight[b] || position[a] - position[b]);
      for (let i = 0; i < layer.length; i++) position[layer[i]] = i;
    }
    if (!moved && sweep > 0) break;
  }

  // Coordinates: nodes of a layer keep their distance and move towards the mean of their neighbours.
  const step = box.width + box.gapX;
  const lane = box.gapX + 12;
  const wide = (/** @type {number} */ node) => (node < count ? step : lane);
  const x = new Float64Array(up.length);
  for (const layer of layers) {
    let at = 0;
    for (const node of layer) {
      x[node] = at + wide(node) / 2;
      at += wide(node);
    }
    for (const node of layer) x[node] -= at / 2;
  }
  for (let sweep = 0; sweep < 6; sweep++)
    for (let k = 0; k < layers.length; k++) {
      const layer = layers[sweep % 2 ? layers.length - 1 - k : k];
      const wish = layer.map((node) => {
        const near = sweep % 2 ? down[node] : up[node];
        let sum = 0;
        for (const other of near) sum += x[other];
        return near.length ? sum / near.length : x[node];
      });
      const placed = pack(layer, wish, wide);
      layer.forEach((node, i) => (x[node] = placed[i]));
    }

  let least = Infinity;
  let most = -Infinity;
  for (let i = 0; i < up.length; i++) {
    const half = (i < count ? box.width : 0) / 2;
    least = Math.min(least, x[i] - half);
    most = Math.max(most, x[i] + half);
  }
  if (!count) least = most = 0;
  /** @type {Map<string, Place>} */
  const places = new Map();
  for (let i = 0; i < count; i++) places.set(nodes[i].id, { id: nodes[i].id, x: Math.round(x[i] - box.width / 2 - least), y: rank[i] * (box.height + box.gapY), rank: rank[i] });
  const edges = chains.map(({ from, to, path }) => ({
    from: nodes[from].id,
    to: nodes[to].id,
    points: path.map((node, n) => {
      const px = x[node] - least;
      const top = layerOf[node] * (box.height + box.gapY);
      return /** @type {[number, number]} */ ([Math.round(px), n === 0 ? top + box.height : n === path.length - 1 ? top : top + box.height / 2]);
    }),
  }));
  return { places, edges, implied, width: Math.round(most - least), height: Math.max(0, layers.length * (box.height + box.gapY) - box.gapY) };
}

/** Least-squares positions that keep order and distance: pool adjacent violators. @param {number[]} layer @param {number[]} wish @param {(n: number) => number} wide */
function pack(layer, wish, wide) {
  /** @type {{sum: number, count: number, first: number}[]} */
  const blocks = [];
  const offset = new Float64Array(layer.length);
  for (let i = 1; i < layer.length; i++) offset[i] = offset[i - 1] + (wide(layer[i - 1]) + wide(layer[i])) / 2;
  for (let i = 0; i < layer.length; i++) {
    blocks.push({ sum: wish[i] - offset[i], count: 1, first: i });
    while (blocks.length > 1) {
      const [a, b] = blocks.slice(-2);
      if (a.sum / a.count <= b.sum / b.count) break;
      blocks.splice(-2, 2, { sum: a.sum + b.sum, count: a.count + b.count, first: a.first });
    }
  }
  const out = new Float64Array(layer.length);
  blocks.forEach((block, n) => {
    const end = blocks[n + 1]?.first ?? layer.length;
    for (let i = block.first; i < end; i++) out[i] = block.sum / block.count + offset[i];
  });
  return out;
}

/** A smooth path through points, vertical at its ends. @param {[number, number][]} points */
export function curve(points) {
  let d = `M${points[0][0]} ${points[0][1]}`;
  for (let i = 1; i < points.length; i++) {
    const [x0, y0] = points[i - 1];
    const [x1, y1] = points[i];
    const mid = (y0 + y1) / 2;
    d += x0 === x1 ? `L${x1} ${y1}` : `C${x0} ${mid} ${x1} ${mid} ${x1} ${y1}`;
  }
  return d;
}
