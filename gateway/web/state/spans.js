// Rows and axis of the waterfall: steps with their turns, calls and questions; long idle gaps are folded. Pure.

import { stateOf } from './fold.js';

/** @typedef {import('./fold.js').Fold} Fold */
/** @typedef {{key: string, depth: number, label: string, kind: string, step?: string, state: string, bars: {from: number, to: number, kind: string}[], note?: string, work?: string}} Row */

/** @param {Fold} fold @param {number} now @param {(key: string, args?: any) => string} t @returns {Row[]} */
export function rows(fold, now, t) {
  /** @type {Row[]} */
  const out = [];
  const ended = ['completed', 'failed', 'canceled', 'rejected'].includes(fold.state);
  const horizon = ended ? fold.updated : now;
  /** Model calls by their work, each with the attempts that failed before the last one. @param {import('./fold.js').Turn[]} turns @param {number} depth @param {string | undefined} step @param {(n: number) => string} label @returns {Row[][]} */
  const calls = (turns, depth, step, label) => [...Map.groupBy(turns, (/** @type {any} */ turn) => turn.work).values()].map((/** @type {import('./fold.js').Turn[]} */ attempts, /** @type {number} */ n) => {
    const kind = step ? 'turn' : 'plan';
    const bar = (/** @type {import('./fold.js').Turn} */ turn) => ({ from: turn.from, to: turn.to ?? horizon, kind: 'run' });
    const last = /** @type {import('./fold.js').Turn} */ (attempts.at(-1));
    const failed = attempts.filter((turn) => turn.failed && (turn !== last || attempts.length > 1));
    return [
      { key: `${kind}:${last.work}:${last.from}`, depth, label: label(n), kind, step, state: stateOf(last), bars: attempts.map(bar), work: last.work },
      ...failed.map((turn) => ({ key: `y:${turn.work}:${turn.attempt}`, depth: depth + 1, label: t('row_try', { n: turn.attempt }), kind: 'try', step, state: 'failed', bars: [bar(turn)] })),
    ];
  });
  const planning = fold.turns.filter((turn) => !turn.step);
  out.push(...calls(planning, 0, undefined, () => t('row_planning')).flat());
  if ((fold.sub === 'planning' || fold.sub === 'replanning') && !planning.some((turn) => turn.to === undefined)) out.push({ key: 'plan:now', depth: 0, label: t('row_planning'), kind: 'plan', state: 'running', bars: [{ from: Math.max(fold.phases.at(-1)?.from ?? now, ...planning.map((turn) => turn.to ?? 0)), to: horizon, kind: 'run' }] });
  for (const question of fold.questions.values())
    if (!question.step) out.push({ key: `q:${question.id}:${question.asked}`, depth: 0, label: question.prompt, kind: 'question', state: question.ended ? 'completed' : 'waiting', bars: [{ from: question.asked, to: question.ended ?? horizon, kind: 'wait' }], note: question.by });
  const ids = new Set([...(fold.plan?.ids ?? []), ...fold.steps.keys()]);
  for (const id of ids) {
    const step = fold.steps.get(id);
    if (!step) continue;
    const bars = step.spans.map((span) => ({ from: span.from, to: span.to ?? horizon, kind: span.kind }));
    if (step.queued !== undefined && !ended) bars.push({ from: step.queued, to: horizon, kind: 'queue' });
    out.push({ key: `s:${id}`, depth: 0, label: step.title, kind: step.tool ? 'tool' : 'agent', step: id, state: step.state, bars });
    /** Rows that stay together. @type {Row[][]} */
    const below = calls(step.turns, 1, id, (n) => t('row_turn', { n: n + 1 }));
    for (const call of step.calls)
      below.push([
        { key: `c:${call.work}`, depth: 1, label: call.tool, kind: 'call', step: id, state: stateOf(call), bars: [{ from: call.from, to: call.to ?? horizon, kind: 'run' }], work: call.work },
        ...call.tries.map((failed) => ({ key: `x:${call.work}:${failed.attempt}`, depth: 2, label: t('row_try', { n: failed.attempt }), kind: 'try', step: id, state: 'failed', bars: [{ from: call.from, to: failed.at, kind: 'run' }] })),
      ]);
    for (const question of fold.questions.values())
      if (question.step === id) below.push([{ key: `q:${question.id}`, depth: 1, label: question.prompt, kind: 'question', step: id, state: question.ended ? 'completed' : 'waiting', bars: [{ from: question.asked, to: question.ended ?? horizon, kind: 'wait' }], note: question.by }]);
    const begin = (/** @type {Row[]} */ [first]) => first.bars[0]?.from ?? 0;
    if (below.flat().length > 1 || (below.length === 1 && below[0][0].kind !== 'call')) out.push(...below.sort((a, b) => begin(a) - begin(b)).flat());
  }
  return out;
}

/**
 * Maps times to 0…1. A long interval without running work is folded to a narrow strip.
 * @param {Row[]} rows @param {number} from @param {number} to
 */
export function axis(rows, from, to) {
  const whole = Math.max(1, to - from);
  const busy = rows.flatMap((row) => row.bars.filter((bar) => bar.kind === 'run').map((bar) => /** @type {[number, number]} */ ([Math.max(from, bar.from), Math.min(to, bar.to)]))).sort((a, b) => a[0] - b[0]);
  /** @type {{from: number, to: number}[]} */
  const gaps = [];
  let reached = from;
  let ran = 0;
  for (const [start, end] of busy) {
    if (end > reached) ran += end - Math.max(start, reached);
    reached = Math.max(reached, end);
  }
  reached = from;
  for (const [start, end] of [...busy, /** @type {[number, number]} */ ([to, to])]) {
    if (start - reached > Math.max(4000, ran * 0.6)) gaps.push({ from: reached, to: start });
    reached = Math.max(reached, end);
  }
  const STRIP = gaps.length > 6 ? 0.3 / gaps.length : 0.05;
  const idle = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const rest = Math.max(1, whole - idle);
  const room = 1 - gaps.length * STRIP;
  /** @param {number} time */
  const x = (time) => {
    const at = Math.min(to, Math.max(from, time));
    let before = 0;
    let strips = 0;
    for (const gap of gaps) {
      if (at >= gap.to) {
        before += gap.to - gap.from;
        strips += STRIP;
      } else if (at > gap.from) {
        before += at - gap.from;
        strips += (STRIP * (at - gap.from)) / (gap.to - gap.from);
      }
    }
    return ((at - from - before) / rest) * room + strips;
  };
  return { x, gaps, rest, room };
}

/** Round distances for ticks. @param {number} span @param {number} most */
export function tickStep(span, most) {
  const nice = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000, 86_400_000, 172_800_000, 604_800_000];
  return nice.find((step) => span / step <= most) ?? span;
}
