// What changed between a past position of a job and now: state, plan, steps, questions and tokens.

import { html } from '../../lit.js';
import { recordOf } from '../../state/fold.js';
import { t } from '../../settings.js';
import { short } from '../../format.js';
import { openDialog } from '../../parts/dialog.js';
import { mark } from '../../parts/mark.js';
import { plain } from '../../parts/ui.js';

/** @typedef {import('../../state/fold.js').Fold} Fold */
/** @typedef {{key: string, label: string, then: unknown, now: unknown}} Change */

/** @param {Fold} fold */
const spent = (fold) => fold.turns.reduce((sum, turn) => sum + (turn.tokens?.input_tokens ?? 0) + (turn.tokens?.output_tokens ?? 0), 0);
/** @param {string | undefined} state */
const stateWords = (state) => (state === undefined ? html`<span class="muted">–</span>` : html`${mark(state, true)} ${t(`state_${state}`)}`);

/** The differences of two folds of one job, the older one first. @param {Fold} then @param {Fold} now @returns {Change[]} */
export function changes(then, now) {
  /** @type {Change[]} */
  const out = [];
  if (then.state !== now.state) out.push({ key: 'state', label: t('job_id'), then: stateWords(then.state), now: stateWords(now.state) });
  const plans = [then, now].map((fold) => (fold.plan ? `${fold.plan.title} (${t('steps_count', { n: fold.plan.ids.length })})` : undefined));
  if (plans[0] !== plans[1]) out.push({ key: 'plan', label: t('compare_plan'), then: plain(plans[0] ?? '–'), now: plain(plans[1] ?? '–') });
  for (const id of new Set([...then.steps.keys(), ...now.steps.keys()])) {
    const [a, b] = [then.steps.get(id), now.steps.get(id)];
    if (a?.state !== b?.state || a?.attempt !== b?.attempt) out.push({ key: `step:${id}`, label: b?.title ?? a?.title ?? id, then: stateWords(a?.state), now: stateWords(b?.state) });
  }
  for (const [id, question] of now.questions) {
    const before = then.questions.get(id);
    if (!before || before.end !== question.end) out.push({ key: `question:${id}`, label: question.prompt, then: before ? t('open_question') : '–', now: question.end ? t(`inter_${question.end}`) : t('open_question') });
  }
  const tokens = [spent(then), spent(now)];
  if (tokens[0] !== tokens[1]) out.push({ key: 'tokens', label: t('tokens'), then: short(tokens[0]), now: short(tokens[1]) });
  return out;
}

/** @param {number} at @param {Fold} then @param {Fold} now */
export function openCompare(at, then, now) {
  const rows = changes(then, now);
  const records = new Set(now.events.map((e) => recordOf(e.id)).filter((record) => record > at)).size;
  openDialog({
    title: t('compare_title', { at }),
    wide: true,
    body: () => html`<p class="muted">${t('compare_records', { n: records })}</p>
      ${rows.length ? html`<div class="scroll" tabindex="0" role="group" aria-label=${t('act_compare')}><table class="table compare"><thead><tr><th><span class="sr">${t('kind')}</span></th><th>${t('compare_then')}</th><th>${t('compare_now')}</th></tr></thead><tbody>${rows.map((row) => html`<tr><th scope="row">${plain(row.label)}</th><td>${row.then}</td><td>${row.now}</td></tr>`)}</tbody></table></div>` : html`<p>${t('compare_same')}</p>`}`,
  });
}
