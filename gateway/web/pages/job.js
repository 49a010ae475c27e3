// One job: header with its reason, open questions, scrubber, and tabs.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { Announcer } from '../state/announce.js';
import { foldTo, recordOf, times } from '../state/fold.js';
import { JobStream } from '../state/stream.js';
import { route, select } from '../router.js';
import { addWords, t } from '../settings.js';
import { duration, ms, short } from '../format.js';
import { actionsOf, ICONS, openAction } from '../parts/actions.js';
import { hasEnded, mark, shown, tone } from '../parts/mark.js';
import { FLOW_WORDS } from '../parts/flowgraph.js';
import { markdown } from '../parts/markdown.js';
import { offer } from '../parts/palette.js';
import { questionCard } from '../parts/question.js';
import { copyButton, empty, errorBox, icon, plain, skeleton, when } from '../parts/ui.js';
import { sentence, unblock, whySentence } from '../parts/why.js';
import { openCompare } from './job/compare.js';
import { filesView } from './job/files.js';
import { meterView } from './job/meter.js';
import { planTab, stepsOf, toggleDone } from './job/plan.js';
import { stepRevision } from './job/revisions.js';
import { timeTab } from './job/time.js';
import { saidTab } from './job/said.js';
import { logTab } from './job/log.js';
import { agentTab } from './job/agent.js';
import { familyTab } from './job/family.js';
import { scrubber } from './job/scrubber.js';
import { nodePanel } from './job/flow.js';
import { stepPanel } from './job/step.js';

const WORDS = { en: () => import('../words/job.en.js'), zh: () => import('../words/job.zh.js') };
/** The page of a job, once its words are here. @param {string} job */
export async function openJob(job) {
  // The words and the events come at the same time.
  const page = new JobPage(job);
  try {
    await Promise.all([addWords(WORDS), addWords(FLOW_WORDS)]);
  } catch (problem) {
    page.close();
    throw problem;
  }
  return page;
}

/** `true` for an address at which the editor of the job's graph stays open. Pure; a test covers it. @param {string} to @param {string} job */
export function keepsEdit(to, job) {
  const { pathname, searchParams: query } = new URL(to, 'http://host');
  return pathname === `/jobs/${job}` && query.get('edit') === 'graph' && !query.get('at');
}

/** Keys that do nothing while `isOff`. Pure; a test covers it. @param {Record<string, () => void>} keys @param {() => boolean} isOff */
export const unless = (keys, isOff) => Object.fromEntries(Object.entries(keys).map(([key, run]) => [key, () => { if (!isOff()) run(); }]));

const TABS = ['plan', 'time', 'said', 'log', 'agent', 'family'];

