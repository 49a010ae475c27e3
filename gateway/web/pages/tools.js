// Tools: their schemas, effects and approvals, and a form that runs one as a job.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { cached, stale } from '../state/cache.js';
import { may } from '../state/rights.js';
import { go, route, select } from '../router.js';
import { settings, t } from '../settings.js';
import { duration, json } from '../format.js';
import { copyAs } from '../parts/copyas.js';
import { offer } from '../parts/palette.js';
import { fieldsOf, read, schemaForm, startValues } from '../parts/schemaform.js';
import { command, denied, empty, errorBox, icon, plain, skeleton } from '../parts/ui.js';

/** @param {any} tool */
const describe = (tool) => tool.translations?.[settings.language]?.description ?? tool.description;

export class ToolsPage {
  constructor() {
    /** @type {Map<string, {values: any, mistakes: any, problem?: any, busy: boolean}>} */
    this.forms = new Map();
    this.text = '';
    this.keys = { '/': () => document.getElementById('tool-filter')?.focus(), Escape: () => select({ name: undefined }) };
    this.help = /** @type {[string, string][]} */ ([['/', 'key_filter']]);
    offer(() => []);
  }
  title() {
    return t('nav_tools');
  }
  view() {
    const cell = cached('tools', 5000);
    const tools = (cell.value?.tools ?? []).filter((/** @type {any} */ tool) => `${tool.name} ${describe(tool)}`.toLowerCase().includes(this.text.toLowerCase()));
    const workers = cell.value?.workers;
    const asked = route().query.get('name');
    const name = asked ?? (innerWidth <= 720 ? null : cell.value?.tools[0]?.name);
    const chosen = (cell.value?.tools ?? []).find((/** @type {any} */ tool) => tool.name === name);
    return html`<div class="two ${asked && chosen ? 'has-choice' : ''}"><section class="two-list">
      <header class="page-head"><h1>${t('nav_tools')}</h1><span class="muted num">${cell.value?.tools.length ?? ''}</span></header>
      <label class="search-field">${icon('search')}<span class="sr">${t('filter_text')}</span><input id="tool-filter" type="search" placeholder=${t('filter_tools')} .value=${this.text} @input=${(/** @type {any} */ e) => { this.text = e.target.value; emit(); }}></label>
      ${cell.problem ? errorBox(cell.problem, () => stale('tools')) : nothing}${cell.value || cell.problem ? nothing : skeleton(6)}
      ${tools.map((/** @type {any} */ tool) => html`<a class="item ${tool.name === name ? 'at' : ''}" href="/tools?name=${tool.name}"><span class="line"><code class="tool-name">${tool.name}</code><span class="end line tight">${workers && !workers[tool.name] ? html`<span class="chip warn">${t('no_workers')}</span>` : nothing}${tool.effect === 'once' ? html`<span class="chip warn">once</span>` : html`<span class="chip">${tool.effect}</span>`}</span></span><span class="muted cut">${plain(describe(tool))}</span></a>`)}
      ${cell.value && !tools.length ? empty(t('no_tools'), t('no_tools_text'), html`<div class="commands">${command('callboard serve --roles tools')}</div>`) : nothing}
      ${cell.value?.refused?.length ? html`<h2 class="section-head">${t('refused_tools')}</h2>${cell.value.refused.map((/** @type {any} */ r) => html`<p class="warn-line"><code>${plain(r.name)}</code> ${plain(r.why)}</p>`)}` : nothing}
    </section><section class="two-main">${chosen ? this.one(chosen, workers) : html`<div class="inbox-none muted">${t('choose_tool')}</div>`}</section></div>`;
  }
  /** @param {any} tool @param {any} workers */
  one(tool, workers) {
    const fields = fieldsOf(tool.schema, tool);
    let form = this.forms.get(tool.name);
    if (!form) this.forms.set(tool.name, (form = { values: startValues(fields), mistakes: {}, busy: false }));
    const state = form;
    // The same body for the button and for other clients.
    const bodyOf = (/** @type {any} */ args) => ({ goal: `/${tool.name} ${JSON.stringify(args)}`.slice(0, 1000), call: { tool: tool.name, args } });
    const body = bodyOf(read(fields, state.values).value);
    const run = async () => {
      const { value, mistakes } = read(fields, state.values);
      state.mistakes = mistakes;
      state.problem = undefined;
      if (Object.keys(mistakes).length) return emit();
      state.busy = true;
      emit();
      try {
        const reply = await api.submit(bodyOf(value));
        go(`/jobs/${reply.job}`);
      } catch (problem) {
        state.problem = problem;
      } finally {
        state.busy = false;
        emit();
      }
    };
    return html`<a class="back button ghost" href="/tools">${icon('chevron-left')}${t('nav_tools')}</a>
      <header class="page-head"><h1 class="mono">${tool.name}</h1></header><p>${plain(describe(tool))}</p>
      <dl class="pairs wide"><dt>${t('effect')}</dt><dd><code>${tool.effect}</code> — ${t(`effect_${tool.effect}`)}</dd><dt>${t('approval')}</dt><dd>${t(`approval_${tool.approval}`)}</dd>${tool.destructive ? html`<dt>${t('destructive')}</dt><dd>${t('destructive_text')}</dd>` : nothing}
        <dt>${t('workers')}</dt><dd class=${workers && !workers[tool.name] ? 'failed-text' : ''}>${workers ? workers[tool.name] ?? 0 : '–'} · ${t('pool')} <code>${tool.pool}</code></dd><dt>${t('timeout')}</dt><dd>${duration(tool.timeout_ms)}</dd><dt>${t('concurrency')}</dt><dd>${tool.concurrency}</dd><dt>${t('version_word')}</dt><dd>${tool.version}</dd></dl>
      <section class="card"><h2>${t('try_tool')}</h2><p class="muted">${t('try_tool_text')}</p>
        <form class="stack" @submit=${(/** @type {Event} */ e) => { e.preventDefault(); run(); }}>${schemaForm(`try-${tool.name}`, fields, state.values, state.mistakes, state.busy)}${fields.length ? nothing : html`<p class="muted">${t('no_arguments')}</p>`}${denied('submit')}${errorBox(state.problem)}
        <div class="line wrap"><button class="primary" ?disabled=${state.busy || !may('submit')}>${state.busy ? t('sending') : t('run_tool')}</button><span class="grow"></span>${copyAs({ cli: ['tools', 'call', tool.name, '--args', JSON.stringify(body.call.args)], verb: 'submit', nats: body, method: 'POST', path: 'jobs', body })}</div></form></section>
      <details><summary>${t('schema')}</summary><pre class="block" tabindex="0">${json(tool.schema)}</pre></details>`;
  }
}
