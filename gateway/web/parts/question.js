// A question to a person: its card, its form, its answer. One draft for each question, wherever it is shown.

import { html, nothing } from '../lit.js';
import { api, getText } from '../api.js';
import { emit } from '../state/bus.js';
import { stale } from '../state/cache.js';
import { may } from '../state/rights.js';
import { settings, t } from '../settings.js';
import { byteLength, duration, ms, size } from '../format.js';
import { parse } from '../exact.js';
import { compact, indent, rawAt } from '../rawjson.js';
import { copyAs } from './copyas.js';
import { openDialog } from './dialog.js';
import { literal, option } from './orders.js';
import { planList } from './plancard.js';
import { markdown } from './markdown.js';
import { read, schemaForm, startValues } from './schemaform.js';
import { denied, errorBox, growing, icon, plain, toast, when } from './ui.js';

/** @typedef {{text: string, chosen: any[], values: Record<string, any>, mistakes: Record<string, string>, edit?: string, busy: boolean, remember?: boolean, problem?: any, sent?: string, raw?: string, rawProblem?: any, winner?: any}} Draft */
/** @type {Map<string, Draft>} */
const drafts = new Map();
/** @param {string} job @param {any} q @returns {Draft} */
export function draftOf(job, q) {
  const key = `${job}/${q.id}/${q.digest ?? ''}`;
  let draft = drafts.get(key);
  if (!draft) {
    const fields = formFields(q);
    draft = { text: '', chosen: [], values: startValues(fields), mistakes: {}, busy: false };
    drafts.set(key, draft);
  }
  return draft;
}
/** @param {any} q */
const formFields = (q) => (q.kind === 'form' ? q.fields ?? [] : []);

/**
 * @param {string} job @param {any} q @param {any} body @param {() => void} [done]
 */
export async function sendAnswer(job, q, body, done) {
  const draft = draftOf(job, q);
  if (draft.busy || !may('answer')) return;
  draft.busy = true;
  draft.problem = undefined;
  emit();
  try {
    await api.answer(job, q.id, { ...body, ...(settings.name ? { by: settings.name } : {}) });
    draft.sent = body.decision ?? 'respond';
    toast(q.kind === 'plan_check' && body.decision === 'approve' ? t('plan_runs') : t('answered_toast'));
    stale('inbox');
    done?.();
  } catch (problem) {
    draft.problem = problem;
    const winner = /** @type {any} */ (problem).winner;
    if (winner) {
      draft.winner = winner;
      stale('inbox');
    }
    if (q.kind === 'plan_check' && !winner && /** @type {any} */ (problem).code === 'unavailable') toast(t('try_later'), 'fail');
  } finally {
    draft.busy = false;
    emit();
  }
}

