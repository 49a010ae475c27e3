// The findings of `callboard doctor` that the front door can tell: roles, shards, versions, tools, queues, agents and jobs
// that wait for an operator. Those about the broker need its rights, so the page names the command.

import { html, nothing } from '../lit.js';
import { cached, stale } from '../state/cache.js';
import { poolsMissing, rolesMissing, served } from '../state/unserved.js';
import { may } from '../state/rights.js';
import { t } from '../settings.js';
import { duration, ms, number } from '../format.js';
import { openAction } from '../parts/actions.js';
import { mark } from '../parts/mark.js';
import { offer } from '../parts/palette.js';
import { command, denied, errorBox, plain, skeleton, when } from '../parts/ui.js';
import { sentence } from '../parts/why.js';

const ROLES = ['supervisor', 'planner', 'executor', 'tools', 'interaction', 'door'];
/** Jobs that are named. */
const NAMED = 20;

export class HealthPage {
  constructor() {
    offer(() => []);
  }
  title() {
    return t('nav_health');
  }
  view() {
    const cells = { crew: cached('crew', 4000), tools: cached('tools', 10_000), agents: cached('agents', 30_000), attention: cached('attention', 15_000), dead: cached('dead', 5000) };
    const problem = Object.values(cells).find((cell) => cell.problem)?.problem;
    const letters = cells.dead.value?.letters ?? [];
    return html`<div class="page health"><header class="page-head"><h1>${t('nav_health')}</h1></header>
      ${errorBox(problem, () => Object.keys(cells).forEach(stale))}
      <ul class="card findings">
        ${cells.crew.value ? this.ofCrew(cells.crew.value) : html`<li class="finding">${skeleton(3)}</li>`}
        ${cells.tools.value ? this.ofTools(cells.tools.value) : nothing}
        ${cells.agents.value ? this.ofAgents(cells.agents.value.agents) : nothing}
        ${cells.attention.value ? this.ofJobs(cells.attention.value, rolesMissing(cells.crew.value)) : nothing}
        ${cells.dead.value ? finding(!letters.length, letters.length ? t('dead_count', { n: many(letters.length, cells.dead.value.more) }) : t('no_dead')) : nothing}
      </ul>
      <p class="muted">${t('doctor_rest')}</p>${command('callboard doctor')}
      ${this.held(cells.attention.value?.jobs ?? [])}
      ${this.letters(letters)}
    </div>`;
  }
  /** @param {any} crew */
  ofCrew(crew) {
    const missing = rolesMissing(crew, ROLES);
    const versions = [...new Set(crew.workers.map((/** @type {any} */ w) => w.version))];
    const draining = crew.workers.filter((/** @type {any} */ w) => w.draining);
    const owned = new Set(crew.workers.flatMap((/** @type {any} */ w) => w.shards ?? [])).size;
    const shards = cached('about', 60_000).value?.shards;
    const queued = (crew.queues ?? []).filter((/** @type {any} */ queue) => queue.waiting);
    return html`${finding(!missing.length, missing.length ? t('no_role', { roles: missing.join(', ') }) : t('all_roles'), missing.length ? command(`callboard serve --roles ${missing.join(',')}`) : nothing)}
      ${shards === undefined || missing.includes('supervisor') ? nothing : finding(owned >= shards, owned < shards ? t('shards_unowned', { owned, n: shards }) : t('shards_all', { n: shards }))}
      ${finding(versions.length < 2, versions.length < 2 ? t('one_version', { version: versions.join() }) : t('many_versions', { versions: versions.join(', ') }))}
      ${draining.length ? finding(true, t('draining_now', { names: draining.map((/** @type {any} */ w) => w.worker).join(', ') })) : nothing}
      ${finding(queued.every((/** @type {any} */ queue) => served(crew.workers, queue)), queued.length ? t('queues_wait') : t('queues_empty'), queued.length ? html`<ul class="line wrap">${queued.map((/** @type {any} */ queue) => html`<li class="chip"><code>${queue.kind}.${queue.pool}</code> ${number(queue.waiting)}</li>`)}</ul>` : nothing)}`;
  }
  /** @param {any} tools */
  ofTools(tools) {
    const idle = tools.workers ? tools.tools.filter((/** @type {any} */ tool) => !tools.workers[tool.name]) : [];
    return html`${finding(!idle.length, idle.length ? t('idle_tools', { tools: idle.map((/** @type {any} */ tool) => tool.name).join(', ') }) : t('all_tools'))}
      ${tools.refused?.length ? finding(false, t('refused_count', { n: tools.refused.length }), html`<a href="/tools">${t('nav_tools')}</a>`) : nothing}`;
  }
  /** @param {any[]} agents */
  ofAgents(agents) {
    const wrong = agents.filter((agent) => agent.mistakes?.length || agent.ignored);
    return finding(!wrong.length, wrong.length ? t('agents_wrong') : t('agents_right', { n: agents.length }), wrong.map((agent) => html`<a class="chip" href="/agents?name=${agent.name}">${agent.name}</a> `));
  }
  /** @param {any} attention @param {string[]} missing */
  ofJobs({ jobs, more }, missing) {
    return html`${poolsMissing(jobs, missing).map((one) => finding(false, t('no_pool', { pool: `${one.kind}.${one.pool}`, n: one.jobs }), one.command ? command(one.command) : nothing))}
      ${finding(!jobs.length && !more, jobs.length || more ? t('jobs_held', { n: many(jobs.length, more) }) : t('jobs_free'), jobs.length || more ? html`<a href="/jobs?show=attention">${t('show_attention')}</a>` : nothing)}`;
  }
  /** The jobs that the installation holds, those that wait longest first. @param {any[]} jobs */
  held(jobs) {
    if (!jobs.length) return nothing;
    const oldest = [...jobs].sort((a, b) => ms(a.why?.since ?? a.updated) - ms(b.why?.since ?? b.updated)).slice(0, NAMED);
    return html`<h2 class="section-head">${t('show_attention')}</h2><ul class="step-list">${oldest.map((job) => html`<li><a class="step-row line" href="/jobs/${job.job}">${mark('attention', true)}<span class="grow cut">${plain(job.goal)}<span class="muted"> · ${plain(sentence(job))}</span></span><span class="muted num">${duration(Date.now() - ms(job.why?.since ?? job.updated))}</span></a></li>`)}</ul>`;
  }
  /** @param {any[]} letters */
  letters(letters) {
    if (!letters.length) return nothing;
    return html`<h2 class="section-head">${t('dead_letters')}</h2>${denied('signal')}<div class="scroll" tabindex="0" role="group" aria-label=${t('dead_letters')}><table class="table letters"><thead><tr><th>${t('job_id')}</th><th>${t('kind')}</th><th>${t('col_why')}</th><th class="num">${t('record')}</th><th class="num">${t('since_word')}</th><th></th></tr></thead><tbody>
      ${letters.map((l) => html`<tr><td><a href="/jobs/${l.job}">${l.job}</a>${l.work ? html`<div class="muted mono">${l.work}#${l.attempt}</div>` : nothing}</td><td><span class="chip warn">${t(`dead_${l.kind}`)}</span></td><td class="break">${plain(l.reason ?? '')}</td><td class="num"><a href="/jobs/${l.job}?tab=log&log=records&event=${l.seq}">#${l.seq}</a></td><td class="num">${when(l.since)}</td><td class="num"><button class="small" ?disabled=${!may('signal')} @click=${() => openAction('retry', { job: l.job, done: () => stale('dead') })}>${t('act_retry')}</button></td></tr>`)}</tbody></table></div>`;
  }
}

/** A number for a text that has a form for one. @param {number} n @param {boolean} more */
const many = (n, more) => (n === 1 && !more ? 1 : `${number(n)}${more ? '+' : ''}`);
/** @param {boolean} ok @param {unknown} words @param {unknown} [more] */
const finding = (ok, words, more = nothing) => html`<li class="finding">${mark(ok ? 'completed' : 'attention')}<div class="grow"><p>${words}</p>${more}</div></li>`;
