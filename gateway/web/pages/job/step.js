// The panel of a step: what it does, its arguments, result, tries and turns.

import { html, nothing } from '../../lit.js';
import { stateOf } from '../../state/fold.js';
import { select } from '../../router.js';
import { t } from '../../settings.js';
import { amount, clock, duration, json, short } from '../../format.js';
import { badge, mark } from '../../parts/mark.js';
import { markdown } from '../../parts/markdown.js';
import { copyButton, icon, plain } from '../../parts/ui.js';
import { attachments } from './files.js';
import { stepsOf } from './plan.js';

/** @param {import('../job.js').JobPage} page @param {any} view @param {any} fold @param {string} id */
export function stepPanel(page, view, fold, id) {
  const steps = stepsOf(view, fold);
  const step = steps.find((/** @type {any} */ s) => s.id === id) ?? fold.steps.get(id);
  const close = html`<button class="ghost small" aria-label=${t('close')} @click=${() => select({ step: undefined })}>${icon('x')}</button>`;
  if (!step) return html`<aside class="panel"><header class="line"><h2 class="grow">${id}</h2>${close}</header><p class="muted">${t('no_step')}</p></aside>`;
  const known = fold.steps.get(id);
  const now = page.past ? fold.updated : Date.now();
  const spans = known?.spans ?? [];
  const sum = (/** @type {string} */ kind) => spans.filter((/** @type {any} */ s) => s.kind === kind).reduce((/** @type {number} */ n, /** @type {any} */ s) => n + ((s.to ?? now) - s.from), 0);
  const live = [...page.stream.live.texts.values()].filter((text) => text.step === id && (text.text || text.thought));
  const questions = [...fold.questions.values()].filter((q) => q.step === id);
  const titles = new Map(steps.map((/** @type {any} */ s) => [s.id, s.title || s.description]));
  return html`<aside class="panel" aria-label=${t('step')}>
    <header class="line top"><h2 class="grow">${plain(step.title || step.description)}</h2>${close}</header>
    <div class="line wrap">${badge(step.shown ?? step.state)}${step.tool ? html`<a class="chip" href="/tools?name=${step.tool}"><code>${step.tool}</code></a>` : html`<span class="chip">${t('agent_step')}</span>`}${(step.tries ?? 0) > 1 ? html`<span class="chip warn">${t('tries', { n: step.tries })}</span>` : nothing}</div>
    ${step.description && step.description !== step.title ? html`<p class="muted">${plain(step.description)}</p>` : nothing}
    <dl class="pairs">
      ${step.from ? html`<dt>${t('started')}</dt><dd class="num">${clock(step.from)}</dd>` : nothing}
      ${sum('run') || step.from ? html`<dt>${t('ran')}</dt><dd class="num">${duration(sum('run'))}</dd>` : nothing}
      ${sum('queue') > 50 ? html`<dt>${t('queued')}</dt><dd class="num">${duration(sum('queue'))}</dd>` : nothing}
      ${sum('wait') ? html`<dt>${t('waited')}</dt><dd class="num">${duration(sum('wait'))}</dd>` : nothing}
      ${step.turns && typeof step.turns === 'number' ? html`<dt>${t('turns')}</dt><dd class="num">${step.turns}</dd>` : nothing}
      ${step.depends_on?.length ? html`<dt>${t('needs')}</dt><dd>${step.depends_on.map((/** @type {string} */ other) => html`<button class="link" @click=${() => select({ step: other })}>${plain(String(titles.get(other) ?? other))}</button>`)}</dd>` : nothing}
      <dt>${t('step_id')}</dt><dd class="mono">${step.id}</dd>
    </dl>
    ${step.notices?.length ? step.notices.map((/** @type {any} */ notice) => html`<p class="warn-line">${icon('triangle-alert')} ${plain(noticeWords(notice))}</p>`) : nothing}
    ${step.response ? html`<section><div class="line"><h3 class="grow">${t(step.state === 'failed' || step.state === 'blocked' ? 'error' : 'result')}</h3>${copyButton(String(step.response))}</div><div class="${step.state === 'failed' || step.state === 'blocked' ? 'failed-text' : ''}">${markdown(String(step.response))}</div></section>` : nothing}
    ${step.attachments?.length ? html`<section><h3>${t('files')}</h3>${attachments(page.job, view, step.attachments)}</section>` : nothing}
    ${known?.calls.length ? html`<section><h3>${t('calls')}</h3>${known.calls.map((/** @type {any} */ call, /** @type {number} */ n) => callView(call, now, known.calls.length < 3 || n === known.calls.length - 1))}</section>` : nothing}
    ${questions.length ? html`<section><h3>${t('questions')}</h3>${questions.map((q) => html`<p>${plain(q.prompt)}</p><p class="muted">${q.end === 'answered' ? html`${q.by ?? t('somebody')}: ${plain(typeof q.value === 'string' ? q.value : q.value === undefined ? t(`decision_${q.decision}`) : JSON.stringify(q.value))}` : q.end ? t(`closed_${q.because}`) : t('open_question')}</p>`)}</section>` : nothing}
    ${known?.turns.length ? html`<section><h3>${t('turns')}</h3><table class="small-table"><tbody>${numbered(known.turns).map(([n, turn]) => html`<tr><td>${mark(stateOf(turn))} ${turn.failed ? t('row_try', { n: turn.attempt }) : t('row_turn', { n })}</td><td class="num">${duration((turn.to ?? now) - turn.from)}</td><td class="num muted">${short(turn.tokens?.input_tokens ?? 0)} → ${short(turn.tokens?.output_tokens ?? 0)}</td></tr>`)}</tbody></table></section>` : nothing}
    ${live.map((text) => html`<section><h3>${t('writes_now')}</h3><div class="live-text">${markdown(text.text || text.thought)}</div></section>`)}
    ${known?.errors.length ? html`<section><h3>${t('errors')}</h3>${known.errors.map((/** @type {any} */ e) => html`<p><span class="muted num">${clock(e.at)}</span> ${plain(e.message)}</p>`)}</section>` : nothing}
    ${page.past || !known?.started ? nothing : html`<footer class="line"><button @click=${() => page.act('restart', { step: id })}>${icon('history')}${t('act_restart')}</button></footer>`}
  </aside>`;
}