/** The body of an answer with what the draft holds, or nothing if it is not complete. @param {string} job @param {any} q */
export function answerOf(job, q) {
  const draft = draftOf(job, q);
  switch (q.kind) {
    case 'plan_check':
      if (draft.edit !== undefined) {
        try {
          return { decision: 'edit', value: parse(draft.edit, true), digest: q.digest };
        } catch (error) {
          draft.problem = { code: 'invalid_answer', message: `${t('must_json')} ${/** @type {Error} */ (error).message}` };
          emit();
          return undefined;
        }
      }
      return draft.text.trim() ? { decision: 'respond', text: draft.text } : { decision: 'approve', digest: q.digest };
    case 'tool_approval':
      return approval(q, draft);
    case 'question':
      return draft.text.trim() ? { value: draft.text } : undefined;
    case 'choice':
      return draft.chosen.length ? { value: q.multiple ? draft.chosen : draft.chosen[0] } : undefined;
    case 'form': {
      const { value, mistakes } = read(formFields(q), draft.values);
      draft.mistakes = mistakes;
      emit();
      return Object.keys(mistakes).length ? undefined : { value };
    }
  }
  try {
    return { value: parse(draft.text, true) };
  } catch {
    return undefined;
  }
}
/** The approval of a call, remembered for its job if the box is ticked. @param {any} q @param {Draft} draft */
export const approval = (q, draft) => ({ decision: 'approve', digest: q.digest, ...(draft.remember ? { remember: 'job' } : {}) });
/** The rejection of a plan, of a call, or of the wish for an answer. @param {any} q @param {string} reason */
export const rejection = (q, reason) => ({ decision: 'reject', ...(q.kind === 'plan_check' ? { digest: q.digest } : {}), ...(reason.trim() ? { text: reason } : {}) });
/** Opens the dialog of a rejection. @param {string} job @param {any} q @param {() => void} [done] */
export function openReject(job, q, done) {
  const draft = draftOf(job, q);
  if (draft.busy || draft.sent !== undefined || draft.winner || !may('answer')) return;
  const [title, sentence] = { plan_check: ['reject_plan', 'say_reject_plan'], tool_approval: ['reject_call', 'say_reject_call'] }[/** @type {string} */ (q.kind)] ?? ['decline', 'say_decline'];
  let reason = q.kind === 'tool_approval' ? draft.text : '';
  openDialog({
    title: t(title),
    confirm: t(title),
    danger: true,
    body: () => html`<p class="consequence">${t(sentence, { tool: q.tool ?? '' })}</p>
      <label class="field"><span>${t('reason_optional')}</span><input .value=${reason} maxlength="16000" @input=${(/** @type {any} */ e) => { reason = e.target.value; emit(); }}></label>
      ${copyAs(answerRequest(job, q, rejection(q, reason), settings.name))}`,
    run: async () => {
      await sendAnswer(job, q, rejection(q, reason), done);
      const { problem } = draft;
      if (!problem || draft.winner) return;
      draft.problem = undefined;
      throw problem;
    },
  });
}
/** @param {string} job @param {any} q @param {() => void} [done] */
export function submitAnswer(job, q, done) {
  const body = answerOf(job, q);
  if (body) sendAnswer(job, q, body, done);
}
/** Opens the editor of a plan, or closes it. @param {string} job @param {any} q */
export async function editPlan(job, q) {
  const draft = draftOf(job, q);
  draft.problem = undefined;
  if (draft.edit !== undefined) draft.edit = undefined;
  else {
    // Without the reply as text, numbers may be spelled otherwise.
    const raw = await rawOf(job, q, 'plan').catch(() => undefined);
    draft.edit = JSON.stringify(editable(raw ? parse(raw, true) : q.plan), null, 2);
  }
  emit();
}
/** The plan in the form in which planners write it. @param {any} plan */
const editable = (plan) => ({ title: plan.title, steps: plan.steps.map((/** @type {any} */ s) => ({ id: s.id, title: s.title, description: s.description, ...(s.tool ? { tool: s.tool, args: s.args } : {}), ...(s.depends_on?.length ? { depends_on: s.depends_on } : {}) })) });

/** A field of an open question as it was sent: no number is rounded. @param {string} job @param {any} q @param {string} field @returns {Promise<string | undefined>} nothing if the question is no longer open */
async function rawOf(job, q, field) {
  const text = await getText(`jobs/${encodeURIComponent(job)}`);
  const index = (JSON.parse(text).questions ?? []).findIndex((/** @type {any} */ each) => each.id === q.id && each.digest === q.digest);
  return index < 0 ? undefined : compact(rawAt(text, ['questions', index, field]) ?? 'null');
}

/** Reads the exact bytes of a call. @param {string} job @param {any} q @param {Draft} draft */
function loadRaw(job, q, draft) {
  if (draft.raw !== undefined || draft.rawProblem) return;
  draft.raw = '';
  rawOf(job, q, 'args').then(
    (raw) => {
      draft.raw = raw;
      if (raw === undefined) draft.rawProblem = { code: 'stale', message: t('question_gone') };
    },
    (problem) => {
      draft.raw = undefined;
      draft.rawProblem = problem;
    },
  ).finally(emit);
}

