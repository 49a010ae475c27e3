// The ticks of the scrubber: one path for each tone, so that a job of ten thousand events costs as little to draw as one of ten. Pure.

/** Tones of events; later ones are drawn over earlier ones, and the last one of a place is the one that is seen. */
const TONES = ['gone', 'idle', 'work', 'done', 'accent', 'attn', 'wait', 'fail'];
const OF_TYPE = /** @type {Record<string, string>} */ ({ step: 'work', tool: 'idle', plan: 'accent', interaction: 'wait', error: 'fail', notice: 'attn', message: 'idle', usage: 'idle', turn: 'idle', node: 'accent', job: 'done' });
/** Types whose ticks are tall. */
const TALL = new Set(['step', 'plan', 'interaction', 'error']);

/** Number of places, which is the width of the view box. */
export const PLACES = 1000;
/** Height of the view box. */
export const HEIGHT = 16;

/**
 * The paths of the ticks, in the order of their drawing. Events that share a place have one tick: that of the most important one.
 * @param {{id: string, type: string}[]} events @param {Set<string>} dropped ids of events that a rollback took out
 * @returns {{tone: string, d: string}[]}
 */
export function ticksOf(events, dropped) {
  /** @type {Map<number, {rank: number, tall: boolean}>} */
  const places = new Map();
  events.forEach((e, n) => {
    const at = Math.round(((n + 1) / events.length) * PLACES);
    const rank = TONES.indexOf(dropped.has(e.id) ? 'gone' : OF_TYPE[e.type] ?? 'idle');
    const known = places.get(at);
    if (!known || rank > known.rank) places.set(at, { rank, tall: TALL.has(e.type) });
  });
  const paths = TONES.map((tone) => ({ tone, d: '' }));
  for (const [at, { rank, tall }] of places) paths[rank].d += `M${at} ${tall ? 2 : 6}V14`;
  return paths.filter(({ d }) => d);
}