export class JobPage {
  /** @param {string} job */
  constructor(job) {
    this.job = job;
    this.stream = new JobStream(job);
    this.announcer = new Announcer();
    this.menu = false;
    this.started = Date.now();
    /** View and fold of the position that is shown, if it is a past one. @type {{asked: number, at: number, view?: any, fold?: any, events: number, problem?: any} | undefined} */
    this.past = undefined;
    /** Pages keep what their tabs need between two drawings. @type {Record<string, any>} */
    this.memo = {};
    /** The editor of the graph, while it is open. @type {import('./job/editgraph.js').GraphEdit | undefined} */
    this.edit = undefined;
    this.help = /** @type {[string, string][]} */ ([['1 … 6', 'key_tabs'], ['j / k', 'key_steps'], ['[ / ]', 'key_event'], ['{ / }', 'key_step'], ['← ↑ → ↓', 'key_graph'], ['h', 'key_done'], ['< / >', 'key_revision'], ['l', 'live'], ['.', 'actions'], ['s', 'act_steer'], ['e', 'act_edit_graph'], ['p', 'key_pause'], ['x', 'act_cancel'], ['b', 'act_roll_back'], ['f', 'act_fork']]);
    const act = (/** @type {import('../parts/orders.js').Kind} */ kind) => () => {
      if (kind === 'pause' && this.stream.view?.sub_status === 'paused') kind = 'resume';
      const can = actionsOf(this.stream.view);
      if (can.includes(kind) || (kind === 'pause' && can.includes('resume'))) this.act(kind);
    };
    this.keys = /** @type {Record<string, () => void>} */ ({
      ...unless({
        ...Object.fromEntries(TABS.map((tab, n) => [String(n + 1), () => select({ tab: n ? tab : undefined })])),
        j: () => this.step(1), k: () => this.step(-1),
        '[': () => this.seek(-1), ']': () => this.seek(1), '{': () => this.seek(-1, true), '}': () => this.seek(1, true),
        h: toggleDone, '<': () => stepRevision(this.shownFold().revisions, -1), '>': () => stepRevision(this.shownFold().revisions, 1),
        l: () => select({ at: undefined }),
      }, () => this.edit !== undefined),
      '.': () => { this.menu = !this.menu; emit(); },
      s: act('steer'), e: act('edit_graph'), p: act('pause'), x: act('cancel'), b: act('roll_back'), f: act('fork'),
      Escape: () => { this.menu = false; if (!this.edit) select({ step: undefined, event: undefined, node: undefined }); },
    });
    /** @type {import('../router.js').Keeper} */
    this.keeper = {
      holds: () => this.edit?.isChanged === true,
      keep: (to, leave) => {
        const isKept = this.keeper.holds() && !keepsEdit(to, job);
        if (isKept) this.edit?.askToLeave(leave);
        return isKept;
      },
    };
    offer(() => [
      ...actionsOf(this.stream.view).map((kind) => ({ word: t(`act_${kind}`), icon: ICONS[kind], run: () => this.act(kind) })),
      ...TABS.map((tab, n) => ({ word: t(`tab_${tab}`), icon: 'chevron-right', run: () => select({ tab: n ? tab : undefined }) })),
    ]);
  }
  close() {
    this.edit?.close();
    this.stream.close();
    offer(() => []);
  }
  /** A job that has ended has no stream: the feed of the lists tells whether it goes on. */
  get holdsStream() {
    return !this.stream.ended;
  }
  tick() {
    this.stream.tick();
  }
  title() {
    return this.stream.view?.goal?.slice(0, 80) ?? this.job;
  }
  /** @param {import('../parts/orders.js').Kind} kind @param {any} [more] */
  act(kind, more = {}) {
    this.menu = false;
    if (kind === 'edit_graph') return select({ edit: 'graph', at: undefined, node: undefined, step: undefined });
    emit();
    openAction(kind, { job: this.job, view: this.stream.view, fold: this.stream.fold, ...(this.past ? { at: this.past.at } : {}), done: () => { if (kind === 'roll_back' || kind === 'restart' || kind === 'recover') select({ at: undefined }); this.stream.resume(); }, ...more });
  }
  /** The editor of the graph, if the address asks for it. @param {any} view */
  editing(view) {
    if (route().query.get('edit') !== 'graph' || !view.graph || this.past) {
      this.edit?.close();
      this.edit = this.memo.editBusy = undefined;
      return undefined;
    }
    if (!this.edit && !this.memo.editBusy) {
      this.memo.editBusy = true;
      const closed = () => select({ edit: undefined });
      import('./job/editgraph.js').then(({ GraphEdit }) => {
        if (this.memo.editBusy) this.edit = new GraphEdit(this.job, { closed, done: () => { closed(); this.stream.resume(); } });
        emit();
      }, () => {
        // A module that did not arrive is asked for again after a while.
        setTimeout(() => { this.memo.editBusy = undefined; emit(); }, 2000);
      });
    }
    return this.edit ? this.edit.view(hasEnded(view.state)) : skeleton(4);
  }
  /** Selects the next step. @param {number} by */
  step(by) {
    const ids = this.shownFold().plan?.ids ?? [];
    const at = ids.indexOf(route().query.get('step'));
    const next = ids[Math.max(0, Math.min(ids.length - 1, at + by))];
    if (next) select({ step: next });
  }
  /** Moves the position by a record, or to the next beginning or end of a step. @param {number} by @param {boolean} [steps] */
  seek(by, steps = false) {
    // The page may not have been drawn since the last key.
    this.follow();
    const { events } = this.stream.fold;
    let n = this.past ? this.past.events : events.length;
    if (!events.length) return;
    // A position is a record, and a record has one or more events.
    const here = recordOf(events[n - 1]?.id ?? '0.0');
    do n += by;
    while (by < 0 && n > 1 && recordOf(events[n - 1].id) === here);
    while (steps && n > 1 && n < events.length && events[n - 1].type !== 'step') n += by;
    this.goTo(n);
  }
  /** Shows the job as of its n-th event. @param {number} n */
  goTo(n) {
    const { events } = this.stream.fold;
    if (n >= events.length) return select({ at: undefined });
    const event = events[Math.max(0, n - 1)];
    select({ at: String(recordOf(event.id)) });
  }
  /** Keeps the past position in step with the address. */
  follow() {
    const at = Number(route().query.get('at'));
    if (!at) {
      this.past = undefined;
      return;
    }
    const { events } = this.stream.fold;
    if (this.past?.asked === at && this.past.fold) return;
    let count = 0;
    while (count < events.length && recordOf(events[count].id) <= at) count++;
    // Positions are shared by all jobs of a shard: an address may name one that is not this job's.
    const past = { asked: at, at: count ? recordOf(events[count - 1].id) : at, events: count, fold: count ? foldTo(events, count) : undefined, view: undefined, problem: undefined };
    this.past = past;
    clearTimeout(this.memo.timer);
    this.memo.timer = setTimeout(() => {
      api.job(this.job, past.at).then((view) => { past.view = view; emit(); }, (problem) => { past.problem = problem; emit(); });
    }, 180);
  }
  /** Shows what changed between the past position and now. */
  compare() {
    if (this.past?.fold) openCompare(this.past.at, this.past.fold, this.stream.fold);
  }
  shownFold() {
    return this.past?.fold ?? this.stream.fold;
  }
  /** @param {URLSearchParams} query */
  view(query) {
    this.follow();
    const { stream } = this;
    if (stream.problem && !stream.view) return html`<div class="page">${stream.problem.code === 'not_found' ? empty(t('no_job'), t('no_job_text', { job: this.job }), html`<a class="button" href="/jobs">${t('nav_jobs')}</a>`) : errorBox(stream.problem, () => location.reload())}</div>`;
    const now = stream.view;
    if (!now) return html`<div class="page">${Date.now() - this.started > 200 ? skeleton(6) : nothing}</div>`;
    const view = this.past ? this.past.view ?? { ...now, why: [], questions: [], plan: undefined, state: this.past.fold?.state, sub_status: this.past.fold?.sub, outcome: undefined } : now;
    const fold = this.shownFold();
    const tab = TABS.includes(query.get('tab') ?? '') ? /** @type {string} */ (query.get('tab')) : 'plan';
    const step = query.get('step');
    const node = tab === 'plan' && view.graph ? query.get('node') : null;
    const panel = node ?? (['log', 'family'].includes(tab) ? null : step);
    const questions = this.past ? [] : now.questions ?? [];
    const editing = this.editing(now);
    const below = this.past ? [] : [...fold.questions.values()].filter((q) => q.below && !q.ended);
    return html`<div class="page job-page ${this.past ? 'past' : ''}">
      ${this.header(view, fold, now)}
      ${this.past || editing ? nothing : html`${questions.map((/** @type {any} */ q) => html`<div class="card ask">${questionCard(this.job, q, { keys: false })}</div>`)}
        ${below.map((q) => html`<div class="card ask"><p class="muted">${t('child_asks')} <a href="/jobs/${q.below.job}">${q.below.path}</a></p>${questionCard(q.below.job, q, {})}</div>`)}`}
      ${editing ? html`<section class="flow-editing stack" aria-label=${t('act_edit_graph')}>${editing}</section>` : this.tabs(view, fold, { now, tab, node, panel })}
    </div>`;
  }
  /** @param {any} view @param {any} fold @param {{now: any, tab: string, node: string | null, panel: string | null}} chosen */
  tabs(view, fold, { now, tab, node, panel }) {
    return html`${scrubber(this)}
      <div class="tabs" role="tablist" aria-label=${t('views')}>${TABS.map((name, n) => html`<button role="tab" id="tab-${name}" aria-selected=${name === tab ? 'true' : 'false'} aria-controls="tab-panel" @click=${() => select({ tab: n ? name : undefined })}>${t(`tab_${name}`)}</button>`)}</div>
      <div class="split ${panel ? 'with-panel' : ''}"><div class="split-main" role="tabpanel" id="tab-panel" aria-labelledby="tab-${tab}">
        ${tab === 'plan' ? html`${this.outcome(view)}${planTab(this, view, fold)}${filesView(this.job, view, stepsOf(view, fold))}` : tab === 'time' ? timeTab(this, fold) : tab === 'said' ? saidTab(this, fold) : tab === 'log' ? logTab(this, fold) : tab === 'agent' ? agentTab(this, now) : familyTab(this, now)}</div>
        ${node ? nodePanel(this, view, fold, node) : panel ? stepPanel(this, view, fold, panel) : nothing}</div>`;
  }
  /** @param {any} view @param {any} fold @param {any} now */
  header(view, fold, now) {
    const state = shown(view);
    const time = times(fold, this.past ? fold.updated : Date.now());
    const usage = view.usage ?? {};
    const can = actionsOf(now);
    const first = this.past ? undefined : view.why?.[0];
    const next = unblock(first);
    const buttons = can.filter((kind) => ['pause', 'resume', 'steer', 'recover'].includes(kind)).slice(0, 2);
    const rest = can.filter((kind) => !buttons.includes(kind));
    const answered = next.action === 'answer' && (now.questions?.length || [...fold.questions.values()].some((q) => q.below && !q.ended));
    const title = (/** @type {string} */ id) => fold.steps.get(id)?.title;
    return html`<header class="job-head">
      <div class="job-title"><div class="grow"><h1 dir="auto">${plain(view.goal.length > 300 ? `${view.goal.slice(0, 300)} …` : view.goal)}</h1></div>
        ${this.past ? nothing : html`<div class="line job-actions">${buttons.map((kind) => html`<button title=${t(`act_${kind}`)} @click=${() => this.act(kind)}>${icon(ICONS[kind])}<span>${t(`act_${kind}`)}</span></button>`)}
          <div class="menu"><button aria-haspopup="menu" aria-expanded=${this.menu ? 'true' : 'false'} aria-label=${t('actions')} title="${t('actions')} (.)" @click=${() => { this.menu = !this.menu; emit(); }}>${icon('ellipsis')}</button>
          ${this.menu ? html`<div class="menu-list" role="menu" @keydown=${(/** @type {KeyboardEvent} */ e) => this.menuKey(e)}>${rest.map((kind) => html`<button role="menuitem" class=${kind === 'cancel' ? 'text-fail' : ''} @click=${() => this.act(kind)}>${icon(ICONS[kind])}${t(`act_${kind}`)}</button>`)}</div>` : nothing}</div></div>`}
      </div>
      <div class="why-bar tint-${tone(state)}">${mark(state, true)}<div class="grow"><strong>${t(`state_${state}`)}</strong>${first || hasEnded(view.state) ? html`<span class="why-text">${plain(first ? whySentence(first, title) : sentence(view))}</span>` : nothing}
          ${first?.since && Date.now() - ms(first.since) > 1500 ? html`<span class="muted num"> · ${t('since', { time: duration(Date.now() - ms(first.since)) })}</span>` : nothing}
          ${(view.why?.length ?? 0) > 1 && !this.past ? html`<details class="more-why"><summary>${t('more_reasons', { n: view.why.length - 1 })}</summary>${view.why.slice(1).map((/** @type {any} */ why) => html`<p>${plain(whySentence(why, title))}</p>`)}</details>` : nothing}</div>
        ${next.action === 'answer' ? (answered ? nothing : html`<a class="button" href="/inbox">${t('answer')}</a>`) : next.action ? html`<button @click=${() => this.act(/** @type {any} */ (next.action))}>${next.label}</button>` : next.command ? html`<code>${next.command}</code>${copyButton(next.command)}` : nothing}
      </div>
      <dl class="facts">
        <div><dt>${t('agent')}</dt><dd><a href="/agents?name=${view.agent}">${view.agent}</a></dd></div>
        <div><dt>${t('run_time')}</dt><dd class="num">${duration(time.run)}</dd></div>
        <div><dt>${t('wait_time')}</dt><dd class="num">${duration(time.wait)}</dd></div>
        <div><dt>${t('tokens')}</dt><dd class="num" title="${t('tokens_in_out', { in: usage.input_tokens ?? 0, out: usage.output_tokens ?? 0 })}">${short(usage.input_tokens ?? 0)} → ${short(usage.output_tokens ?? 0)}</dd></div>
        ${meterView(this, view, fold)}
        <div><dt>${t('started')}</dt><dd>${when(view.created)}</dd></div>
        <div><dt>${t('job_id')}</dt><dd class="mono line tight">${view.job}${copyButton(view.job)}</dd></div>
        ${view.conversation ? html`<div><dt>${t('conversation')}</dt><dd><a href="/chat/${view.conversation}">${view.conversation}</a></dd></div>` : nothing}
        ${view.parent ? html`<div><dt>${t('parent')}</dt><dd><a href="/jobs/${view.parent.job}">${view.parent.job}</a></dd></div>` : nothing}
        ${view.forked ? html`<div><dt>${t('forked_from')}</dt><dd><a href="/jobs/${view.forked.job}?at=${view.forked.seq}">${view.forked.job} #${view.forked.seq}</a></dd></div>` : nothing}
        ${view.untrusted ? html`<div><dt>${t('outside')}</dt><dd><span class="chip warn"><code>${view.untrusted.tool}</code></span>${view.untrusted.at ? html` ${when(view.untrusted.at)} #${view.untrusted.seq}` : html` ${t('outside_before')}`}</dd></div>` : nothing}
        ${view.remembered?.length ? html`<div><dt>${t('remembered')}</dt><dd>${view.remembered.map((/** @type {any} */ one) => html`<span class="chip"><code>${one.tool}</code> ${one.ask} · ${plain(one.by)}</span>`)}</dd></div>` : nothing}
        ${view.generation ? html`<div><dt>${t('rollbacks')}</dt><dd class="num">${view.generation}</dd></div>` : nothing}
        ${view.children?.length ? html`<div><dt>${t('children')}</dt><dd>${view.children.map((/** @type {any} */ child) => html`<a class="chip" href="/jobs/${child.job}">${child.state ? mark(child.state) : nothing}${child.agent ?? child.path ?? child.job}</a>`)}</dd></div>` : nothing}
      </dl></header>`;
  }
  /** @param {KeyboardEvent} e */
  menuKey(e) {
    const items = [.../** @type {HTMLElement} */ (e.currentTarget).querySelectorAll('button')];
    const at = items.indexOf(/** @type {any} */ (document.activeElement));
    if (e.key === 'ArrowDown') items[(at + 1) % items.length].focus();
    else if (e.key === 'ArrowUp') items[(at + items.length - 1) % items.length].focus();
    else return;
    e.preventDefault();
    e.stopPropagation();
  }
  /** @param {any} view */
  outcome(view) {
    const outcome = view.outcome;
    if (!outcome) return nothing;
    const text = outcome.summary ?? '';
    const results = outcome.results && typeof outcome.results === 'object' ? Object.entries(outcome.results) : [];
    const value = outcome.value ? JSON.stringify(outcome.value, null, 2) : '';
    if (!text && !results.length && !value) return nothing;
    const long = text.length > 400 || text.split('\n').length > 8;
    return html`<section class="card outcome"><div class="line"><h2>${t('result')}</h2><span class="grow"></span>${copyButton(value || text || JSON.stringify(outcome.results, null, 2))}</div>
      ${value ? html`<pre class="outcome-value">${value}</pre>` : nothing}
      ${text ? html`<div class="outcome-text ${!long || this.memo.allOutcome ? 'all' : ''}">${markdown(String(text))}</div>${long ? html`<button class="small ghost more-text" aria-expanded=${this.memo.allOutcome ? 'true' : 'false'} @click=${() => { this.memo.allOutcome = !this.memo.allOutcome; emit(); }}>${t(this.memo.allOutcome ? 'show_less' : 'show_all_text')}</button>` : nothing}` : nothing}
      ${results.length && !text ? html`<dl class="results">${results.map(([id, value]) => html`<dt>${plain(view.plan?.steps.find((/** @type {any} */ s) => s.id === id)?.title ?? id)}</dt><dd>${markdown(typeof value === 'string' ? value : String(/** @type {any} */ (value)?.response ?? JSON.stringify(value)))}</dd>`)}</dl>` : nothing}</section>`;
  }
}
