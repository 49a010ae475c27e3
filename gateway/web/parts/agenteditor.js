// The editor of an agent: the server checks the text while it is written, and a save shows the difference first.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { t } from '../settings.js';
import { copyAs } from './copyas.js';
import { diffView } from './diff.js';
import { openDialog } from './dialog.js';
import { icon, plain, toast } from './ui.js';

/** Time after the last letter until the server checks the text, in milliseconds. */
const PAUSE = 300;

/** The lines that mistakes are about, each with its first mistake. @param {string} text @returns {{line: number, text: string}[]} */
export const mistakesOf = (text) => text.split('\n').filter(Boolean).map((one) => ({ line: Number(/(?:^|:)(\d+):\d+:/.exec(one)?.[1] ?? 0), text: one.replace(/^bucket:[\w-]+:(?=\d+:\d+:)/, '') }));

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
    this.text = agent.text;
    this.revision = agent.revision;
    this.isNew = agent.isNew;
    this.before = agent.before;
    this.presets = agent.presets;
    this.on = on;
    /** What the server said about the text: its mistakes, none, or nothing yet. @type {{line: number, text: string}[] | undefined} */
    this.mistakes = undefined;
    /** @type {string[]} */
    this.warnings = [];
    this.timer = 0;
  }
  /** @param {string} text */
  write(text) {
    this.text = text;
    this.mistakes = undefined;
    this.warnings = [];
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.check(), PAUSE);
    emit();
  }
  async check() {
    const { text } = this;
    if (!text.trim()) return;
    try {
      const reply = await api.checkAgent(this.isNamed() ? this.name : 'new', text);
      if (text !== this.text) return;
      this.mistakes = [];
      this.warnings = reply.warnings ?? [];
    } catch (problem) {
      if (text === this.text) this.refused(problem);
    }
    emit();
  }
  /** @param {any} problem */
  refused(problem) {
    // A refusal that is not about the text is shown by the request that meets it.
    if (problem.code === 'invalid_request' || problem.code === 'too_large') this.mistakes = mistakesOf(problem.message);
  }
  /** Starts from the text of another agent. @param {string} name */
  async startFrom(name) {
    const agent = (await api.agents(name)).agents[0];
    this.write(agent.text ?? `extends: ${name}\n`);
  }
  isNamed() {
    return /^[\w-]{1,64}$/.test(this.name);
  }
  save() {
    const { name, text, revision } = this;
    openDialog({
      title: t('save_agent', { name }), wide: true, confirm: t('save'),
      body: () => html`<p class="consequence">${t('say_save')}</p>${diffView(this.before, text)}${storing(name, text, revision)}`,
      failed: (problem) => this.refused(problem),
      run: async () => {
        const reply = await api.setAgent(name, text, revision);
        for (const warning of reply.warnings ?? []) toast(warning, 'wait');
        toast(t('agent_saved', { name }));
        this.on.saved(name);
      },
    });
  }
  /** Puts the cursor at the beginning of a line. @param {number} line */
  goTo(line) {
    const area = /** @type {HTMLTextAreaElement | null} */ (document.querySelector('.code-edit'));
    if (!area || !line) return;
    const at = this.text.split('\n').slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(at, at);
  }
  view() {
    const count = this.text.split('\n').length;
    const wrong = new Map((this.mistakes ?? []).map((mistake) => [mistake.line, mistake.text]));
    const ready = this.isNamed() && this.text.trim() !== '' && this.text !== this.before && !this.mistakes?.length;
    return html`<header class="page-head"><h1>${this.isNew ? t('new_agent') : this.name}</h1><span class="grow"></span><button @click=${() => { clearTimeout(this.timer); this.on.closed(); }}>${t('back')}</button><button class="primary" ?disabled=${!ready} @click=${() => this.save()}>${t('check_and_save')}</button></header>
      ${this.isNew ? html`<div class="grid-fields"><label class="field"><span>${t('name')}</span><input class="mono" maxlength="64" placeholder="careful" .value=${this.name} @input=${(/** @type {any} */ e) => { this.name = e.target.value; emit(); }}></label>
        <div class="field"><label for="start-from"><span>${t('start_from')}</span></label><select id="start-from" @change=${(/** @type {any} */ e) => { if (e.target.value) this.startFrom(e.target.value); }}><option value="">${t('choose')}</option>${this.presets.map((name) => html`<option value=${name}>${name}</option>`)}</select></div></div>` : nothing}
      <div class="code-box"><pre class="gutter muted num" aria-hidden="true">${Array.from({ length: count }, (_, n) => html`<span class=${wrong.has(n + 1) ? 'wrong' : ''} title=${wrong.get(n + 1) ?? ''}>${n + 1}\n</span>`)}</pre><textarea class="mono code-edit" aria-label=${t('text')} aria-describedby="agent-check" aria-invalid=${this.mistakes?.length ? 'true' : 'false'} spellcheck="false" rows=${Math.max(12, count + 1)} wrap="off" .value=${this.text} @input=${(/** @type {any} */ e) => this.write(e.target.value)}></textarea></div>
      <div id="agent-check" role="status">${this.mistakes?.length
        ? html`<div class="error-box">${this.mistakes.map((one) => html`<p>${one.line ? html`<button class="link" @click=${() => this.goTo(one.line)}>${plain(one.text)}</button>` : plain(one.text)}</p>`)}</div>`
        : this.mistakes ? html`<p class="line muted checked">${icon('check')}${t('agent_checked')}</p>` : nothing}
        ${this.warnings.map((warning) => html`<p class="warn-line">${icon('triangle-alert')} ${plain(warning)}</p>`)}</div>
      <p class="muted">${t('agent_docs')}</p>`;
  }
}
