// The editor of an agent: the server checks the text while it is written, and a save shows the difference first.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { t } from '../settings.js';
import { CodeEditor } from './codeeditor.js';
import { copyAs } from './copyas.js';
import { diffView } from './diff.js';
import { openDialog } from './dialog.js';
import { toast } from './ui.js';

/** The request that stores an agent, for other clients. @param {string} name @param {string} text @param {number} revision */
export const storing = (name, text, revision) => {
  const body = { text, expected_revision: revision };
  return copyAs({ cli: ['agents', 'put', `${name}.yaml`, '--expect', String(revision)], verb: 'set_agent', nats: { name, ...body }, method: 'PUT', path: `agents/${name}`, body });
};

export class AgentEditor {
  /**
   * @param {{name: string, text: string, revision: number, isNew: boolean, before: string, presets: string[]}} agent `revision` is the one that the text takes the place of, `before` its text
   * @param {{saved: (name: string) => void, closed: () => void}} on
   */
  constructor(agent, on) {
    this.name = agent.name;
    this.revision = agent.revision;
    this.isNew = agent.isNew;
    this.before = agent.before;
    this.presets = agent.presets;
    this.on = on;
    this.code = new CodeEditor({ id: 'agent-check', text: agent.text, checked: t('agent_checked'), check: (text) => api.checkAgent(this.isNamed() ? this.name : 'new', text) });
  }
  /** Starts from the text of another agent. @param {string} name */
  async startFrom(name) {
    const agent = (await api.agents(name)).agents[0];
    this.code.write(agent.text ?? `extends: ${name}\n`);
  }
  isNamed() {
    return /^[\w-]{1,64}$/.test(this.name);
  }
  save() {
    const { name, revision, code: { text } } = this;
    openDialog({
      title: t('save_agent', { name }), wide: true, confirm: t('save'),
      body: () => html`<p class="consequence">${t('say_save')}</p>${diffView(this.before, text)}${storing(name, text, revision)}`,
      failed: (problem) => this.code.refused(problem),
      run: async () => {
        const reply = await api.setAgent(name, text, revision);
        for (const warning of reply.warnings ?? []) toast(warning, 'wait');
        toast(t('agent_saved', { name }));
        this.on.saved(name);
      },
    });
  }
  view() {
    const { text, mistakes } = this.code;
    const ready = this.isNamed() && text.trim() !== '' && text !== this.before && !mistakes?.length;
    return html`<header class="page-head"><h1>${this.isNew ? t('new_agent') : this.name}</h1><span class="grow"></span><button @click=${() => { this.code.close(); this.on.closed(); }}>${t('back')}</button><button class="primary" ?disabled=${!ready} @click=${() => this.save()}>${t('check_and_save')}</button></header>
      ${this.isNew ? html`<div class="grid-fields"><label class="field"><span>${t('name')}</span><input class="mono" maxlength="64" placeholder="careful" .value=${this.name} @input=${(/** @type {any} */ e) => { this.name = e.target.value; emit(); }}></label>
        <div class="field"><label for="start-from"><span>${t('start_from')}</span></label><select id="start-from" @change=${(/** @type {any} */ e) => { if (e.target.value) this.startFrom(e.target.value); }}><option value="">${t('choose')}</option>${this.presets.map((name) => html`<option value=${name}>${name}</option>`)}</select></div></div>` : nothing}
      ${this.code.area()}${this.code.verdict()}
      <p class="muted">${t('agent_docs')}</p>`;
  }
}
