// The live processes: roles, shards, load of their pools; and the commands that wait in the queue of each pool.

import { html, nothing } from '../lit.js';
import { cached, stale } from '../state/cache.js';
import { served } from '../state/unserved.js';
import { t } from '../settings.js';
import { number } from '../format.js';
import { offer } from '../parts/palette.js';
import { command, empty, errorBox, plain, skeleton, when } from '../parts/ui.js';

const ROLES = ['supervisor', 'planner', 'executor', 'tools', 'interaction', 'door'];

export class CrewPage {
  constructor() {
    this.started = Date.now();
    offer(() => []);
  }
  title() {
    return t('nav_crew');
  }
  view() {
    const cell = cached('crew', 2000);
    const workers = cell.value?.workers ?? [];
    const queues = (cell.value?.queues ?? []).filter((/** @type {any} */ queue) => queue.waiting || served(workers, queue));
    const shards = new Set(workers.flatMap((/** @type {any} */ w) => w.shards ?? []));
    return html`<div class="page"><header class="page-head"><h1>${t('nav_crew')}</h1><span class="muted num">${cell.value ? t('processes', { n: workers.length }) : ''}</span></header>
      ${cell.problem ? errorBox(cell.problem, () => stale('crew')) : nothing}${!cell.value && !cell.problem && Date.now() - this.started > 200 ? skeleton(3) : nothing}
      ${cell.value ? html`<div class="tiles">${ROLES.map((role) => {
        const n = workers.filter((/** @type {any} */ w) => w.roles.includes(role)).length;
        return html`<div class="tile ${n ? '' : 'missing'}"><span class="tile-number num">${n}</span><span>${role}</span>${n ? nothing : html`<span class="text-attn">${t('none_runs')}</span>`}</div>`;
      })}<div class="tile"><span class="tile-number num">${shards.size}</span><span>${t('shards_owned')}</span></div></div>` : nothing}
      ${workers.length ? html`<div class="scroll" tabindex="0" role="group" aria-label=${t('nav_crew')}><table class="table processes"><thead><tr><th>${t('process')}</th><th>${t('roles')}</th><th>${t('pools')}</th><th>${t('shards')}</th><th>${t('version_word')}</th><th class="num">${t('up_since')}</th></tr></thead><tbody>
        ${workers.map((/** @type {any} */ w) => html`<tr><td><strong>${plain(w.worker)}</strong><div class="muted mono">${plain(w.host)}:${w.pid}</div>${w.draining ? html`<span class="chip warn">${t('draining')}</span>` : nothing}</td><td>${w.roles.map((/** @type {string} */ r) => html`<span class="chip">${r}</span> `)}</td>
          <td class="pools">${(w.pools ?? []).map((/** @type {any} */ p) => html`<div class="pool-line"><code>${p.pool}</code><svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="4" rx="2"></rect><rect class="fill-work" width=${(100 * Math.min(1, p.in_flight / Math.max(1, p.capacity))).toFixed(1)} height="4" rx="2"></rect></svg><span class="num muted">${p.in_flight} / ${p.capacity}</span></div>`)}</td>
          <td data-name=${t('shards')}>${(w.shards ?? []).join(' ')}</td><td data-name=${t('version_word')}>${w.version}</td><td class="num" data-name=${t('up_since')}>${when(w.started_ms)}</td></tr>`)}</tbody></table></div>` : cell.value ? empty(t('no_crew'), t('no_crew_text'), html`<div class="commands">${command('callboard serve')}</div>`) : nothing}
      ${queues.length ? html`<h2 class="section-head">${t('queues')}</h2><p class="muted">${t('queues_about')}</p><div class="scroll" tabindex="0" role="group" aria-label=${t('queues')}><table class="table queues"><thead><tr><th>${t('queue_pool')}</th><th class="num">${t('queue_waiting')}</th><th class="num">${t('workers')}</th></tr></thead><tbody>
        ${queues.map((/** @type {any} */ queue) => html`<tr><td><code>${queue.kind}.${queue.pool}</code></td><td class="num">${number(queue.waiting)}</td><td class="num">${served(workers, queue) || html`<span class="text-attn">${t('no_workers')}</span>`}</td></tr>`)}</tbody></table></div>` : nothing}</div>`;
  }
}
