// What waits for an operator: missing roles, tools without workers, dead letters.

import { html, nothing } from '../lit.js';
import { cached, stale } from '../state/cache.js';
import { t } from '../settings.js';
import { openAction } from '../parts/actions.js';
import { mark } from '../parts/mark.js';
import { offer } from '../parts/palette.js';
import { command, errorBox, plain, skeleton, when } from '../parts/ui.js';

export class HealthPage {
  constructor() {
    offer(() => []);
  }
  title() {
    return t('nav_health');
  }
  view() {
    const dead = cached('dead', 4000);
    const crew = cached('crew', 4000);
    const tools = cached('tools', 10_000);
    const roles = new Set((crew.value?.workers ?? []).filter((/** @type {any} */ w) => !w.draining).flatMap((/** @type {any} */ w) => w.roles));
    const missing = crew.value ? ['supervisor', 'planner', 'executor', 'tools', 'interaction', 'door'].filter((role) => !roles.has(role)) : [];
    const idle = tools.value?.workers ? tools.value.tools.filter((/** @type {any} */ tool) => !tools.value.workers[tool.name]) : [];
    const versions = new Set((crew.value?.workers ?? []).map((/** @type {any} */ w) => w.version));
    const letters = dead.value?.letters ?? [];
    const finding = (/** @type {boolean} */ ok, /** @type {unknown} */ words, /** @type {unknown} */ more = nothing) => html`<li class="finding">${mark(ok ? 'completed' : 'attention')}<div class="grow"><p>${words}</p>${more}</div></li>`;
    return html`<div class="page health"><header class="page-head"><h1>${t('nav_health')}</h1></header>
      ${[dead, crew].map((cell) => (cell.problem ? errorBox(cell.problem, () => stale('dead')) : nothing))}
      <ul class="card findings">
        ${crew.value ? finding(!missing.length, missing.length ? t('no_role', { roles: missing.join(', ') }) : t('all_roles'), missing.length ? command(`callboard serve --roles ${missing.join(',')}`) : nothing) : skeleton(1)}
        ${tools.value ? finding(!idle.length, idle.length ? t('idle_tools', { tools: idle.map((/** @type {any} */ tool) => tool.name).join(', ') }) : t('all_tools')) : nothing}
        ${tools.value?.refused?.length ? finding(false, t('refused_count', { n: tools.value.refused.length }), html`<a href="/tools">${t('nav_tools')}</a>`) : nothing}
        ${crew.value ? finding(versions.size < 2, versions.size < 2 ? t('one_version', { version: [...versions].join() }) : t('many_versions', { versions: [...versions].join(', ') })) : nothing}
        ${dead.value ? finding(!letters.length, letters.length ? t('dead_count', { n: `${letters.length}${dead.value.more ? '+' : ''}` }) : t('no_dead')) : nothing}
      </ul>
      ${letters.length ? html`<h2 class="section-head">${t('dead_letters')}</h2><div class="scroll" tabindex="0" role="group" aria-label=${t('dead_letters')}><table class="table"><thead><tr><th>${t('job_id')}</th><th>${t('kind')}</th><th>${t('col_why')}</th><th class="num">${t('record')}</th><th class="num">${t('since_word')}</th><th></th></tr></thead><tbody>
        ${letters.map((/** @type {any} */ l) => html`<tr><td><a href="/jobs/${l.job}">${l.job}</a>${l.work ? html`<div class="muted mono">${l.work}#${l.attempt}</div>` : nothing}</td><td><span class="chip warn">${t(`dead_${l.kind}`)}</span></td><td>${plain(l.reason ?? '')}</td><td class="num"><a href="/jobs/${l.job}?tab=log&log=records&event=${l.seq}">#${l.seq}</a></td><td class="num">${when(l.since)}</td><td class="num"><button class="small" @click=${() => openAction('retry', { job: l.job, done: () => stale('dead') })}>${t('act_retry')}</button></td></tr>`)}</tbody></table></div>` : nothing}
    </div>`;
  }
}
