// Agents: the list with their layers, and the text of one with its history.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { cached, stale } from '../state/cache.js';
import { may } from '../state/rights.js';
import { route, select } from '../router.js';
import { t } from '../settings.js';
import { AgentEditor } from '../parts/agenteditor.js';
import { copyAs } from '../parts/copyas.js';
import { openDialog } from '../parts/dialog.js';
import { offer } from '../parts/palette.js';
import { copyButton, denied, errorBox, icon, plain, skeleton, toast } from '../parts/ui.js';
import { History } from './history.js';
import { tree } from './job/agent.js';

export class AgentsPage {
  constructor() {
    /** @type {Map<string, any>} */
    this.details = new Map();
    /** @type {Map<string, History>} */
    this.histories = new Map();
    /** @type {AgentEditor | undefined} */
    this.edit = undefined;
    this.keys = { Escape: () => { if (!this.edit) select({ name: undefined }); } };
    offer(() => []);
  }
  title() {
    return t('nav_agents');
  }
  /** @param {string} name */
  detail(name) {
    if (!this.details.has(name)) {
      this.details.set(name, {});
      api.agents(name).then((reply) => this.details.set(name, { agent: reply.agents[0] }), (problem) => this.details.set(name, { problem })).finally(emit);
    }
    return this.details.get(name);
  }
  /** @param {{name: string, text: string, revision: number, isNew: boolean, before: string}} agent */
  open(agent) {
    const presets = (cached('agents').value?.agents ?? []).map((/** @type {any} */ a) => a.name);
    const closed = () => { this.edit = undefined; emit(); };
    this.edit = new AgentEditor({ ...agent, presets }, { closed, saved: (name) => { this.edit = undefined; this.changed(name); select({ name }); } });
    emit();
  }
  /** Reads an agent again. @param {string} name */
  changed(name) {
    this.details.delete(name);
    this.histories.delete(name);
    stale('agents');
  }
  /** @param {string} name */
  history(name) {
    if (!this.histories.has(name)) this.histories.set(name, new History(name, (one) => this.changed(one)));
    return /** @type {History} */ (this.histories.get(name)).view();
  }
  /** @param {any} agent */
  drop(agent) {
    openDialog({ title: t('drop_agent', { name: agent.name }), confirm: t('delete'), danger: true, body: () => html`<p class="consequence">${t('say_drop')}</p>${copyAs({ cli: ['agents', 'drop', agent.name], verb: 'drop_agent', nats: { name: agent.name }, method: 'DELETE', path: `agents/${agent.name}`, body: undefined })}`, run: async () => { await api.dropAgent(agent.name); this.changed(agent.name); select({ name: undefined }); toast(t('agent_dropped', { name: agent.name })); } });
  }
  view() {
    const cell = cached('agents', 10_000);
    const agents = cell.value?.agents ?? [];
    const asked = route().query.get('name') ?? '';
    // Beside the list there is room for one: the agent of a job that names none.
    const name = asked || (innerWidth <= 720 || !agents.length ? '' : agents.find((/** @type {any} */ a) => a.name === 'default')?.name ?? agents[0].name);
    return html`<div class="two ${asked || this.edit ? 'has-choice' : ''}"><section class="two-list">
        <header class="page-head"><h1>${t('nav_agents')}</h1><span class="muted num">${agents.length || ''}</span><span class="grow"></span>${may('set_agent') ? html`<button @click=${() => this.open({ name: '', text: `extends: ${name || 'default'}\nabout: \n`, isNew: true, revision: 0, before: '' })}>${icon('plus')}${t('new_agent')}</button>` : nothing}</header>
        ${cell.problem ? errorBox(cell.problem, () => stale('agents')) : nothing}${cell.value ? nothing : skeleton(6)}
        ${agents.map((/** @type {any} */ a) => html`<a class="item ${a.name === name ? 'at' : ''}" href="/agents?name=${a.name}" @click=${() => { this.edit = undefined; }}><span class="line"><strong>${a.name}</strong>${a.extends ? html`<span class="muted">← ${a.extends}</span>` : nothing}<span class="chip end">${t(`layer_${a.layer}`)}</span></span><span class="muted">${plain(a.about ?? '')}</span></a>`)}
      </section><section class="two-main">${this.edit ? this.edit.view() : name ? this.one(name) : html`<div class="inbox-none muted">${t('choose_agent')}</div>`}</section></div>`;
  }
  /** @param {string} name */
  one(name) {
    const { agent, problem } = this.detail(name);
    const back = html`<a class="back button ghost" href="/agents">${icon('chevron-left')}${t('nav_agents')}</a>`;
    if (problem) return html`${back}${errorBox(problem)}`;
    if (!agent) return skeleton(4);
    return html`${back}
      <header class="page-head"><h1>${agent.name}</h1><span class="chip">${t(`layer_${agent.layer}`)}</span><span class="grow"></span>
        ${may('submit') ? html`<a class="button" href="/new?agent=${agent.name}">${icon('play')}${t('use_agent')}</a>` : nothing}${may('set_agent') ? html`<button @click=${() => this.open({ name: agent.name, text: agent.text ?? '', isNew: false, revision: agent.revision ?? 0, before: agent.text ?? '' })}>${icon('pencil')}${t('edit')}</button>` : nothing}${agent.layer === 'bucket' && may('drop_agent') ? html`<button aria-label=${t('delete')} title=${t('delete')} @click=${() => this.drop(agent)}>${icon('trash-2')}</button>` : nothing}</header>
      ${denied('set_agent')}<p class="muted">${plain(agent.about ?? '')} · <code>${agent.place}</code></p>
      ${agent.ignored ? html`<p class="warn-line">${icon('triangle-alert')} ${plain(agent.ignored)}</p>` : nothing}
      ${agent.mistakes?.length ? html`<div class="error-box">${agent.mistakes.map((/** @type {any} */ m) => html`<p>${plain(typeof m === 'string' ? m : JSON.stringify(m))}</p>`)}</div>` : nothing}
      <div class="line"><h2 class="grow">${t('text')}</h2>${copyButton(agent.text ?? '')}</div><pre class="block" tabindex="0" aria-label=${t('text')}>${plain(agent.text ?? '')}</pre>
      ${this.history(name)}
      ${agent.policies ? html`<h2>${t('policies')}</h2>${tree(agent.policies)}` : nothing}`;
  }
}
