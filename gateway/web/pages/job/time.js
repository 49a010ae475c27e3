// The waterfall: queued time hatched, running time solid, waiting time dotted, idle gaps folded.

import { html, nothing, svg } from '../../lit.js';
import { axis, rows, tickStep } from '../../state/spans.js';
import { route, select } from '../../router.js';
import { t } from '../../settings.js';
import { clock, duration } from '../../format.js';
import { mark, tone } from '../../parts/mark.js';
import { empty, plain } from '../../parts/ui.js';
import { virtual } from '../../parts/virtual.js';

/** The words of rows and bars, as the server calls them. @type {Record<string, string>} */
const KINDS = { plan: 'turn', turn: 'turn', tool: 'step', agent: 'step', call: 'call', try: 'attempt', question: 'waiting' };
/** @type {Record<string, string>} */
const SPANS = { run: 'run', queue: 'queue', wait: 'waiting' };

/** A time on the axis, as precise as the distance of its ticks. Pure; a test covers it. @param {number} ms @param {number} step */
export const tickLabel = (ms, step) => (step < 1000 && ms >= 10_000 && ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms));

/** @param {import('../job.js').JobPage} page @param {any} fold */
export function timeTab(page, fold) {
  const ended = ['completed', 'failed', 'canceled', 'rejected'].includes(fold.state);
  const now = page.past || ended ? fold.updated : Date.now();
  const all = rows(fold, now, t);
  if (!all.length) return empty(t('no_times'), t('no_times_text'));
  const from = fold.created;
  const to = Math.max(now, from + 1);
  const { x, gaps, rest, room } = axis(all, from, to);
  const chosen = route().query.get('step');
  const step = tickStep(rest, 6 * room);
  /** @type {{at: number, x: number, label: string}[]} */
  const ticks = [];
  for (let busy = 0, at = from; ticks.length < 14; busy += step) {
    at = from + busy;
    for (const gap of gaps) if (at > gap.from) at += gap.to - gap.from;
    if (at >= to) break;
    ticks.push({ at, x: x(at), label: tickLabel(busy + gaps.filter((gap) => gap.to <= at).reduce((sum, gap) => sum + gap.to - gap.from, 0), step) });
  }
  const needed = innerWidth < 720 ? 0.24 : 0.09;
  const labelled = ticks.filter((tick, n) => {
    const limit = Math.min(ticks[n + 1]?.x ?? 1, ...gaps.map((gap) => x(gap.from)).filter((at) => at > tick.x + 0.001), 1);
    return limit - tick.x >= needed || n === 0;
  });
  const pc = (/** @type {number} */ value) => `${(value * 100).toFixed(3)}%`;
  const grid = svg`${gaps.map((gap) => svg`<rect class="gap" x=${pc(x(gap.from))} width=${pc(x(gap.to) - x(gap.from))} y="0" height="100%"></rect>`)}${ticks.map((tick) => svg`<line class="grid" x1=${pc(tick.x)} x2=${pc(tick.x)} y1="0" y2="100%"></line>`)}`;
  const draw = (/** @type {import('../../state/spans.js').Row} */ row) => {
    const total = row.bars.reduce((sum, bar) => sum + (bar.kind === 'queue' ? 0 : bar.to - bar.from), 0);
    return html`<div role="listitem" class="fall-row depth-${row.depth} ${row.step && row.step === chosen ? 'at' : ''}"><button class="fall-label" ?disabled=${!row.step} title="${t(`span_${KINDS[row.kind]}`)}: ${row.label}" @click=${() => select({ step: chosen === row.step ? undefined : row.step })}>
      ${row.depth ? html`<i class="dot dot-${row.kind === 'question' ? 'wait' : row.kind === 'turn' && row.state !== 'failed' ? 'accent' : tone(row.state)}"></i>` : mark(row.state)}<span class="cut">${plain(row.label)}</span></button>
      <svg class="fall-bars" aria-hidden="true" width="100%" height="100%">${grid}${row.bars.map((bar) => {
        const left = x(bar.from);
        const width = Math.max(0.0025, x(bar.to) - left);
        const thin = row.depth > 0;
        const kind = bar.kind === 'queue' ? 'bar-queue' : bar.kind === 'wait' ? 'bar-wait' : (row.kind === 'turn' || row.kind === 'plan') && row.state !== 'failed' ? 'bar-turn' : `bar-${tone(row.state)}`;
        return svg`<rect class=${kind} x=${pc(Math.min(left, 0.9975))} width=${pc(width)} y=${thin ? '34%' : '25%'} height=${thin ? '32%' : '50%'} rx="2"><title>${t(`span_${SPANS[bar.kind]}`)} ${duration(bar.to - bar.from)} · ${clock(bar.from)}</title></rect>`;
      })}</svg><span class="num muted fall-time">${total ? duration(total) : ''}</span></div>`;
  };
  return html`<div class="fall">
    <svg class="defs" width="0" height="0" aria-hidden="true"><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" class="hatch-ground"></rect><rect width="2" height="6" class="hatch-line"></rect></pattern><pattern id="dots" width="5" height="5" patternUnits="userSpaceOnUse"><rect width="5" height="5" class="dots-ground"></rect><circle cx="2.5" cy="2.5" r="1.1" class="dots-dot"></circle></pattern></defs></svg>
    <div class="fall-row fall-head"><span class="fall-label muted">${clock(from)}</span><svg class="fall-bars" width="100%" height="100%">${labelled.map((tick, n) => svg`<text x=${pc(tick.x)} dx=${n ? 3 : 0} y="70%">${tick.label}</text>`)}${gaps.map((gap) => svg`<rect class="gap" x=${pc(x(gap.from))} width=${pc(x(gap.to) - x(gap.from))} y="0" height="100%"><title>${t('gap', { time: duration(gap.to - gap.from) })}</title></rect>`)}</svg><span class="num muted fall-time"></span></div>
    ${virtual(`fall-${page.job}`, all, 28, draw, { label: t('tab_time') })}
    <div class="line wrap legend muted"><svg width="22" height="10" aria-hidden="true"><rect class="bar-queue" width="22" height="10" rx="2"></rect></svg>${t('span_queue')}<svg width="22" height="10" aria-hidden="true"><rect class="bar-done" width="22" height="10" rx="2"></rect></svg>${t('span_run')}<svg width="22" height="10" aria-hidden="true"><rect class="bar-turn" width="22" height="10" rx="2"></rect></svg>${t('span_turn')}<svg width="22" height="10" aria-hidden="true"><rect class="bar-wait" width="22" height="10" rx="2"></rect></svg>${t('span_waiting')}${gaps.length ? html`<span class="end">${t('gaps_folded', { n: gaps.length, time: duration(gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0)) })}</span>` : nothing}</div>
  </div>`;
}
