// The list of jobs: pills with counts, filters, rows that keep their place.

import { html, nothing, repeat } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { cached } from '../state/cache.js';
import { go, route, select } from '../router.js';
import { t } from '../settings.js';
import { ago, number } from '../format.js';
import { openAction } from '../parts/actions.js';
import { rowCost } from '../parts/cost.js';
import { mark, shown, tone } from '../parts/mark.js';
import { offer } from '../parts/palette.js';
import { command, empty, errorBox, icon, plain, skeleton, when } from '../parts/ui.js';
import { sentence } from '../parts/why.js';

const OPEN = ['submitted', 'working', 'input-required', 'auth-required'];
const FILTERS = /** @type {Record<string, string[] | undefined>} */ ({ all: undefined, open: OPEN, waiting: ['input-required', 'auth-required'], attention: OPEN, failed: ['failed'], completed: ['completed'], canceled: ['canceled', 'rejected'] });
const TONES = /** @type {Record<string, string>} */ ({ open: 'working', waiting: 'input-required', attention: 'attention', failed: 'failed', completed: 'completed', canceled: 'canceled' });
const PAGE = 50;

export class JobsPage {
  constructor() {
    /** Rows in the order in which they were first shown. @type {any[]} */
    this.rows = [];
    /** New rows above those that are shown. @type {any[]} */
    this.fresh = [];
    this.more = false;
    this.next = '';
    this.limit = PAGE;
    this.loaded = '';
    this.at = 0;
    this.busy = false;
    this.readAt = 0;
    this.started = Date.now();
    /** @type {any} */
    this.problem = undefined;
    /** @type {Map<string, number>} */
    this.changed = new Map();
    this.help = /** @type {[string, string][]} */ ([['j / k', 'key_move'], ['Enter', 'key_open'], ['/', 'key_filter'], ['n', 'nav_new'], ['x', 'act_cancel'], ['p', 'key_pause']]);
    const act = (/** @type {string} */ kind) => {
      const job = this.visible()[this.at];
      if (job) openAction(kind === 'pause' && job.sub_status === 'paused' ? 'resume' : kind, { job: job.job, view: job, done: () => this.load() });
    };
    this.keys = {
      j: () => this.move(1), k: () => this.move(-1), ArrowDown: () => this.move(1), ArrowUp: () => this.move(-1),
      Enter: () => { const job = this.visible()[this.at]; if (job) go(`/jobs/${job.job}`); },
      '/': () => document.getElementById('filter')?.focus(),
      n: () => go('/new'), x: () => act('cancel'), p: () => act('pause'),
    };
    offer(() => []);
  }
  title() {
    return t('nav_jobs');
  }
  tick() {
    if (Date.now() - this.readAt > 2500) this.load();
  }
  filter() {
    const { query } = route();
    const state = query.get('show') ?? 'all';
    return { state: state in FILTERS ? state : 'all', conversation: query.get('conversation') ?? '', text: query.get('q') ?? '' };
  }
  /** @param {boolean} [further] */
  async load(further = false) {
    const { state, conversation } = this.filter();
    const key = `${state}|${conversation}`;
    if (key !== this.loaded) {
      this.rows = [];
      this.fresh = [];
      this.limit = PAGE;
      this.loaded = key;
      this.readAt = 0;
      this.started = Date.now();
    } else if (this.busy) return;
    this.busy = true;
    try {
      const states = FILTERS[state];
      if (further) {
        const reply = await api.jobs({ state: states, conversation, limit: PAGE, after: this.next });
        if (key !== this.loaded) return;
        this.rows = [...this.rows, ...reply.jobs.filter((/** @type {any} */ job) => !this.rows.some((row) => row.job === job.job))];
        this.more = reply.more;
        this.next = reply.next ?? reply.jobs.at(-1)?.job ?? this.next;
        this.limit = Math.min(500, Math.max(PAGE, this.rows.length));
      } else {
        const reply = await api.jobs({ state: states, conversation, limit: Math.min(500, Math.max(PAGE, this.limit)) });
        if (key !== this.loaded) return;
        this.merge(reply.jobs);
        if (this.rows.length <= reply.jobs.length) {
          this.more = reply.more;
          this.next = reply.next ?? reply.jobs.at(-1)?.job ?? '';
        }
      }
      this.problem = undefined;
    } catch (problem) {
      this.problem = problem;
    } finally {
      this.busy = false;
      this.readAt = Date.now();
      emit();
    }
  }
  /** Rows change in place; new ones wait for a click when the list is scrolled. @param {any[]} jobs */
  merge(jobs) {
    const now = Date.now();
    const known = new Map(this.rows.map((row) => [row.job, row]));
    const newer = jobs.filter((job) => !known.has(job.job));
    const byId = new Map(jobs.map((job) => [job.job, job]));
    for (const row of this.rows) {
      const job = byId.get(row.job);
      if (job && (job.updated !== row.updated || job.state !== row.state)) this.changed.set(job.job, now);
    }
    const states = FILTERS[this.filter().state];
    this.rows = this.rows.map((row) => byId.get(row.job) ?? row).filter((row) => byId.has(row.job) || !states || jobs.length >= this.limit);
    const top = (document.getElementById('main')?.scrollTop ?? 0) < 40;
    if (!this.rows.length || top) {
      this.rows = [...newer, ...this.rows].sort((a, b) => (a.created < b.created ? 1 : -1));
      this.fresh = [];
    } else this.fresh = newer;
  }
  visible() {
    const { state, text } = this.filter();
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return this.rows.filter((job) => (state !== 'attention' || shown(job) === 'attention' || job.notices?.length) && words.every((word) => `${job.goal} ${job.job} ${job.agent} ${job.conversation ?? ''} ${sentence(job)}`.toLowerCase().includes(word)));
  }
  /** @param {number} by */
  move(by) {
    const rows = this.visible();
    this.at = Math.max(0, Math.min(rows.length - 1, this.at + by));
    emit();
    requestAnimationFrame(() => document.querySelector('.job-row.at')?.scrollIntoView({ block: 'nearest' }));
  }
  view() {
    const filter = this.filter();
    if (`${filter.state}|${filter.conversation}` !== this.loaded) this.load();
    const rows = this.visible();
    const count = cached('count', 5000).value;
    const inbox = cached('inbox', 5000).value;
    const dead = cached('dead', 10_000).value;
    const counts = /** @type {Record<string, number | undefined>} */ ({
      all: count && count.open + count.completed + count.failed + count.canceled, open: count?.open, failed: count?.failed, completed: count?.completed, canceled: count?.canceled,
      waiting: inbox && new Set(inbox.questions.map((/** @type {any} */ q) => q.job)).size, attention: dead && new Set(dead.letters.map((/** @type {any} */ l) => l.job)).size,
    });
    const waitsMore = inbox?.more ? '+' : '';
    return html`<div class="page">
      <header class="page-head"><h1>${t('nav_jobs')}</h1><span class="grow"></span><a class="button primary" href="/new">${icon('plus')}${t('nav_new')}</a></header>
      <div class="pills" role="group" aria-label=${t('filter_state')}>${Object.keys(FILTERS).map((name) => html`<button class="pill" aria-pressed=${name === filter.state ? 'true' : 'false'} @click=${() => { this.at = 0; select({ show: name === 'all' ? undefined : name }, {}); }}>
        ${TONES[name] ? html`<i class="dot dot-${tone(TONES[name])}"></i>` : nothing}<span>${t(`show_${name}`)}</span><span class="num muted">${counts[name] === undefined ? ' ' : number(counts[name] ?? 0)}${name === 'waiting' ? waitsMore : ''}</span></button>`)}</div>
      <div class="filters line wrap"><label class="search-field">${icon('search')}<span class="sr">${t('filter_text')}</span><input id="filter" type="search" placeholder=${t('filter_text')} .value=${filter.text} @input=${(/** @type {any} */ e) => { this.at = 0; select({ q: e.target.value }); }}></label>
        ${filter.conversation ? html`<button class="chip removable" @click=${() => select({ conversation: undefined })} aria-label=${t('drop_filter')}>${t('conversation')}: ${plain(filter.conversation)} ${icon('x')}</button>` : nothing}
        <span class="grow"></span><span class="muted num">${this.loaded && this.readAt && !(this.problem && !this.rows.length) ? t(rows.length < this.rows.length ? 'rows_some' : 'rows_all', { n: rows.length === 1 ? 1 : number(rows.length), of: number(this.rows.length), time: ago(this.readAt) }) : ''}</span></div>
      ${this.problem && !this.rows.length ? errorBox(this.problem, () => this.load()) : nothing}
      ${this.fresh.length ? html`<button class="fresh" @click=${() => { document.getElementById('main')?.scrollTo({ top: 0 }); this.rows = [...this.fresh, ...this.rows]; this.fresh = []; emit(); }}>${icon('arrow-up')}${t('new_rows', { n: this.fresh.length })}</button>` : nothing}
      ${!this.readAt && !this.problem && Date.now() - this.started > 200 ? skeleton(8) : nothing}
      ${rows.length
        ? html`<div class="job-list" role="group" aria-label=${t('nav_jobs')}>
          <div class="job-row head" aria-hidden="true"><span></span><span>${t('col_goal')}</span><span>${t('col_why')}</span><span class="c-steps num">${t('col_steps')}</span><span class="c-agent">${t('col_agent')}</span><span class="c-cost num">${t('cost')}</span><span class="num">${t('col_age')}</span></div>
          ${repeat(rows, (/** @type {any} */ job) => job.job, (/** @type {any} */ job, /** @type {number} */ n) => this.row(job, n))}</div>`
        : this.readAt && !this.problem ? this.none(filter) : nothing}
      ${this.more && this.rows.length ? html`<div class="more line"><button ?disabled=${this.busy} @click=${() => this.load(true)}>${t('load_more')}</button>${filter.text ? html`<span class="muted">${t('searched', { n: this.rows.length })}</span>` : nothing}</div>` : nothing}
    </div>`;
  }
  /** @param {any} job @param {number} n */
  row(job, n) {
    const state = shown(job);
    const hot = Date.now() - (this.changed.get(job.job) ?? 0) < 700;
    return html`<a class="job-row ${n === this.at ? 'at' : ''} ${hot ? 'hot' : ''}" href="/jobs/${job.job}" @focus=${() => { this.at = n; }}>
      <span class="c-mark">${mark(state)}</span>
      <span class="c-goal cut" title=${job.goal}>${plain(job.goal)}${job.conversation ? html`<span class="chip talk-chip">${plain(job.conversation)}</span>` : nothing}${job.parent ? html`<span class="chip">${t('child')}</span>` : nothing}</span>
      <span class="c-why cut text-${tone(state)}" title=${sentence(job)}>${plain(sentence(job))}</span>
      <span class="c-steps num">${job.steps ? html`${stepBar(job)}<span>${job.steps_done}/${job.steps}</span>` : html`<span class="muted">–</span>`}</span>
      <span class="c-agent muted cut">${job.agent}</span>
      <span class="c-cost num cut">${rowCost(job.spent)}</span>
      <span class="c-age num muted">${when(job.updated)}</span></a>`;
  }
  /** @param {{state: string, conversation: string, text: string}} filter */
  none(filter) {
    if (filter.state === 'all' && !filter.text && !filter.conversation)
      return empty(t('no_jobs'), t('no_jobs_text'), html`<div class="stack commands">${command('callboard submit "Summarise notes.md" --wait')}${command('callboard chat')}${command("nats req cb.svc.submit '{\"goal\":\"Summarise notes.md\"}'")}</div><a class="button primary" href="/new">${t('nav_new')}</a>`);
    return empty(t('no_match'), t('no_match_text'), html`<div class="line wrap centred">${filter.text ? html`<button @click=${() => select({ q: undefined })}>${t('drop_text')}</button>` : nothing}${filter.state !== 'all' ? html`<button @click=${() => select({ show: undefined })}>${t('drop_state', { state: t(`show_${filter.state}`) })}</button>` : nothing}${filter.conversation ? html`<button @click=${() => select({ conversation: undefined })}>${t('drop_conversation')}</button>` : nothing}</div>`);
  }
}

/** A small bar of done and all steps. @param {any} job */
export const stepBar = (job) => html`<svg class="step-bar" viewBox="0 0 40 4" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="40" height="4" rx="2"></rect><rect class="fill-${tone(job.state)}" width=${(40 * Math.min(1, job.steps_done / Math.max(1, job.steps))).toFixed(1)} height="4" rx="2"></rect></svg>`;
