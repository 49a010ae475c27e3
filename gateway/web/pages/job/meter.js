// What the job has spent, its limit, its rate, and when the limit is reached.

import { html, nothing } from '../../lit.js';
import { hasEnded } from '../../parts/mark.js';
import { cost } from '../../parts/cost.js';
import { amount, duration } from '../../format.js';
import { meter, samples, spentOf } from '../../state/meter.js';
import { t } from '../../settings.js';

/** A time that is only estimated, in its largest unit. @param {number} ms */
const about = (ms) => duration(ms < 60_000 ? Math.max(1000, Math.round(ms / 1000) * 1000) : ms).split(' ').slice(0, 2).join(' ');

/** @param {import('../job.js').JobPage} page @param {any} view @param {any} fold */
export function meterView(page, view, fold) {
  const { memo } = page;
  const key = `${fold.events.length} ${fold.dropped.size} ${page.past?.at ?? ''}`;
  if (memo.samplesOf !== key) {
    memo.samplesOf = key;
    memo.samples = samples(fold);
  }
  const runs = !page.past && !hasEnded(view.state) && ['planning', 'executing', 'replanning'].includes(view.sub_status);
  const { unit, used, limit, rate, left } = meter(view, memo.samples, fold.created, Date.now(), runs);
  const axis = unit === 'money' ? 'money' : 'tokens';
  const share = limit ? Math.min(1, (used ?? 0) / limit) : 0;
  const tone = share >= 1 ? 'fail' : share > 0.8 || (left !== undefined && left < 60_000) ? 'wait' : 'work';
  const notes = [rate ? t('meter_rate', { amount: amount(axis, rate) }) : '', left === 0 ? t('meter_reached') : left !== undefined && left < 86_400_000 ? t('meter_left', { time: about(left) }) : ''].filter(Boolean);
  return html`<div class="meter"><dt>${t('cost')}</dt><dd class="num">${cost(spentOf(view))}${limit === undefined ? nothing : unit === 'money' ? html`<span class="muted"> / ${amount('money', limit)}</span>` : html`<span class="muted"> · ${t('meter_tokens', { used: amount('tokens', used ?? 0), limit: amount('tokens', limit) })}</span>`}
    ${notes.length ? html`<span class=${left === 0 ? 'failed-text' : 'muted'}>· ${notes.join(' · ')}</span>` : nothing}
    ${limit === undefined ? nothing : html`<svg class="meter-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="4" rx="2"></rect><rect class="fill-${tone}" width=${(share * 100).toFixed(1)} height="4" rx="2"></rect></svg>`}</dd></div>`;
}