/** A warning of the machine in words. @param {any} notice */
const noticeWords = (notice) => t(`notice_${notice.type}`, notice.axis ? { used: amount(notice.axis, notice.used), limit: amount(notice.axis, notice.limit), axis: t(`axis_${notice.axis}`) } : notice);

/** Model calls with the numbers of their turns, which attempts share. @param {import('../../state/fold.js').Turn[]} turns @returns {[number, import('../../state/fold.js').Turn][]} */
function numbered(turns) {
  const works = [...new Set(turns.map((turn) => turn.work))];
  return turns.map((turn) => [works.indexOf(turn.work) + 1, turn]);
}

/** @param {any} call @param {number} now @param {boolean} open */
export function callView(call, now, open) {
  const state = stateOf(call);
  return html`<details class="call" ?open=${open}><summary class="line">${mark(state)}<code class="tool-name">${plain(call.tool)}</code><span class="cut grow muted">${plain(call.error ?? call.message ?? '')}</span><span class="num muted">${duration(call.duration ?? (call.to ?? now) - call.from)}</span></summary>
    ${call.tries.map((/** @type {any} */ failed) => html`<p class="failed-text">${t('row_try', { n: failed.attempt })}: ${plain(failed.error)}</p>`)}
    ${call.remembered ? html`<p class="muted">${t('by_remembered', { ask: call.remembered })}</p>` : nothing}
    ${call.args === undefined ? nothing : html`<div class="line"><h4 class="grow">${t('arguments')}</h4>${copyButton(json(call.args))}</div><pre class="block" tabindex="0">${plain(json(call.args))}</pre>`}
    ${call.result === undefined ? nothing : html`<div class="line"><h4 class="grow">${t('result')}</h4>${copyButton(json(call.result))}</div><pre class="block" tabindex="0">${plain(json(call.result))}</pre>`}
    ${call.error ? html`<p class="failed-text">${plain(call.error)}${call.fault ? html` <code>${call.fault}</code>` : nothing}</p>` : nothing}</details>`;
}
