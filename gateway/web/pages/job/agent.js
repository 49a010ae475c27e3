// The policies that the job keeps from its submission, its budget, its costs and its snapshots.

import { html, nothing } from '../../lit.js';
import { api } from '../../api.js';
import { emit } from '../../state/bus.js';
import { spentOf } from '../../state/meter.js';
import { select } from '../../router.js';
import { t } from '../../settings.js';
import { Exact } from '../../exact.js';
import { amount, ms, number, short } from '../../format.js';
import { cost } from '../../parts/cost.js';
import { hasEnded } from '../../parts/mark.js';
import { errorBox, icon, plain, skeleton, when } from '../../parts/ui.js';

/** @param {import('../job.js').JobPage} page @param {any} view */
export function agentTab(page, view) {
  const { memo } = page;
  if (!memo.policiesAsked) {
    memo.policiesAsked = true;
    api.records(page.job, 0, 1).then((reply) => { memo.policies = reply.records[0]?.record?.body?.agent ?? {}; emit(); }, (problem) => { memo.policiesProblem = problem; emit(); });
  }
  const tools = view.tools ?? [];
  return html`<div class="columns">
    <section class="card"><h2>${t('policies')}</h2><p class="muted">${t('policies_text')}</p>${errorBox(memo.policiesProblem)}${memo.policies ? tree(memo.policies) : memo.policiesProblem ? nothing : skeleton(4)}<p><a href="/agents?name=${view.agent}">${t('open_agent', { agent: view.agent })}</a></p></section>
    <div class="stack">
      <section class="card"><h2>${t('budget')}</h2>${view.budget?.length ? view.budget.map((/** @type {any} */ g) => gauge(g.axis === 'time' && !hasEnded(view.state) && !page.past ? { ...g, used: g.used + Math.max(0, Date.now() - ms(view.updated)) } : g)) : html`<p class="muted">${t('no_budget')}</p>`}</section>
      <section class="card"><h2>${t('costs')}</h2><dl class="pairs"><dt>${t('cost')}</dt><dd class="num">${cost(spentOf(view))}</dd><dt>${t('tokens_in')}</dt><dd class="num">${number(view.usage?.input_tokens ?? 0)}</dd><dt>${t('tokens_out')}</dt><dd class="num">${number(view.usage?.output_tokens ?? 0)}</dd>${view.usage?.cached_tokens ? html`<dt>${t('tokens_cached')}</dt><dd class="num">${number(view.usage.cached_tokens)}</dd>` : nothing}${view.usage?.written_tokens ? html`<dt>${t('tokens_written')}</dt><dd class="num">${number(view.usage.written_tokens)}</dd>` : nothing}</dl>
        ${tools.length ? html`<table class="small-table"><thead><tr><th>${t('tool')}</th><th class="num">${t('calls')}</th><th class="num">${t('cost')}</th></tr></thead><tbody>${tools.map((/** @type {any} */ tool) => html`<tr><td><code>${tool.tool}</code></td><td class="num">${tool.calls ?? ''}</td><td class="num">${tool.money === undefined ? t('costs_short', { n: short((tool.usage?.input_tokens ?? 0) + (tool.usage?.output_tokens ?? 0)) }) : amount('money', tool.money)}</td></tr>`)}</tbody></table>` : nothing}</section>
      <section class="card"><h2>${t('snapshots')}</h2>${view.snapshots?.length ? html`<table class="small-table"><tbody>${view.snapshots.map((/** @type {any} */ s) => html`<tr><td>${icon('tag')} ${plain(s.name)}</td><td class="num">#${s.seq}</td><td class="num muted">${when(s.time)}</td><td><button class="small" @click=${() => select({ at: String(s.seq) })}>${t('show_then')}</button></td></tr>`)}</tbody></table>` : html`<p class="muted">${t('no_snapshots')}</p>`}</section>
    </div></div>`;
}

/** @param {{axis: string, used: number, limit: number}} g */
export function gauge(g) {
  const share = Math.min(1, g.limit ? g.used / g.limit : 0);
  const words = t('gauge_words', { used: amount(g.axis, g.used), limit: amount(g.axis, g.limit) });
  return html`<div class="gauge"><div class="line"><span class="grow">${t(`axis_${g.axis}`)}</span><span class="num muted">${words}</span></div><svg viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="${t(`axis_${g.axis}`)} ${words}"><rect class="track" width="100" height="4" rx="2"></rect><rect class="fill-${share > 0.9 ? 'failed' : share > 0.7 ? 'wait' : 'work'}" width=${(share * 100).toFixed(1)} height="4" rx="2"></rect></svg></div>`;
}

/** Nested settings as a tree of keys. @param {any} value @returns {unknown} */
export function tree(value) {
  if (value === null || typeof value !== 'object' || value instanceof Exact) return html`<span class="leaf">${plain(String(value))}</span>`;
  if (Array.isArray(value)) return value.every((item) => item === null || typeof item !== 'object') ? html`<span class="leaf">${plain(value.join(', '))}</span>` : value.map((item) => html`<div class="tree-item">${tree(item)}</div>`);
  return html`<dl class="tree">${Object.entries(value).map(([key, item]) => html`<dt>${key}</dt><dd>${tree(item)}</dd>`)}</dl>`;
}
