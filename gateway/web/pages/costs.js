// The cost of jobs: by day, agent, model, tool and job.

import { html, nothing, svg } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { route, select } from '../router.js';
import { t } from '../settings.js';
import { ago, exact, money, ms, number, short } from '../format.js';
import { bars, everyDay, roundUp } from '../parts/bars.js';
import { cost, tokenCount, tokens } from '../parts/cost.js';
import { mark } from '../parts/mark.js';
import { offer } from '../parts/palette.js';
import { command, empty, errorBox, icon, plain, segments, skeleton, when } from '../parts/ui.js';

const WINDOWS = ['7', '30', '90'];
const USUAL = '30';
const DAY = 86_400_000;
const BOX = { width: 1000, height: 100, gap: 0.25 };
/** The report reads up to 2,000 jobs, so it is not read more often by itself. */
const FRESH = 300_000;

const figures = () => html`<th class="num">${t('nav_jobs')}</th><th class="num">${t('tokens')}</th><th class="num">${t('cost')}</th>`;
/** @param {any} one */
const row = (one) => html`<td class="num" data-name=${t('nav_jobs')}>${number(one.jobs)}</td><td class="num" data-name=${t('tokens')}>${tokenCount(one)}</td><td class="num" data-name=${t('cost')}>${cost(one)}</td>`;

