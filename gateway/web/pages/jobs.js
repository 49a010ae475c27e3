// The list of jobs: pills with counts, filters, rows that keep their place, marks and batches.

import { html, nothing, ref, repeat } from '../lit.js';
import { api, Problem } from '../api.js';
import { emit } from '../state/bus.js';
import { cached } from '../state/cache.js';
import { due, feed } from '../state/feed.js';
import { chips, filterOf, narrows, paramsOf, SHOW } from '../state/jobfilter.js';
import { may } from '../state/rights.js';
import { go, route, select } from '../router.js';
import { t } from '../settings.js';
import { ago, number } from '../format.js';
import { rowCost } from '../parts/cost.js';
import { keptFilters, openNarrow } from '../parts/jobfilters.js';
import { mark, shown, tone } from '../parts/mark.js';
import { offer } from '../parts/palette.js';
import { command, empty, errorBox, icon, plain, skeleton, when } from '../parts/ui.js';
import { sentence } from '../parts/why.js';

const WAITING = ['input-required', 'auth-required'];
const TONES = /** @type {Record<string, string>} */ ({ open: 'working', waiting: 'input-required', attention: 'attention', failed: 'failed', completed: 'completed', canceled: 'canceled' });
const PAGE = 50;
/** Rows of a list that is drawn as a whole, and rows that are drawn around the visible part of a longer one. */
const WHOLE = 200;
const AROUND = 30;
/** Time after the last letter until the server is asked, in milliseconds. */
const PAUSE = 250;

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
    this.typed = 0;
    /** Ids of the marked jobs. @type {Set<string>} */
    this.marked = new Set();
    this.started = Date.now();
    /** Height of a row in pixels, measured. */
    this.height = 36;
    /** @type {any} */
    this.problem = undefined;
    /** @type {Map<string, number>} */
    this.changed = new Map();
    this.help = /** @type {[string, string][]} */ ([['j / k', 'key_move'], ['Enter', 'key_open'], ['/', 'key_filter'], ['Space', 'key_mark'], ['n', 'nav_new'], ['x', 'act_cancel'], ['p', 'key_pause']]);
    const act = async (/** @type {import('../parts/orders.js').Kind} */ kind) => {
      if (!may('signal')) return;
      if (this.marked.size) return this.batch();
      const job = this.rows[this.at];
      const parts = job && (await this.part(import('../parts/actions.js')));
      parts?.openAction(kind === 'pause' && job.sub_status === 'paused' ? 'resume' : kind, { job: job.job, view: job, done: () => this.load() });
    };
    this.keys = {
      j: () => this.move(1), k: () => this.move(-1), ArrowDown: () => this.move(1), ArrowUp: () => this.move(-1),
      Enter: () => { const job = this.rows[this.at]; if (job) go(`/jobs/${job.job}`); },
      '/': () => document.getElementById('filter')?.focus(),
      ' ': () => { const job = this.rows[this.at]; if (job) this.mark(job.job); },
      Escape: () => { this.marked.clear(); emit(); },
      n: () => go('/new'), x: () => act('cancel'), p: () => act('pause'),
    };
    offer(() => []);
    document.getElementById('main')?.addEventListener('scroll', emit, { passive: true });
    // The first drawing of the page would ask a frame later.
    this.load();
  }
  title() {
    return t('nav_jobs');
  }
  close() {
    document.getElementById('main')?.removeEventListener('scroll', emit);
  }
  tick() {
    this.refresh();
  }
  /** Reads the list again when the feed says so, or every few seconds without it. */
  refresh() {
    if (!this.busy && this.loaded && due(this.readAt, 2500)) this.load();
  }
  /** @param {string} job */
  mark(job) {
    if (!this.marked.delete(job)) this.marked.add(job);
    emit();
  }
  /** A module that only actions need, so the list does not wait for it. @template T @param {Promise<T>} module */
  part(module) {
    return module.catch(() => {
      this.problem = new Problem({ code: 'unreachable' });
      emit();
    });
  }
  /** A signal to the marked jobs, or to all that match. */
  async batch() {
    if (!may('batch')) return;
    const parts = await this.part(import('../parts/batch.js'));
    const done = () => { this.marked.clear(); this.load(); };
    if (this.marked.size) parts?.openMarked(this.rows.filter((row) => this.marked.has(row.job)), done);
    else parts?.openMatching(filterOf(route().query), done);
  }
  /** @param {boolean} [further] */
  async load(further = false) {
    const filter = filterOf(route().query);
    const key = JSON.stringify(filter);
    if (key !== this.loaded) {
      this.rows = [];
      this.fresh = [];
      this.marked.clear();
      this.limit = PAGE;
      this.loaded = key;
      this.readAt = 0;
      this.started = Date.now();
    } else if (this.busy) return;
    this.busy = true;
    try {
      const params = paramsOf(filter, Date.now());
      if (further) {
        const reply = await api.jobs({ ...params, limit: PAGE, after: this.next });
        if (key !== this.loaded) return;
        this.rows = [...this.rows, ...reply.jobs.filter((/** @type {any} */ job) => !this.rows.some((row) => row.job === job.job))];
        this.more = reply.more;
        this.next = reply.next ?? reply.jobs.at(-1)?.job ?? this.next;
        this.limit = Math.min(500, Math.max(PAGE, this.rows.length));
      } else {
        const reply = await api.jobs({ ...params, limit: Math.min(500, Math.max(PAGE, this.limit)) });
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
    const states = SHOW[filterOf(route().query).show];
    this.rows = this.rows.map((row) => byId.get(row.job) ?? row).filter((row) => byId.has(row.job) || !states || jobs.length >= this.limit);
    const top = (document.getElementById('main')?.scrollTop ?? 0) < 40;
    if (!this.rows.length || top) {
      this.rows = [...newer, ...this.rows].sort((a, b) => (a.created < b.created ? 1 : -1));
      this.fresh = [];
    } else this.fresh = newer;
  }
  /** @param {number} by */
  move(by) {
    const { rows } = this;
    this.at = Math.max(0, Math.min(rows.length - 1, this.at + by));
    emit();
    requestAnimationFrame(() => {
      const row = document.querySelector('.job-row.at');
      if (row) row.scrollIntoView({ block: 'nearest' });
      else this.scrollTo(this.at);
    });
  }
  /** Scrolls to a row that is not in the document. @param {number} n */
  scrollTo(n) {
    const main = document.getElementById('main');
    const list = /** @type {HTMLElement | null} */ (document.querySelector('.job-rows'));
    if (main && list) main.scrollTop = list.offsetTop + n * this.height - main.clientHeight / 2;
  }
  /** The rows to draw: all of a short list, and those in and around the visible part of a long one. @returns {{first: number, last: number}} */
  window() {
    const { length } = this.rows;
    const main = document.getElementById('main');
    const list = /** @type {HTMLElement | null} */ (document.querySelector('.job-rows'));
    if (length <= WHOLE || !main || !list) return { first: 0, last: Math.min(length, WHOLE) };
    this.height = /** @type {HTMLElement | null} */ (list.querySelector('.job-item'))?.offsetHeight || this.height;
    const first = Math.max(0, Math.min(length - 1, Math.floor((main.scrollTop - list.offsetTop) / this.height)) - AROUND);
    return { first, last: Math.min(length, first + Math.ceil(main.clientHeight / this.height) + 2 * AROUND) };
  }
  view() {
    const filter = filterOf(route().query);
    const key = JSON.stringify(filter);
    if (key === this.loaded) this.refresh();
    // Each letter changes the address; the server is asked when the typing pauses.
    else if (Date.now() - this.typed < PAUSE) setTimeout(emit, PAUSE);
    else this.load();
    const { rows } = this;
    const { first, last } = this.window();
    const space = (/** @type {number} */ count) => (count > 0 ? html`<div class="job-space" ${ref((/** @type {any} */ element) => { if (element instanceof HTMLElement) element.style.height = `${count * this.height}px`; })}></div>` : nothing);
    return html`<div class="page">
      <header class="page-head"><h1>${t('nav_jobs')}</h1><span class="grow"></span>${may('submit') ? html`<a class="button primary" href="/new">${icon('plus')}${t('nav_new')}</a>` : nothing}</header>
      ${this.pills(filter)}
      <div class="filters line wrap"><label class="search-field">${icon('search')}<span class="sr">${t('filter_goal')}</span><input id="filter" type="search" maxlength="200" placeholder=${t('filter_goal')} .value=${route().query.get('q') ?? ''} @input=${(/** @type {any} */ e) => { this.at = 0; this.typed = Date.now(); select({ q: e.target.value }); }}></label>
        ${chips(filter).map(([name, value]) => html`<button class="chip removable" @click=${() => this.drop(name, value)} aria-label="${t('drop_filter')}: ${t(`filter_${name}`)} ${value}">${t(`filter_${name}`)}: ${plain(name === 'since' ? t(`since_${value}`) : value)} ${icon('x')}</button>`)}
        <button @click=${() => openNarrow(filter, () => { this.at = 0; })}>${icon('plus')}${t('add_filter')}</button>
        <span class="grow"></span><span class="muted num">${this.readAt && !(this.problem && !rows.length) ? t(this.more ? 'rows_first' : 'rows_all', { n: rows.length === 1 ? 1 : number(rows.length), time: ago(this.readAt) }) : ''}</span>
        ${may('batch') ? html`<button class="act-on" ?disabled=${!rows.length} @click=${() => this.batch()}>${this.marked.size ? t('act_on_marked', { n: this.marked.size }) : t(narrows(filter) ? 'act_on_matching' : 'act_on_all')}</button>` : nothing}</div>
      ${keptFilters(filter)}
      ${this.problem ? errorBox(this.problem, () => this.load()) : nothing}
      ${this.fresh.length ? html`<button class="fresh" @click=${() => { document.getElementById('main')?.scrollTo({ top: 0 }); this.rows = [...this.fresh, ...this.rows]; this.fresh = []; emit(); }}>${icon('arrow-up')}${t('new_rows', { n: this.fresh.length })}</button>` : nothing}
      ${!this.readAt && !this.problem && Date.now() - this.started > 200 ? skeleton(8) : nothing}
      ${rows.length
        ? html`<div class="job-list ${this.marked.size ? 'marking' : ''}" role="group" aria-label=${t('nav_jobs')}>
          <div class="job-row head" aria-hidden="true"><span></span><span>${t('col_goal')}</span><span>${t('col_why')}</span><span class="c-steps num">${t('col_steps')}</span><span class="c-agent">${t('col_agent')}</span><span class="c-cost num">${t('cost')}</span><span class="num">${t('col_age')}</span></div>
          <div class="job-rows">${space(first)}${repeat(rows.slice(first, last), (/** @type {any} */ job) => job.job, (/** @type {any} */ job, /** @type {number} */ n) => this.row(job, first + n))}${space(rows.length - last)}</div></div>`
        : this.readAt && !this.problem ? this.none(filter) : nothing}
      ${this.more ? html`<div class="more line"><button ?disabled=${this.busy} @click=${() => this.load(true)}>${t('load_more')}</button></div>` : nothing}
    </div>`;
  }
  /** States with their numbers. @param {import('../state/jobfilter.js').Filter} filter */
  pills(filter) {
    const count = cached('count', 5000).value;
    const inbox = cached('inbox', 5000).value;
    const held = cached('attention', 15_000).value;
    // The feed is newer than the count.
    const open = feed.open ? Object.values(feed.open).reduce((sum, n) => sum + n, 0) : count?.open;
    const counts = /** @type {Record<string, number | undefined>} */ ({
      all: count && open + count.completed + count.failed + count.canceled, open, failed: count?.failed, completed: count?.completed, canceled: count?.canceled,
      waiting: feed.open ? WAITING.reduce((sum, state) => sum + (feed.open?.[state] ?? 0), 0) : inbox && new Set(inbox.questions.map((/** @type {any} */ q) => q.job)).size, attention: held?.jobs.length,
    });
    const more = /** @type {Record<string, boolean | undefined>} */ ({ waiting: !feed.open && inbox?.more, attention: held?.more });
    return html`<div class="pills" role="group" aria-label=${t('filter_state')}>${Object.keys(SHOW).map((name) => html`<button class="pill" aria-pressed=${name === filter.show ? 'true' : 'false'} @click=${() => { this.at = 0; select({ show: name === 'all' ? undefined : name }, {}); }}>
      ${TONES[name] ? html`<i class="dot dot-${tone(TONES[name])}"></i>` : nothing}<span>${t(`show_${name}`)}</span><span class="num muted">${counts[name] === undefined ? ' ' : number(counts[name] ?? 0)}${more[name] ? '+' : ''}</span></button>`)}</div>`;
  }
  /** Removes a condition. @param {string} name @param {string} value */
  drop(name, value) {
    this.at = 0;
    select({ [name]: name === 'label' ? filterOf(route().query).labels.filter((label) => label !== value) : undefined });
  }
  /** @param {any} job @param {number} n */
  row(job, n) {
    const state = shown(job);
    const hot = Date.now() - (this.changed.get(job.job) ?? 0) < 700;
    const marked = this.marked.has(job.job);
    const labels = Object.entries(job.labels ?? {});
    return html`<div class="job-item"><input class="c-pick" type="checkbox" tabindex="-1" aria-label="${t('key_mark')}: ${job.goal}" .checked=${marked} @change=${() => this.mark(job.job)}><a class="job-row ${marked ? 'marked' : ''} ${n === this.at ? 'at' : ''} ${hot ? 'hot' : ''}" href="/jobs/${job.job}" @focus=${() => { this.at = n; }}>
      <span class="c-mark">${mark(state)}</span>
      <span class="c-goal cut" title=${job.goal}>${plain(job.goal)}${job.conversation ? html`<span class="chip talk-chip">${plain(job.conversation)}</span>` : nothing}${job.parent ? html`<span class="chip">${t('child')}</span>` : nothing}${labels.slice(0, 3).map(([key, value]) => html`<span class="chip label-chip">${plain(value ? `${key}=${value}` : key)}</span>`)}</span>
      <span class="c-why cut text-${tone(state)}" title=${sentence(job)}>${plain(sentence(job))}</span>
      <span class="c-steps num">${job.steps ? html`${stepBar(job)}<span>${job.steps_done}/${job.steps}</span>` : html`<span class="muted">–</span>`}</span>
      <span class="c-agent muted cut">${job.agent}</span>
      <span class="c-cost num cut">${rowCost(job.spent)}</span>
      <span class="c-age num muted">${when(job.updated)}</span></a></div>`;
  }
  /** @param {import('../state/jobfilter.js').Filter} filter */
  none(filter) {
    if (!narrows(filter))
      return empty(t('no_jobs'), t('no_jobs_text'), html`<div class="stack commands">${command('callboard submit "Summarise notes.md" --wait')}${command('callboard chat')}${command("nats req cb.svc.submit '{\"goal\":\"Summarise notes.md\"}'")}</div>${may('submit') ? html`<a class="button primary" href="/new">${t('nav_new')}</a>` : nothing}`);
    return empty(t('no_match'), t('no_match_text'), html`<div class="line wrap centred">${filter.text ? html`<button @click=${() => select({ q: undefined })}>${t('drop_text')}</button>` : nothing}${filter.show !== 'all' ? html`<button @click=${() => select({ show: undefined })}>${t('drop_state', { state: t(`show_${filter.show}`) })}</button>` : nothing}${chips(filter).map(([name, value]) => html`<button @click=${() => this.drop(name, value)}>${t('drop_one', { filter: `${t(`filter_${name}`)}: ${name === 'since' ? t(`since_${value}`) : value}` })}</button>`)}</div>`);
  }
}

/** A small bar of done and all steps. @param {any} job */
export const stepBar = (job) => html`<svg class="step-bar" viewBox="0 0 40 4" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="40" height="4" rx="2"></rect><rect class="fill-${tone(job.state)}" width=${(40 * Math.min(1, job.steps_done / Math.max(1, job.steps))).toFixed(1)} height="4" rx="2"></rect></svg>`;
