// The transcript: what people, models and tools said, with the text that a model writes at this moment.

import { html, nothing, repeat } from '../../lit.js';
import { emit } from '../../state/bus.js';
import { stateOf } from '../../state/fold.js';
import { select } from '../../router.js';
import { t } from '../../settings.js';
import { clock, duration } from '../../format.js';
import { mark } from '../../parts/mark.js';
import { markdown } from '../../parts/markdown.js';
import { answerWords } from '../../parts/question.js';
import { empty, icon, plain } from '../../parts/ui.js';

const MOST = 300;

/** @param {import('../job.js').JobPage} page @param {any} fold */
export function saidTab(page, fold) {
  const live = page.past ? [] : [...page.stream.live.texts.values()];
  const lines = fold.lines;
  if (!lines.length) return empty(t('nothing_said'), '');
  const from = page.memo.allLines ? 0 : Math.max(0, lines.length - MOST);
  return html`<div class="said">
    ${from ? html`<button class="ghost" @click=${() => { page.memo.allLines = true; emit(); }}>${t('show_earlier', { n: from })}</button>` : nothing}
    ${transcript(lines.slice(from), (id) => select({ step: id }))}
    ${liveTexts(live, fold)}
    <p class="sr" role="log" aria-live="polite">${page.announcer.say(live, Date.now())}</p>
    ${live.length ? html`<button class="to-live small" @click=${() => document.querySelector('.live-end')?.scrollIntoView({ block: 'end', behavior: 'smooth' })}>${icon('chevron-down')}${t('to_live')}</button><span class="live-end"></span>` : nothing}
  </div>`;
}

/** @param {any[]} lines @param {(step: string) => void} open @param {boolean} [brief] */
export const transcript = (lines, open, brief = false) => repeat(lines, (/** @type {any} */ line) => line.key, (/** @type {any} */ line) => sayLine(line, open, brief));

/** @param {any[]} live @param {any} fold */
export const liveTexts = (live, fold) => repeat(live, (/** @type {any} */ text) => text.work, (/** @type {any} */ text) => html`<article class="say writing" aria-label=${t('writes_now')}><div class="say-head muted"><span class="live-dot"></span>${plain(fold.steps.get(text.step)?.title ?? t(text.step ? 'model' : 'planner'))}</div>
  ${text.thought ? html`<details class="thought" ?open=${!text.text}><summary class="muted">${t('thinks')}</summary><p class="thought-text">${plain(text.thought)}</p></details>` : nothing}
  ${text.text ? (text.step ? markdown(text.text) : html`<pre class="block plan-writing">${plain(text.text)}</pre>`) : nothing}
  ${text.tool ? html`<pre class="block">${plain(text.tool)}</pre>` : nothing}<span class="caret"></span></article>`);

/** @param {any} line @param {(step: string) => void} open @param {boolean} brief */
function sayLine(line, open, brief) {
  const time = html`<time class="say-time muted num" title=${line.id}>${clock(line.at)}</time>`;
  switch (line.kind) {
    case 'goal':
      return brief ? nothing : html`<article class="say person">${time}<div class="bubble" dir="auto">${plain(line.text)}</div></article>`;
    case 'plan':
      return html`<article class="say event">${time}<span class="plan-badge">${t('plan_badge')}</span><span>${plain(line.title)} · <span class="muted">${t('steps_count', { n: line.count })}</span></span></article>`;
    case 'step':
      return html`<article class="say step-head">${time}<button class="link" @click=${() => open(line.step)}>${mark('ready', true)}${plain(line.title)}</button>${line.again ? html`<span class="chip warn">${t('again')}</span>` : nothing}</article>`;
    case 'stepped':
      return html`<article class="say stepped">${time}<div><button class="link" @click=${() => open(line.step)}>${mark(line.unsuccessful ? 'unsuccessful' : line.phase)}${plain(line.title)}</button>${line.text ? html`<div class="step-result">${markdown(String(line.text).slice(0, 4000))}</div>` : nothing}</div></article>`;
    case 'call': {
      const { call } = line;
      const state = stateOf(call);
      return html`<article class="say event">${time}<button class="chip tool-chip" @click=${() => call.step && open(call.step)}>${mark(state)}<code>${plain(call.tool)}</code><span class="cut">${plain(call.error ?? call.message ?? (call.args ? JSON.stringify(call.args).slice(0, 120) : ''))}</span>${call.duration === undefined ? nothing : html`<span class="num muted">${duration(call.duration)}</span>`}</button></article>`;
    }
    case 'thought':
      return html`<article class="say">${time}<div class="grow">${markdown(line.text)}</div></article>`;
    case 'summary':
      return html`<article class="say event">${time}<details><summary class="muted">${t('summarised')}</summary>${markdown(line.text)}</details></article>`;
    case 'result':
      return nothing;
    case 'answer':
      return html`<article class="say answer">${time}<div class="grow">${markdown(line.text)}</div></article>`;
    case 'question': {
      const q = line.question;
      return html`<article class="say asked">${time}<div class="grow"><p>${mark(q.ended ? 'completed' : 'waiting')}${plain(q.prompt)}</p>${q.ended ? html`<p class="reply"><strong>${q.by ?? (q.end === 'answered' ? t('somebody') : '')}</strong> ${plain(answerWords(q))}</p>` : html`<p class="text-wait">${t('open_question')}</p>`}</div></article>`;
    }
    case 'told':
      return html`<article class="say person">${time}<div class="bubble" dir="auto">${plain(line.text)}<span class="muted"> — ${line.by ?? t('somebody')}</span></div></article>`;
    case 'signal':
      return html`<article class="say event">${time}<span class="muted">${t('signaled', { who: line.by ?? t('somebody'), signal: t(`act_${line.signal}`) })}${line.to ? ` #${line.to}` : ''}${line.text ? `: ${line.text}` : ''}</span></article>`;
    case 'error':
      return html`<article class="say event">${time}<span class="failed-text">${icon('triangle-alert')} ${plain(line.text)}</span></article>`;
    case 'notice':
      return html`<article class="say event">${time}<span class="warn-text">${icon('triangle-alert')} ${plain(line.text)}</span></article>`;
    case 'end':
      return html`<article class="say event end-line">${time}${mark(line.state, true)}<strong>${t(`state_${line.state}`)}</strong>${line.text ? html`<span class="muted">${plain(line.text)}</span>` : nothing}</article>`;
  }
  return nothing;
}
