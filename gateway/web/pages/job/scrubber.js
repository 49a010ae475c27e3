// The scrubber: one tick per event; a past position has a border, its own actions, and a way back to the present.

import { html, nothing, svg } from '../../lit.js';
import { recordOf } from '../../state/fold.js';
import { select } from '../../router.js';
import { t } from '../../settings.js';
import { ago, clock, ms } from '../../format.js';
import { hasEnded } from '../../parts/mark.js';
import { icon } from '../../parts/ui.js';
import { eventWords } from './log.js';

const TONES = /** @type {Record<string, string>} */ ({ step: 'work', tool: 'idle', plan: 'accent', interaction: 'wait', error: 'fail', notice: 'attn', message: 'idle', usage: 'idle', turn: 'idle', node: 'accent', job: 'done' });

/** @param {import('../job.js').JobPage} page */
export function scrubber(page) {
  const { events, dropped } = page.stream.fold;
  if (events.length < 2) return nothing;
  const at = page.past ? page.past.events : events.length;
  const event = events[Math.max(0, at - 1)];
  const record = recordOf(event.id);
  const every = Math.max(1, Math.ceil(events.length / 600));
  if (page.memo.ticksOf !== events.length || page.memo.droppedOf !== dropped.size) {
    page.memo.ticksOf = events.length;
    page.memo.droppedOf = dropped.size;
    page.memo.ticks = events.map((e, n) => ({ e, n })).filter(({ e, n }) => n % every === 0 || ['error', 'interaction', 'plan'].includes(e.type)).map(({ e, n }) => {
      const x = `${(((n + 1) / events.length) * 100).toFixed(2)}%`;
      const tall = e.type === 'step' || e.type === 'plan' || e.type === 'interaction' || e.type === 'error';
      return svg`<line class="tick-${dropped.has(e.id) ? 'gone' : TONES[e.type] ?? 'idle'}" x1=${x} x2=${x} y1=${tall ? 2 : 6} y2="14"></line>`;
    });
  }
  const point = { at: record };
  return html`<section class="scrubber" aria-label=${t('scrubber')}>
    <div class="scrub-track"><svg aria-hidden="true" class="ticks" width="100%" height="16">${page.memo.ticks}</svg>
      <input type="range" min="1" max=${events.length} .value=${String(at)} aria-label=${t('scrubber')} aria-valuetext="#${record} ${clock(ms(event.time))} ${eventWords(event, page.stream.fold)}" @input=${(/** @type {any} */ e) => page.goTo(Number(e.target.value))}></div>
    ${page.past
      ? html`<div class="line wrap scrub-bar"><span class="num">#${record}</span><span class="muted num">${clock(ms(event.time))} · ${ago(ms(event.time))}</span><span class="cut grow scrub-words">${eventWords(event, page.past.fold ?? page.stream.fold)}</span>
          <span class="line wrap scrub-actions"><button class="small" @click=${() => page.act('roll_back', point)}>${icon('undo-2')}${t('act_roll_back')}</button>
          <button class="small" @click=${() => page.act('fork', point)}>${icon('git-fork')}${t('act_fork')}</button>
          ${hasEnded(page.stream.view?.state) ? nothing : html`<button class="small" @click=${() => page.act('snapshot', point)}>${icon('tag')}${t('act_snapshot')}</button>`}
          <button class="small" @click=${() => page.compare()}>${icon('history')}${t('act_compare')}</button>
          <button class="small primary" @click=${() => select({ at: undefined })}>${icon('radio')}${t('live')}</button></span></div>`
      : html`<div class="line scrub-bar"><span class="live-dot ${page.stream.ended ? 'off' : ''}"></span><span class="muted">${page.stream.ended ? t('ended_at', { time: clock(ms(event.time)) }) : t('live')}</span><span class="grow"></span><span class="muted num">${t('events_count', { n: events.length })}</span></div>`}
  </section>`;
}
