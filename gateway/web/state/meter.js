// What a job has spent, how fast it spends, and when a limit of its budget is reached. Pure.

import { ms } from '../format.js';

/** The rate is that of this time, in milliseconds. */
const WINDOW = 5 * 60_000;
/** The rate of a shorter time would be a guess. */
const SHORTEST = 10_000;

/**
 * @typedef {{at: number, input: number, output: number}} Sample tokens until then
 * @typedef {{axis: string, used: number, limit: number}} Gauge
 * @typedef {{unit: 'money' | 'tokens', used?: number, limit?: number, rate?: number, left?: number}} Meter `rate` is per minute, `left` the milliseconds until the limit, 0 when it is reached; `used` is absent where no price is known
 */

/** Tokens of the job after each call that counts. @param {import('./fold.js').Fold} fold @returns {Sample[]} */
export function samples(fold) {
  let [input, output] = [0, 0];
  return fold.events.filter((e) => e.type === 'usage' && !fold.dropped.has(e.id)).map((e) => {
    input += e.spent?.input_tokens ?? 0;
    output += e.spent?.output_tokens ?? 0;
    return { at: ms(e.time), input, output };
  });
}

/** The amount per minute in the last minutes. @param {Sample[]} all @param {(s: Sample) => number} amount @param {number} begun @param {number} now */
function perMinute(all, amount, begun, now) {
  const from = Math.max(begun, now - WINDOW);
  if (now - from < SHORTEST) return undefined;
  const last = all.findLast((sample) => sample.at <= now);
  const before = all.findLast((sample) => sample.at <= from);
  return (((last ? amount(last) : 0) - (before ? amount(before) : 0)) / (now - from)) * 60_000;
}

/** The cost of a job. A front door of an earlier release tells tokens only, whose price is then not known. @param {any} view @returns {import('../parts/cost.js').Spent} */
export const spentOf = (view) => view.spent ?? (view.usage?.input_tokens || view.usage?.output_tokens ? { usage: view.usage, unpriced: view.usage } : {});

const tokens = (/** @type {Sample} */ s) => s.input + s.output;
/** @type {Record<string, (s: Sample) => number>} */
const TOKENS = { tokens, tokens_in: (s) => s.input, tokens_out: (s) => s.output };

/**
 * The limit on money or tokens that is reached first at the present rate. Without such a limit only what was spent, and the rate.
 * @param {{budget?: Gauge[], spent?: import('../parts/cost.js').Spent, state: string}} view @param {Sample[]} all @param {number} begun @param {number} now @param {boolean} runs
 * @returns {Meter}
 */
export function meter(view, all, begun, now, runs) {
  const last = all.at(-1);
  /** Money for the tokens of a sample, if all had the price of the average. @param {number | undefined} money */
  const priced = (money) => (/** @type {Sample} */ s) => (last && money ? (tokens(s) / tokens(last)) * money : 0);
  const of = (/** @type {Gauge | undefined} */ gauge) => {
    const unit = /** @type {'money' | 'tokens'} */ (gauge ? (gauge.axis === 'money' ? 'money' : 'tokens') : view.spent?.money === undefined ? 'tokens' : 'money');
    const used = gauge ? gauge.used : unit === 'money' ? view.spent?.money : last ? tokens(last) : 0;
    const rate = runs ? perMinute(all, unit === 'money' ? priced(used) : TOKENS[gauge?.axis ?? 'tokens'], begun, now) : undefined;
    const rest = gauge && gauge.limit - gauge.used;
    const left = rest === undefined ? undefined : rest <= 0 ? 0 : rate ? (rest / rate) * 60_000 : undefined;
    return { unit, used, limit: gauge?.limit, rate: rate || undefined, left };
  };
  const share = (/** @type {Meter} */ one) => (one.limit ? (one.used ?? 0) / one.limit : 0);
  const limited = (view.budget ?? []).filter((gauge) => gauge.axis === 'money' || gauge.axis in TOKENS).map(of);
  limited.sort((a, b) => (a.left ?? Infinity) - (b.left ?? Infinity) || share(b) - share(a));
  return limited[0] ?? of(undefined);
}