/** @param {any} winner @param {any} [at] */
const settled = (winner, at) => html`<div class="settled">${icon('check')}<div><p>${t('answered_by', { who: winner.by ?? t('somebody') })}${at ? html` · ${when(at)}` : nothing}</p><p class="muted">${plain(answerWords(winner))}</p></div></div>`;
/** An answer in words. @param {any} a */
export function answerWords(a) {
  const value = a.chosen ?? a.value;
  const said = a.text ?? (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));
  const verdict = a.decision && a.decision !== 'respond' ? t(`decision_${a.decision}`) : '';
  return [verdict, said].filter(Boolean).join(': ') || (a.because ? t(`closed_${a.because}`) : t('decision_respond'));
}

/**
 * @param {string} job @param {any} q @param {{done?: () => void, keys?: boolean, heading?: boolean}} [how]
 */
export function questionCard(job, q, how = {}) {
  const draft = draftOf(job, q);
  const off = draft.busy || draft.sent !== undefined || !may('answer');
  const send = (/** @type {any} */ body) => sendAnswer(job, q, body, how.done);
  const key = (/** @type {string} */ name) => (how.keys ? html`<kbd>${name}</kbd>` : nothing);
  const until = q.deadline ?? q.expires ?? q.until;
  if (draft.winner) return html`<section class="question">${settled(draft.winner, draft.winner.at ?? draft.winner.time)}</section>`;

  const note = html`<label class="field"><span class="sr">${q.kind === 'plan_check' ? t('plan_change') : t('answer')}</span>
    <textarea rows=${q.kind === 'question' ? 3 : 1} ?disabled=${off} .value=${draft.text} ${growing} maxlength="16000" data-answer
      placeholder=${q.kind === 'plan_check' ? t('plan_change') : q.kind === 'tool_approval' ? t('reject_reason') : t('your_answer')}
      @input=${(/** @type {any} */ e) => { draft.text = e.target.value; emit(); }}></textarea></label>`;
  const foot = (/** @type {unknown} */ buttons) => html`${errorBox(draft.problem)}<div class="line wrap question-foot">${buttons}<span class="grow"></span>${may('link') ? html`<button class="ghost small" ?disabled=${draft.sent !== undefined} @click=${() => import('./answerlink.js').then(({ openLink }) => openLink(job, q))}>${icon('external-link')}${t('answer_link')}</button>` : nothing}${copyAnswer(job, q, draft)}</div>`;
  const decline = html`<button ?disabled=${off} @click=${() => openReject(job, q, how.done)}>${t('decline')} ${key('r')}</button>`;

  let body;
  if (q.kind === 'plan_check') {
    body = html`<div class="line"><span class="plan-badge">${t('plan_badge')}</span><span class="muted num">${t('steps_count', { n: q.plan.steps.length })}</span>${q.revision ? html`<span class="muted">${t('revision', { n: q.revision })}</span>` : nothing}</div>
      <p class="plan-title">${plain(q.plan.title)}</p>
      ${q.finished?.length ? html`<p class="muted">${t('finished_before')}: ${q.finished.map((/** @type {any} */ s) => s.label).join(', ')}</p>` : nothing}
      ${draft.edit === undefined
        ? html`${planList(q.plan.steps)}${note}`
        : html`<label class="field"><span>${t('edit_plan_about')}</span><textarea class="mono code-edit" rows="16" spellcheck="false" ?disabled=${off} .value=${draft.edit} @input=${(/** @type {any} */ e) => { draft.edit = e.target.value; emit(); }}></textarea></label>`}
      ${foot(html`
        ${draft.edit !== undefined
          ? html`<button class="primary" ?disabled=${off} @click=${() => submitAnswer(job, q, how.done)}>${t('send_edit')} ${key('Ctrl ↵')}</button>`
          : draft.text.trim()
            ? html`<button class="primary" ?disabled=${off} @click=${() => submitAnswer(job, q, how.done)}>${t('send_change')} ${key('Ctrl ↵')}</button>`
            : html`<button class="primary" ?disabled=${off} @click=${() => send({ decision: 'approve', digest: q.digest })}>${draft.busy ? t('sending') : t('plan_confirm')} ${key('a')}</button>`}
        <button ?disabled=${off} @click=${() => openReject(job, q, how.done)}>${t('plan_cancel')} ${key('r')}</button>
        <button class="ghost" ?disabled=${off} @click=${() => editPlan(job, q)}>${draft.edit === undefined ? t('edit_plan') : t('edit_back')} ${key('e')}</button>`)}`;
  } else if (q.kind === 'tool_approval') {
    loadRaw(job, q, draft);
    const raw = draft.raw;
    body = html`${draft.rawProblem ? errorBox(draft.rawProblem) : nothing}
      <div class="approval"><div class="line wrap"><code class="tool-name">${plain(q.tool)}</code><span class="muted">${t('version', { version: q.version })}</span><span class="grow"></span><span class="muted num">${raw ? size(byteLength(raw)) : ''}</span></div>
      <pre class="block exact" tabindex="0" aria-label=${t('exact_args')}>${raw ? plain(indent(raw)) : t('loading')}</pre>
      <dl class="pairs"><dt>SHA-256</dt><dd class="mono break">${q.digest}</dd></dl></div>
      <p class="consequence">${t('say_approve', { tool: q.tool, bytes: raw ? size(byteLength(raw)) : '…' })}</p>
      ${q.asked_by?.length ? html`<label class="option"><input type="checkbox" data-remember ?disabled=${off} .checked=${!!draft.remember} @change=${(/** @type {any} */ e) => { draft.remember = e.target.checked; emit(); }}><span class="grow">${t('remember_call', { tool: q.tool })}</span></label>` : nothing}${note}
      ${foot(html`<button class="primary" ?disabled=${off || !raw} @click=${() => send(approval(q, draft))}>${draft.busy ? t('sending') : t('approve')} ${key('a')}</button>
        <button ?disabled=${off} @click=${() => openReject(job, q, how.done)}>${t('reject')} ${key('r')}</button>`)}`;
  } else if (q.kind === 'choice') {
    const chosen = new Set(draft.chosen);
    body = html`<div class="options" role=${q.multiple ? 'group' : 'radiogroup'} aria-label=${q.prompt}>${q.options.map((/** @type {any} */ o, /** @type {number} */ n) => html`<label class="option"><input type=${q.multiple ? 'checkbox' : 'radio'} name="choice-${job}-${q.id}" ?disabled=${off} .checked=${chosen.has(o.value)} @change=${(/** @type {any} */ e) => { if (!q.multiple) draft.chosen = [o.value]; else { e.target.checked ? chosen.add(o.value) : chosen.delete(o.value); draft.chosen = q.options.map((/** @type {any} */ x) => x.value).filter((/** @type {any} */ x) => chosen.has(x)); } emit(); }}><span class="grow">${plain(o.label ?? o.value)}</span>${n < 9 ? key(String(n + 1)) : nothing}</label>`)}</div>
      ${foot(html`<button class="primary" ?disabled=${off || !draft.chosen.length} @click=${() => submitAnswer(job, q, how.done)}>${draft.busy ? t('sending') : t('send')} ${key('Ctrl ↵')}</button>${decline}`)}`;
  } else if (q.kind === 'form') {
    body = html`<div class="stack">${schemaForm(`${job}-${q.id}`, formFields(q), draft.values, draft.mistakes, off)}</div>
      ${foot(html`<button class="primary" ?disabled=${off} @click=${() => submitAnswer(job, q, how.done)}>${draft.busy ? t('sending') : t('send')} ${key('Ctrl ↵')}</button>${decline}`)}`;
  } else if (q.kind === 'question') {
    body = html`${note}${foot(html`<button class="primary" ?disabled=${off || !draft.text.trim()} @click=${() => submitAnswer(job, q, how.done)}>${draft.busy ? t('sending') : t('send')} ${key('Ctrl ↵')}</button>${decline}`)}`;
  } else {
    body = html`<p class="muted">${t('unknown_question')}</p><pre class="block">${JSON.stringify(q, null, 2)}</pre>
      <label class="field"><span>JSON</span><textarea class="mono" rows="6" ?disabled=${off} .value=${draft.text} @input=${(/** @type {any} */ e) => { draft.text = e.target.value; emit(); }}></textarea></label>
      ${foot(html`<button class="primary" ?disabled=${off} @click=${() => submitAnswer(job, q, how.done)}>${t('send')}</button>${decline}`)}`;
  }
  return html`<section class="question tone-${q.kind}" id="q-${q.id}" aria-label=${q.prompt}>
    ${q.kind === 'plan_check' ? nothing : html`<div class="question-prompt">${markdown(q.prompt)}</div>`}
    ${until ? html`<p class="muted">${t('expires_in', { time: duration(ms(until) - Date.now()) })}</p>` : nothing}
    ${body}${denied('answer')}
    ${draft.sent !== undefined ? html`<p class="muted">${t('answer_sent')}</p>` : nothing}
  </section>`;
}

