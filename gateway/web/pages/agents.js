// Agents: the list with their layers, the text of one with its history, and an editor with a difference before it saves.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { cached, stale } from '../state/cache.js';
import { route, select } from '../router.js';
import { t } from '../settings.js';
import { diffView } from '../parts/diff.js';
import { openDialog } from '../parts/dialog.js';
import { offer } from '../parts/palette.js';
import { copyButton, errorBox, icon, plain, skeleton, toast } from '../parts/ui.js';
import { History } from './history.js';
import { tree } from './job/agent.js';

export class AgentsPage {
  constructor() {
    /** @type {Map<string, any>} */
    this.details = new Map();
    /** @type {Map<string, History>} */
    this.histories = new Map();
    /** `revision` is the one that the text takes the place of. @type {{name: string, text: string, isNew: boolean, revision: number, problem?: any} | undefined} */
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
  /** @param {string} from */
  create(from) {
    this.edit = { name: '', text: `extends: ${from}\nabout: \n`, isNew: true, revision: 0 };
    emit();
  }
  /** @param {string} before */
  save(before) {
    const { edit } = this;
    if (!edit) return;
    openDialog({
      title: t('save_agent', { name: edit.name }), wide: true, confirm: t('save'),
      body: () => html`<p class="consequence">${t('say_save')}</p>${diffView(before, edit.text)}`,
      failed: (problem) => { edit.problem = problem; },
      run: async () => {
        const reply = await api.setAgent(edit.name, edit.text, edit.revision);
        for (const warning of reply.warnings ?? []) toast(warning, 'wait');
        toast(t('agent_saved', { name: edit.name }));
        this.edit = undefined;
        this.changed(edit.name);
        select({ name: edit.name });
      },
    });
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
    openDialog({ title: t('drop_agent', { name: agent.name }), confirm: t('delete'), danger: true, body: () => html`<p class="consequence">${t('say_drop')}</p>`, run: async () => { await api.dropAgent(agent.name); this.changed(agent.name); select({ name: undefined }); toast(t('agent_dropped', { name: agent.name })); } });
  }
  view() {
    const cell = cached('agents', 10_000);
    const agents = cell.value?.agents ?? [];
    const asked = route().query.get('name') ?? '';
    // Beside the list there is room for one: the agent of a job that names none.
    const name = asked || (innerWidth < 720 || !agents.length ? '' : agents.find((/** @type {any} */ a) => a.name === 'default')?.name ?? agents[0].name);
    return html`<div class="two ${asked || this.edit ? 'has-choice' : ''}"><section class="two-list">
        <header class="page-head"><h1>${t('nav_agents')}</h1><span class="grow"></span><button @click=${() => this.create(name || 'default')}>${icon('plus')}${t('new_agent')}</button></header>
        ${cell.problem ? errorBox(cell.problem, () => stale('agents')) : nothing}${cell.value ? nothing : skeleton(6)}
        ${agents.map((/** @type {any} */ a) => html`<a class="item ${a.name === name ? 'at' : ''}" href="/agents?name=${a.name}" @click=${() => { this.edit = undefined; }}><span class="line"><strong>${a.name}</strong>${a.extends ? html`<span class="muted">← ${a.extends}</span>` : nothing}<span class="chip end">${t(`layer_${a.layer}`)}</span></span><span class="muted">${plain(a.about ?? '')}</span></a>`)}
      </section><section class="two-main">${this.edit ? this.editor() : name ? this.one(name) : html`<div class="inbox-none muted">${t('choose_agent')}</div>`}</section></div>`;
  }
  /** @param {string} name */
  one(name) {
    const { agent, problem } = this.detail(name);
    if (problem) return errorBox(problem);
    if (!agent) return skeleton(4);
    return html`<a class="back button ghost" href="/agents">${icon('chevron-left')}${t('nav_agents')}</a>
      <header class="page-head"><h1>${agent.name}</h1><span class="chip">${t(`layer_${agent.layer}`)}</span><span class="grow"></span>
        <a class="button" href="/new?agent=${agent.name}">${icon('play')}${t('use_agent')}</a><button @click=${() => { this.edit = { name: agent.name, text: agent.text ?? '', isNew: false, revision: agent.revision ?? 0 }; emit(); }}>${icon('pencil')}${t('edit')}</button>${agent.layer === 'bucket' ? html`<button aria-label=${t('delete')} title=${t('delete')} @click=${() => this.drop(agent)}>${icon('trash-2')}</button>` : nothing}</header>
      <p class="muted">${plain(agent.about ?? '')} · <code>${agent.place}</code></p>
      ${agent.ignored ? html`<p class="warn-line">${icon('triangle-alert')} ${plain(agent.ignored)}</p>` : nothing}
      ${agent.mistakes?.length ? html`<div class="error-box">${agent.mistakes.map((/** @type {any} */ m) => html`<p>${plain(typeof m === 'string' ? m : JSON.stringify(m))}</p>`)}</div>` : nothing}
      <div class="line"><h2 class="grow">${t('text')}</h2>${copyButton(agent.text ?? '')}</div><pre class="block" tabindex="0" aria-label=${t('text')}>${plain(agent.text ?? '')}</pre>
      ${this.history(name)}
      ${agent.policies ? html`<h2>${t('policies')}</h2>${tree(agent.policies)}` : nothing}`;
  }
  editor() {
    const edit = /** @type {NonNullable<AgentsPage['edit']>} */ (this.edit);
    const before = edit.isNew ? '' : this.details.get(edit.name)?.agent?.text ?? '';
    const count = edit.text.split('\n').length;
    const mistakes = edit.problem?.message?.split('\n') ?? [];
    const wrong = new Set(mistakes.flatMap((/** @type {string} */ line) => /(?:^|:)(\d+):\d+:/.exec(line)?.[1] ?? []).map(Number));
    const ok = /^[\w-]{1,64}$/.test(edit.name) && edit.text.trim() !== '' && edit.text !== before;
    return html`<header class="page-head"><h1>${edit.isNew ? t('new_agent') : edit.name}</h1><span class="grow"></span><button @click=${() => { this.edit = undefined; emit(); }}>${t('back')}</button><button class="primary" ?disabled=${!ok} @click=${() => this.save(before)}>${t('check_and_save')}</button></header>
      ${edit.isNew ? html`<label class="field"><span>${t('name')}</span><input class="mono" maxlength="64" placeholder="careful" .value=${edit.name} @input=${(/** @type {any} */ e) => { edit.name = e.target.value; emit(); }}></label>` : nothing}
      <div class="code-box"><pre class="gutter muted num" aria-hidden="true">${Array.from({ length: count }, (_, n) => html`<span class=${wrong.has(n + 1) ? 'wrong' : ''}>${n + 1}\n</span>`)}</pre><textarea class="mono code-edit" aria-label=${t('text')} spellcheck="false" rows=${Math.max(12, count + 1)} wrap="off" .value=${edit.text} @input=${(/** @type {any} */ e) => { edit.text = e.target.value; edit.problem = undefined; emit(); }}></textarea></div>
      ${mistakes.length ? html`<div class="error-box" role="alert">${mistakes.map((/** @type {string} */ line) => html`<p>${plain(line)}</p>`)}</div>` : nothing}
      <p class="muted">${t('agent_docs')}</p>`;
  }
}
