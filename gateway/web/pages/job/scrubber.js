// The scrubber: the ticks of the events; a past position has a border, its own actions, and a way back to the present.

import { html, nothing, svg } from '../../lit.js';
import { recordOf } from '../../state/fold.js';
import { select } from '../../router.js';
import { t } from '../../settings.js';
import { ago, clock, ms } from '../../format.js';
import { hasEnded } from '../../parts/mark.js';
import { icon } from '../../parts/ui.js';
import { eventWords } from './log.js';
import { HEIGHT, PLACES, ticksOf } from './ticks.js';

/** @param {import('../job.js').JobPage} page */
export function scrubber(page) {
  const { events, dropped } = page.stream.fold;
  if (events.length < 2) return nothing;
  const at = page.past ? page.past.events : events.length;
  const event = events[Math.max(0, at - 1)];
  const record = recordOf(event.id);
  if (page.memo.ticksOf !== events.length || page.memo.droppedOf !== dropped.size) {
    page.memo.ticksOf = events.length;
    page.memo.droppedOf = dropped.size;
    page.memo.ticks = ticksOf(events, dropped).map(({ tone, d }) => svg`<path class="tick-${tone}" d=${d}></path>`);
  }
  const point = { at: record };
  return html`<section class="scrubber" aria-label=${t('scrubber')}>
    <div class="scrub-track"><svg aria-hidden="true" class="ticks" viewBox="0 0 ${PLACES} ${HEIGHT}" preserveAspectRatio="none" height=${HEIGHT}>${page.memo.ticks}</svg>
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