export class CostsPage {
  constructor() {
    /** @type {any} */
    this.report = undefined;
    /** @type {any} */
    this.problem = undefined;
    this.loaded = '';
    this.readAt = 0;
    this.started = Date.now();
    this.keys = { '/': () => document.getElementById('cost-agent')?.focus() };
    this.help = /** @type {[string, string][]} */ ([['/', 'key_filter']]);
    offer(() => []);
  }
  title() {
    return t('nav_costs');
  }
  tick() {
    if (Date.now() - this.readAt > FRESH && !document.hidden) this.loaded = '';
  }
  chosen() {
    const { query } = route();
    const days = query.get('days') ?? '';
    const by = query.get('by') ?? '';
    return { days: WINDOWS.includes(days) ? days : USUAL, agent: query.get('agent') ?? '', by: ['money', 'tokens'].includes(by) ? by : '' };
  }
  load() {
    const { days, agent } = this.chosen();
    const key = `${days}|${agent}`;
    if (key === this.loaded) return;
    this.loaded = key;
    this.readAt = Date.now();
    // Whole days, today included, so that every bar is a whole day.
    const since = new Date((Math.floor(Date.now() / DAY) - Number(days) + 1) * DAY).toISOString();
    const settle = (/** @type {any} */ report, /** @type {any} */ problem) => {
      if (this.loaded !== key) return;
      if (report) this.report = report;
      this.problem = problem;
      emit();
    };
    api.usage({ since, agent }).then((report) => settle(report, undefined), (problem) => settle(undefined, problem));
  }
  view() {
    this.load();
    const { days, agent } = this.chosen();
    const report = this.report;
    return html`<div class="page costs"><header class="page-head"><h1>${t('nav_costs')}</h1><span class="muted num">${report ? t('rows_all', { n: report.jobs === 1 ? 1 : number(report.jobs), time: ago(this.readAt) }) : ''}</span><span class="grow"></span>
        <label class="search-field">${icon('search')}<span class="sr">${t('costs_agent')}</span><input id="cost-agent" type="search" placeholder=${t('costs_agent')} .value=${agent} @change=${(/** @type {any} */ e) => select({ agent: e.target.value.trim() })}></label>
        ${segments(t('costs_window'), WINDOWS.map((n) => /** @type {[string, string]} */ ([n, t('costs_days', { n })])), days, (value) => select({ days: value === USUAL ? undefined : value }))}</header>
      ${this.problem ? errorBox(this.problem, () => { this.loaded = ''; emit(); }) : nothing}
      ${report || this.problem || Date.now() - this.started < 200 ? nothing : skeleton(6)}
      ${report ? this.found(report) : nothing}</div>`;
  }
  /** @param {any} report */
  found(report) {
    if (!report.jobs) return empty(t('costs_none'), t('costs_none_text'), html`<div class="commands">${command('callboard usage --since 90d')}</div>`);
    const unpriced = tokens(report.unpriced);
    const cached = report.usage?.cached_tokens ?? 0;
    const written = report.usage?.written_tokens ?? 0;
    return html`<div class="tiles costs-tiles">
        <div class="tile"><span class="tile-number num">${cost(report)}</span><span>${t('cost')}</span></div>
        <div class="tile"><span class="tile-number num">${short(report.usage?.input_tokens ?? 0)}</span><span>${t('costs_in')}${cached ? html` <span class="muted">(${t('costs_cached', { n: short(cached) })})</span>` : nothing}${written ? html` <span class="muted">(${t('costs_written', { n: short(written) })})</span>` : nothing}</span></div>
        <div class="tile"><span class="tile-number num">${short(report.usage?.output_tokens ?? 0)}</span><span>${t('costs_out')}</span></div>
        <div class="tile"><span class="tile-number num">${number(report.jobs)}</span><span>${t('nav_jobs')}</span></div></div>
      ${unpriced ? html`<p class="warn-line">${icon('triangle-alert')}<span>${t('costs_unpriced', { n: unpriced === 1 ? 1 : number(unpriced) })} ${t('costs_set_price')} <code>model.price</code>, <code>model.known</code></span></p>` : nothing}
      ${report.more ? html`<p class="muted">${t('costs_reached', { time: exact(report.reached) })}</p>` : nothing}
      ${this.daily(report)}
      <div class="costs-parts">${this.part(t('costs_by_agent'), report.agents, true)}${this.part(t('costs_by_model'), report.models)}${this.part(t('costs_by_tool'), report.tools)}</div>
      ${report.dearest.length ? html`<section class="card"><h2>${t('costs_dearest')}</h2><div class="scroll" tabindex="0" role="group" aria-label=${t('costs_dearest')}><table class="table small-table"><thead><tr><th>${t('goal')}</th><th>${t('agent')}</th><th class="num">${t('tokens')}</th><th class="num">${t('cost')}</th><th class="num">${t('started')}</th></tr></thead><tbody>
        ${report.dearest.map((/** @type {any} */ one) => html`<tr><td><a class="line tight" href="/jobs/${one.job}">${mark(one.state)}<span class="break">${plain(one.goal)}</span></a></td><td data-name=${t('agent')}>${one.agent}</td><td class="num" data-name=${t('tokens')}>${tokenCount(one)}</td><td class="num" data-name=${t('cost')}>${cost(one)}</td><td class="num" data-name=${t('started')}>${when(one.created)}</td></tr>`)}</tbody></table></div></section>` : nothing}`;
  }
  /** The chart of days, with its table. @param {any} report */
  daily(report) {
    // Where no price is known, tokens say more than an empty chart.
    const by = this.chosen().by || (report.money === undefined ? 'tokens' : 'money');
    const days = everyDay(report.days, ms(report.since), report.until ? ms(report.until) : Date.now());
    const values = days.map((one) => (by === 'money' ? one.money : one.input + one.output));
    const most = Math.max(...values);
    const top = roundUp(most);
    const say = (/** @type {number} */ value) => (by === 'money' ? money(value) : short(value));
    return html`<section class="card"><div class="line wrap"><h2>${t('costs_by_day')}</h2><span class="grow"></span>${segments(t('costs_show'), [['money', t('cost')], ['tokens', t('tokens')]], by, (value) => select({ by: value }))}</div>
      <div class="costs-daily"><figure class="bars"><div class="bars-plot"><span class="bars-top num muted">${say(top)}</span>
          <svg viewBox="0 0 ${BOX.width} ${BOX.height}" preserveAspectRatio="none" role="img" aria-label=${t('costs_chart', { days: days.length, day: days[values.indexOf(most)].day, most: say(most) })}>
            ${[0, 50].map((y) => svg`<line class="bars-line" x1="0" x2=${BOX.width} y1=${y} y2=${y}></line>`)}
            ${bars(values, BOX, top).map((bar, n) => svg`<g><rect class="bars-day" x=${((n * BOX.width) / values.length).toFixed(2)} y="0" width=${(BOX.width / values.length).toFixed(2)} height=${BOX.height}><title>${days[n].day}: ${say(values[n])}</title></rect><rect class="bars-bar" x=${bar.x.toFixed(2)} y=${bar.y.toFixed(2)} width=${bar.width.toFixed(2)} height=${bar.height.toFixed(2)}></rect></g>`)}
            <line class="bars-ground" x1="0" x2=${BOX.width} y1=${BOX.height} y2=${BOX.height}></line></svg>
          <div class="line bars-ends muted num"><span>${days[0].day}</span><span class="grow"></span><span>${days[days.length - 1].day}</span></div></div></figure>
        <div class="scroll costs-table" tabindex="0" role="group" aria-label=${t('costs_by_day')}><table class="table small-table"><thead><tr><th>${t('costs_day')}</th>${figures()}</tr></thead><tbody>${[...report.days].reverse().map((/** @type {any} */ one) => html`<tr><td>${one.day}</td>${row(one)}</tr>`)}</tbody></table></div></div></section>`;
  }
  /** @param {string} title @param {any[]} names @param {boolean} [selects] a click shows the costs of that agent alone */
  part(title, names, selects = false) {
    return html`<section class="card"><h2>${title}</h2>${names.length ? html`<div class="scroll" tabindex="0" role="group" aria-label=${title}><table class="table small-table"><thead><tr><th>${t('name')}</th>${figures()}</tr></thead><tbody>
      ${names.map((one) => html`<tr><td>${selects ? html`<button class="link" @click=${() => select({ agent: one.name })}>${one.name}</button>` : html`<code class="break">${plain(one.name)}</code>`}</td>${row(one)}</tr>`)}</tbody></table></div>` : html`<p class="muted">${t('costs_nothing')}</p>`}</section>`;
  }
}
