// Open questions, oldest first: the list at the left, the question at the right.

import { html, nothing, repeat } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { cached, stale } from '../state/cache.js';
import { route, select } from '../router.js';
import { t } from '../settings.js';
import { ago } from '../format.js';
import { offer } from '../parts/palette.js';
import { approval, draftOf, editPlan, openReject, pastQuestion, questionCard, sendAnswer, submitAnswer } from '../parts/question.js';
import { command, empty, errorBox, icon, plain, skeleton, when } from '../parts/ui.js';

export class InboxPage {
  constructor() {
    this.started = Date.now();
    /** The question that is shown, also after it was answered. @type {any} */
    this.shown = undefined;
    /** @type {any} */
    this.past = undefined;
    this.pastKey = '';
    this.help = /** @type {[string, string][]} */ ([['j / k', 'key_move'], ['a', 'key_approve'], ['r', 'key_reject'], ['e', 'edit_plan'], ['1 … 9', 'key_option'], ['n', 'key_next'], ['Ctrl Enter', 'send']]);
    const q = () => this.shown;
    const next = () => this.next(1);
    this.keys = /** @type {Record<string, () => void>} */ ({
      j: () => this.next(1), k: () => this.next(-1), ArrowDown: () => this.next(1), ArrowUp: () => this.next(-1), n: () => this.next(1),
      a: () => { const s = q(); if (s && ['plan_check', 'tool_approval'].includes(s.question.kind)) { const button = /** @type {HTMLButtonElement | null} */ (document.querySelector('.inbox-main .question-foot .primary')); if (button && !button.disabled) sendAnswer(s.job, s.question, s.question.kind === 'tool_approval' ? approval(s.question, draftOf(s.job, s.question)) : { decision: 'approve', digest: s.question.digest }, next); } },
      r: () => { const s = q(); if (s) openReject(s.job, s.question, next); },
      e: () => { const s = q(); if (s?.question.kind === 'plan_check') editPlan(s.job, s.question); else /** @type {HTMLElement | null} */ (document.querySelector('.inbox-main [data-answer], .inbox-main input'))?.focus(); },
      'Ctrl+Enter': () => { const s = q(); if (s) submitAnswer(s.job, s.question, next); },
      Escape: () => select({ job: undefined, ask: undefined }),
      ...Object.fromEntries(Array.from({ length: 9 }, (_, n) => [String(n + 1), () => this.option(n)])),
    });
    offer(() => []);
    stale('inbox');
  }
  title() {
    const n = cached('inbox', 4000).value?.questions.length;
    return n ? `(${n}) ${t('nav_inbox')}` : t('nav_inbox');
  }
  questions() {
    return cached('inbox', 3000).value?.questions ?? [];
  }
  /** @param {number} by */
  next(by) {
    const list = this.questions();
    const at = list.findIndex((/** @type {any} */ q) => q.job === this.shown?.job && q.question.id === this.shown?.question.id);
    const other = list[at < 0 ? 0 : Math.max(0, Math.min(list.length - 1, at + by))];
    if (other) select({ job: other.job, ask: other.question.id });
    else emit();
  }
  /** @param {number} n */
  option(n) {
    const q = this.shown?.question;
    const value = q?.options?.[n]?.value;
    if (value === undefined) return;
    const draft = draftOf(this.shown.job, q);
    if (!q.multiple) draft.chosen = [value];
    else draft.chosen = draft.chosen.includes(value) ? draft.chosen.filter((v) => v !== value) : [...draft.chosen, value];
    emit();
  }
  view() {
    const cell = cached('inbox', 3000);
    const list = this.questions();
    const { query } = route();
    const job = query.get('job');
    const ask = query.get('ask');
    const narrow = innerWidth <= 720;
    const chosen = job ? list.find((/** @type {any} */ q) => q.job === job && q.question.id === ask) : undefined;
    const first = !job && !narrow ? list[0] : undefined;
    const shown = chosen ?? first;
    if (shown) this.shown = shown;
    const gone = job && !chosen && cell.value ? this.gone(job, ask ?? '') : undefined;
    if (gone) this.shown = undefined;
    return html`<div class="inbox ${job ? 'has-choice' : ''}">
      <section class="inbox-list" aria-label=${t('nav_inbox')}>
        <header class="page-head"><h1>${t('nav_inbox')}</h1><span class="muted num">${cell.value ? `${list.length}${cell.value.more ? '+' : ''}` : ''}</span></header>
        ${cell.problem ? errorBox(cell.problem, () => stale('inbox')) : nothing}
        ${!cell.value && !cell.problem && Date.now() - this.started > 200 ? skeleton(4) : nothing}
        <div class="ask-rows">${repeat(list, (/** @type {any} */ q) => `${q.job}/${q.question.id}`, (/** @type {any} */ q) => html`<a class="ask-row ${shown === q ? 'at' : ''}" aria-current=${shown === q ? 'true' : nothing} href="/inbox?job=${q.job}&ask=${q.question.id}">
          <span class="line"><span class="chip kind-${q.question.kind}">${t(`kind_${q.question.kind}`)}</span>${q.question.tool ? html`<code class="cut">${plain(q.question.tool)}</code>` : nothing}<span class="muted num end">${when(q.asked, ago(q.asked))}</span></span>
          <span class="ask-prompt">${plain(q.question.prompt)}</span><span class="muted cut">${plain(q.goal)}</span></a>`)}</div>
        ${cell.value && !list.length ? empty(t('inbox_empty'), t('inbox_empty_text'), html`<div class="stack commands">${command('callboard inbox ls')}</div>`) : nothing}
      </section>
      <section class="inbox-main" aria-live="polite">
        ${job ? html`<a class="back button ghost" href="/inbox">${icon('chevron-left')}${t('nav_inbox')}</a>${narrow ? html`<h1 class="sr">${t('nav_inbox')}</h1>` : nothing}` : nothing}
        ${shown && !gone
          ? html`<div class="inbox-question"><p class="muted line wrap asked-about"><a href="/jobs/${shown.job}">${plain(shown.goal)}</a>${shown.question.step ? html`<span>${t('step')} <code>${shown.question.step}</code></span>` : nothing}<span class="num">${t('asked', { time: ago(shown.asked) })}</span></p>
            <div class="card">${questionCard(shown.job, shown.question, { keys: !narrow, done: () => { setTimeout(() => this.next(1), 50); } })}</div></div>`
          : gone ?? (list.length && !job ? html`<div class="inbox-none muted">${t('choose_question')}</div>` : nothing)}
      </section></div>`;
  }
  /** A question that is no longer open: who answered, what, and when. @param {string} job @param {string} ask */
  gone(job, ask) {
    const key = `${job}/${ask}`;
    if (this.pastKey !== key) {
      this.pastKey = key;
      this.past = undefined;
      api.job(job).then((view) => { this.past = { view, q: view.past_questions?.find((/** @type {any} */ q) => q.id === ask) }; emit(); }, (problem) => { this.past = { problem }; emit(); });
    }
    if (!this.past) return html`<div class="inbox-question">${skeleton(2)}</div>`;
    if (this.past.problem) return html`<div class="inbox-question">${errorBox(this.past.problem)}</div>`;
    return html`<div class="inbox-question"><p class="muted"><a href="/jobs/${job}">${plain(this.past.view.goal)}</a></p><div class="card">${this.past.q ? pastQuestion(this.past.q) : html`<p>${t('question_gone')}</p>`}</div>
      ${this.questions().length ? html`<div class="line"><button class="primary" @click=${() => this.next(1)}>${t('key_next')} <kbd>n</kbd></button></div>` : nothing}</div>`;
  }
}
