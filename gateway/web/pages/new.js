// A new job: goal, agent, files, confirmation, language, deadline.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { cached } from '../state/cache.js';
import { may } from '../state/rights.js';
import { go, route } from '../router.js';
import { t } from '../settings.js';
import { copyAs } from '../parts/copyas.js';
import { added, fileList, filesOf } from '../parts/files.js';
import { literal, option } from '../parts/orders.js';
import { offer } from '../parts/palette.js';
import { denied, errorBox, focusing, growing, icon, plain, segments, toast } from '../parts/ui.js';

const DEADLINES = /** @type {[string, string][]} */ ([['', 'deadline_none'], ['300000', 'deadline_5m'], ['3600000', 'deadline_1h'], ['86400000', 'deadline_1d'], ['604800000', 'deadline_7d']]);
const newId = () => `job-${[...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;

/** A new job for other clients. Only the command line reads files itself. @param {any} body @param {{name: string}[]} files @returns {import('../parts/copyas.js').Request} */
export function submission(body, files) {
  const { id, goal, agent, conversation, confirm, language, deadline_ms } = body;
  const cli = [
    'submit', '--id', id, ...(agent ? ['--agent', agent] : []), ...(confirm === undefined ? [] : [confirm ? '--confirm' : '--no-confirm']), ...(language ? ['--language', language] : []),
    ...(deadline_ms ? ['--deadline', `${deadline_ms / 60_000}m`] : []), ...(conversation ? option('--conversation', conversation) : []), ...files.flatMap((file) => option('--file', file.name)), ...(goal.startsWith('-') ? ['--'] : []), literal(goal),
  ];
  return files.length ? { cli, verb: '', nats: null, method: '', path: '', body: null } : { cli, verb: 'submit', nats: body, method: 'POST', path: 'jobs', body };
}

export class NewPage {
  constructor() {
    const { query } = route();
    this.goal = query.get('goal') ?? '';
    this.agent = query.get('agent') ?? '';
    this.conversation = query.get('conversation') ?? '';
    this.confirm = '';
    this.language = '';
    this.deadline = '';
    /** The id makes a repeated request attach to the same job. */
    this.id = newId();
    /** @type {File[]} */
    this.files = [];
    this.busy = false;
    /** @type {any} */
    this.problem = undefined;
    this.more = false;
    this.keys = { 'Ctrl+Enter': () => this.send() };
    this.help = /** @type {[string, string][]} */ ([['Ctrl Enter', 'submit_job']]);
    offer(() => []);
  }
  title() {
    return t('nav_new');
  }
  body() {
    return {
      id: this.id, goal: this.goal, ...(this.agent ? { agent: this.agent } : {}), ...(this.conversation ? { conversation: this.conversation } : {}),
      ...(this.confirm ? { confirm: this.confirm === 'yes' } : {}), ...(this.language ? { language: this.language } : {}), ...(this.deadline ? { deadline_ms: Number(this.deadline) } : {}),
    };
  }
  async send() {
    if (this.busy || !this.goal.trim() || !may('submit')) return;
    this.busy = true;
    this.problem = undefined;
    emit();
    try {
      const reply = await api.submit({ ...this.body(), ...(await filesOf(this.files)) });
      for (const warning of reply.warnings ?? []) toast(warning, 'wait');
      go(`/jobs/${reply.job}`);
    } catch (problem) {
      this.problem = problem;
      if (/** @type {any} */ (problem).code === 'idempotency_conflict') this.id = newId();
    } finally {
      this.busy = false;
      emit();
    }
  }
  view() {
    const agents = cached('agents', 60_000).value?.agents ?? [];
    const about = agents.find((/** @type {any} */ a) => a.name === (this.agent || 'default'))?.about;
    const change = (/** @type {() => void} */ run) => () => { run(); emit(); };
    const body = this.body();
    return html`<div class="page narrow"><header class="page-head"><h1>${t('nav_new')}</h1></header>
      <form class="stack wide-gap" @submit=${(/** @type {Event} */ e) => { e.preventDefault(); this.send(); }}>
        <label class="field"><span>${t('goal')}</span><textarea class="goal" rows="4" required maxlength="65536" placeholder=${t('goal_hint')} .value=${this.goal} ${growing} ${focusing} @input=${(/** @type {any} */ e) => { this.goal = e.target.value; emit(); }}></textarea></label>
        <div class="field"><label for="agent"><span>${t('agent')}</span></label><select id="agent" @change=${(/** @type {any} */ e) => { this.agent = e.target.value; emit(); }}><option value="">default</option>${agents.filter((/** @type {any} */ a) => a.name !== 'default').map((/** @type {any} */ a) => html`<option value=${a.name} .selected=${a.name === this.agent}>${a.name}</option>`)}</select><p class="about agent-about">${about ? plain(about) : nothing}</p></div>
        <div class="field"><span>${t('confirmation')}</span>${segments(t('confirmation'), [['', t('confirm_policy')], ['yes', t('confirm_yes')], ['no', t('confirm_no')]], this.confirm, (value) => change(() => (this.confirm = value))())}</div>
        <div class="field"><span>${t('files')}</span>
          <label class="drop" @dragover=${(/** @type {Event} */ e) => e.preventDefault()} @drop=${(/** @type {DragEvent} */ e) => { e.preventDefault(); this.add(e.dataTransfer?.files); }}>${icon('file-text')}<span>${t('files_hint')}</span><input type="file" multiple class="sr" @change=${(/** @type {any} */ e) => { this.add(e.target.files); e.target.value = ''; }}></label>
          ${fileList(this.files, (files) => { this.files = files; })}</div>
        <details ?open=${this.more || !!this.conversation}><summary>${t('more_options')}</summary><div class="grid-fields">
          <div class="field"><label for="language"><span>${t('job_language')}</span></label><select id="language" @change=${(/** @type {any} */ e) => { this.language = e.target.value; emit(); }}><option value="">${t('language_goal')}</option><option value="en">English</option><option value="zh">中文</option></select></div>
          <div class="field"><label for="deadline"><span>${t('deadline')}</span></label><select id="deadline" @change=${(/** @type {any} */ e) => { this.deadline = e.target.value; emit(); }}>${DEADLINES.map(([value, word]) => html`<option value=${value}>${t(word)}</option>`)}</select></div>
          <label class="field"><span>${t('conversation')}</span><input maxlength="64" pattern="[A-Za-z0-9_\\-]*" .value=${this.conversation} @input=${(/** @type {any} */ e) => { this.conversation = e.target.value; emit(); }}></label>
          <label class="field"><span>${t('job_id')}</span><input class="mono" maxlength="64" pattern="[A-Za-z0-9_\\-]+" .value=${this.id} @input=${(/** @type {any} */ e) => { this.id = e.target.value; emit(); }}></label></div></details>
        ${denied('submit')}${errorBox(this.problem)}
        <div class="line wrap"><button class="primary" ?disabled=${this.busy || !this.goal.trim() || !may('submit')}>${this.busy ? t('sending') : t('submit_job')}</button><span class="muted">${t('submit_about')}</span></div>
        ${this.goal.trim() ? copyAs(submission(body, this.files)) : nothing}
      </form></div>`;
  }
  /** @param {FileList | null | undefined} list */
  add(list) {
    this.files = added(this.files, list);
    emit();
  }
}