/** The body that the main button would send. @param {any} q @param {Draft} draft @returns {any} nothing while an edited plan is no JSON */
function bodyNow(q, draft) {
  if (q.kind === 'plan_check' && draft.edit !== undefined) {
    try {
      return { decision: 'edit', value: parse(draft.edit, true), digest: q.digest };
    } catch {
      return undefined;
    }
  }
  if (q.kind === 'tool_approval') return approval(q, draft);
  if (q.kind === 'plan_check') return draft.text.trim() ? { decision: 'respond', text: draft.text } : { decision: 'approve', digest: q.digest };
  if (q.kind === 'question') return { value: draft.text };
  if (q.kind === 'choice') return { value: q.multiple ? draft.chosen : draft.chosen[0] ?? '' };
  return { value: q.kind === 'form' ? read(formFields(q), draft.values).value : draft.text };
}

/** An answer as a request. @param {string} job @param {any} q @param {any} body @param {string} [by] @param {string} [edit] the edited plan as it was written @returns {import('./copyas.js').Request} */
export function answerRequest(job, q, body, by, edit) {
  const whole = { ...body, ...(by ? { by } : {}) };
  const { decision, text, digest, value } = body;
  const cli = decision === 'edit' ? ['inbox', 'answer', job, q.id, '--plan', '-'] : decision === 'reject' ? ['inbox', 'reject', job, q.id, ...(text ? option('--text', literal(text)) : [])] : decision === 'respond' ? ['inbox', 'answer', job, q.id, ...option('--text', literal(text))] : decision === 'approve' ? ['inbox', 'approve', job, q.id, '--digest', digest, ...(body.remember ? ['--remember'] : [])] : ['inbox', 'answer', job, q.id, ...option('--value', JSON.stringify(value))];
  return { cli, by, ...(decision === 'edit' ? { input: edit } : {}), verb: 'answer', nats: { job, ask: q.id, ...whole }, method: 'POST', path: `jobs/${job}/questions/${q.id}/answers`, body: whole };
}
/** @param {string} job @param {any} q @param {Draft} draft */
function copyAnswer(job, q, draft) {
  const body = bodyNow(q, draft);
  return body ? copyAs(answerRequest(job, q, body, settings.name, draft.edit)) : nothing;
}

/** @param {any} past */
export const pastQuestion = (past) => html`<section class="question past"><p class="question-prompt">${plain(past.prompt)}</p>${past.end === 'closed' ? html`<p class="muted">${t(`closed_${past.because}`)}</p>` : settled(past, past.ended)}</section>`;
