// The versions of a stored workflow: what each changed, and the way back to one.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { may } from '../state/rights.js';
import { t } from '../settings.js';
import { copyAs } from '../parts/copyas.js';
import { diffView } from '../parts/diff.js';
import { openDialog } from '../parts/dialog.js';
import { errorBox, plain, toast, when } from '../parts/ui.js';

/** The request that puts a version in force again, for other clients. @param {string} name @param {number} version @param {string} text @param {number} revision */
const restoring = (name, version, text, revision) => {
  const body = { text, expected_revision: revision };
  return copyAs({ cli: ['workflow', 'rollback', name, '--to', String(version)], verb: 'set_workflow', nats: { name, ...body }, method: 'PUT', path: `workflows/${name}`, body });
};

export class Versions {
  /** @param {any} workflow with its versions, highest first @param {(name: string) => void} changed */
  constructor(workflow, changed) {
    this.workflow = workflow;
    /** Version in force; a built-in workflow has one of its own. @type {number | undefined} */
    this.now = workflow.layer === 'bucket' ? workflow.version : undefined;
    this.changed = changed;
    /** @type {any} */
    this.problem = undefined;
    /** Texts by version. @type {Map<number, string>} */
    this.texts = new Map(this.now === undefined ? [] : [[this.now, workflow.text ?? '']]);
  }
  /** @param {number | undefined} version */
  async text(version) {
    if (version === undefined) return '';
    const kept = this.texts.get(version);
    if (kept !== undefined) return kept;
    const text = (await api.workflows(this.workflow.name, version)).workflows[0]?.text ?? '';
    this.texts.set(version, text);
    return text;
  }
  /** Shows what a version changed; another one than that in force can come into force again. @param {number} n */
  async open(n) {
    const { name, versions, revision } = this.workflow;
    const { now } = this;
    const { version } = versions[n];
    this.problem = undefined;
    try {
      const [before, after, current] = await Promise.all([this.text(versions[n + 1]?.version), this.text(version), this.workflow.text ?? '']);
      const back = version !== now && may('set_workflow');
      openDialog({
        title: t('workflow_version_of', { name, n: version }), wide: true, confirm: t('workflow_restore'),
        body: () => html`<h3>${t('revision_changed')}</h3>${diffView(before, after)}${back ? html`<h3>${t('revision_restores')}</h3><p class="consequence">${t('workflow_say_save')}</p>${diffView(current, after)}${restoring(name, version, after, revision ?? 0)}` : nothing}`,
        ...(back ? { run: async () => {
          const reply = await api.setWorkflow(name, after, revision ?? 0);
          for (const warning of reply.warnings ?? []) toast(warning, 'wait');
          toast(t('workflow_restored', { name, n: version }));
          this.changed(name);
        } } : {}),
      });
    } catch (problem) {
      this.problem = problem;
      emit();
    }
  }
  view() {
    const { now, workflow: { versions } } = this;
    return html`<h2>${t('workflow_versions')}</h2>${errorBox(this.problem)}<ol class="history">${versions.map((/** @type {any} */ one, /** @type {number} */ n) => html`<li><button class="step-row" @click=${() => this.open(n)}>
      <span class="num mono">${one.version}</span><span class="grow"><span class="mono">${one.digest.slice(0, 12)}</span>${one.by ? html` <span class="muted">${plain(one.by)}</span>` : nothing}</span>
      ${one.version === now ? html`<span class="chip">${t('in_force')}</span>` : nothing}<span class="num muted">${one.time ? when(one.time) : ''}</span></button></li>`)}</ol>`;
  }
}
