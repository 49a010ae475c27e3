// The editor of a running job's graph: the text of the graph in force, what a change of it does, and the change.

import { html, nothing } from '../../lit.js';
import { api } from '../../api.js';
import { emit } from '../../state/bus.js';
import { may } from '../../state/rights.js';
import { settings, t } from '../../settings.js';
import { mistakesOf } from '../../parts/codeeditor.js';
import { copyAs } from '../../parts/copyas.js';
import { diffView } from '../../parts/diff.js';
import { openDialog } from '../../parts/dialog.js';
import { askToLeave, FlowEditor, nameOf } from '../../parts/floweditor.js';
import { Foresight, foresightView } from '../../parts/foresight.js';
import { option } from '../../parts/orders.js';
import { denied, errorBox, icon, skeleton, toast } from '../../parts/ui.js';

/** @typedef {{base: number, source: string, workflows: Record<string, string>}} Change */

/** The request that changes a graph. Pure; a test covers it. @param {Change} change @param {string} reason @param {string} by */
export function bodyOf({ base, source, workflows }, reason, by) {
  const below = Object.keys(workflows).length ? { workflows } : {};
  return { signal: { migrate: { ...(base ? { base } : {}), source, ...below } }, ...(reason ? { reason } : {}), ...(by ? { by } : {}) };
}

/** The same request for other clients. The command reads the text from a file, and sub-workflows beside it. Pure; a test covers it. @param {string} job @param {Change} change @param {string} reason @param {string} by */
export function requestOf(job, change, reason, by) {
  const body = bodyOf(change, reason, by);
  const cli = ['workflow', 'migrate', job, `${nameOf(change.source) || job}.yaml`, '--base', String(change.base), ...(reason ? option('--reason', reason) : [])];
  return { cli, by, verb: 'signal', nats: { job, ...body }, method: 'POST', path: `jobs/${job}/signals`, body };
}

export class GraphEdit {
  /** @param {string} job @param {{closed: () => void, done: () => void}} on */
  constructor(job, on) {
    this.job = job;
    this.on = on;
    this.reason = '';
    this.isMoved = false;
    this.isSent = false;
    /** @type {any} */
    this.problem = undefined;
    /** The text of the graph in force, its revision, and the files of its sub-workflows. @type {{source: string, base: number, workflows: Record<string, string>} | undefined} */
    this.before = undefined;
    /** @type {FlowEditor | undefined} */
    this.editor = undefined;
    this.foresight = new Foresight((body) => api.foresee(job, body));
    this.read();
  }
  close() {
    this.editor?.close();
  }
  /** Reads the graph in force, which the text replaces. The text stays. */
  async read() {
    try {
      const graph = await api.graphFiles(this.job);
      const { source, workflows = {} } = graph.files;
      this.before = { source, base: graph.revision ?? 0, workflows };
      this.isMoved = false;
      this.problem = undefined;
      this.foresight.clear();
      const shape = { start: graph.definition.start, nodes: graph.nodes, edges: graph.edges };
      this.editor ??= new FlowEditor({ text: source, shape, check: (text) => api.checkWorkflow(graph.definition.workflow, text), mayCheck: () => may('set_workflow') });
    } catch (problem) {
      this.problem = problem;
    }
    emit();
  }
  /** `true` while the text has changes that are not in force. */
  get isChanged() {
    const { before, editor, isSent } = this;
    return !isSent && before !== undefined && editor !== undefined && editor.code.text !== before.source;
  }
  /** Asks whether the changes may be lost. @param {() => void} leave */
  askToLeave(leave) {
    askToLeave(leave);
  }
  /** @returns {Change} */
  change() {
    const { base, workflows } = /** @type {NonNullable<GraphEdit['before']>} */ (this.before);
    return { base, workflows, source: this.editor?.code.text ?? '' };
  }
  /** Asks what the change would do, once the text has no mistakes. */
  look() {
    const { editor, before, foresight } = this;
    const isChecking = editor && editor.code.mistakes === undefined;
    if (!may('signal') || editor?.code.mistakes?.length || editor?.code.text === before?.source || !editor?.code.text.trim()) return foresight.clear();
    // What is known stays in sight until the text is checked.
    if (!editor || isChecking) return;
    foresight.look(bodyOf(this.change(), '', ''));
    this.isMoved ||= foresight.refused?.code === 'stale';
  }
  send() {
    const editor = /** @type {FlowEditor} */ (this.editor);
    const { source } = this.change();
    openDialog({
      title: t('act_edit_graph'), wide: true, confirm: t('act_edit_graph'),
      ready: () => !this.foresight.waits && this.foresight.value !== undefined && !this.foresight.refused && may('signal'),
      body: () => {
        this.look();
        return html`${denied('signal')}${foresightView(this.foresight, '')}${diffView(this.before?.source ?? '', source)}
          <label class="field"><span>${t('reason_optional')}</span><input maxlength="512" .value=${this.reason} @input=${(/** @type {any} */ e) => { this.reason = e.target.value; emit(); }}></label>
          ${copyAs(requestOf(this.job, this.change(), this.reason, settings.name))}`;
      },
      // The job changed since it was looked at: what the request does now is looked at again.
      failed: (problem) => {
        this.foresight.clear();
        this.isMoved = problem.code === 'stale';
        editor.code.refused(problem.field === 'signal.migrate.source' ? problem : {});
      },
      run: async () => {
        await api.signal(this.job, bodyOf(this.change(), this.reason, settings.name));
        toast(t('did_edit_graph'));
        this.isSent = true;
        this.on.done();
      },
    });
  }
  /** @param {boolean} isOver whether the job has ended */
  view(isOver) {
    const { editor, before, foresight, problem } = this;
    const back = html`<button @click=${this.on.closed}>${t('back')}</button>`;
    const unread = errorBox(problem, () => this.read());
    if (!editor || !before) return html`<div class="line"><h2 class="grow">${t('edit_graph_of')}</h2>${back}</div>${problem ? unread : skeleton(4)}`;
    this.look();
    const isSame = editor.code.text === before.source;
    const ready = editor.isRight && !isSame && !isOver && !foresight.waits && foresight.value !== undefined && !foresight.refused && may('signal');
    // The front door has read the text against the tools and the agent of this job.
    const wrong = foresight.refused?.field === 'signal.migrate.source' ? mistakesOf(foresight.refused.message) : [];
    return html`<div class="line wrap tab-head"><h2>${t('edit_graph_of')}</h2><span class="chip num">${t('workflow_revision', { n: before.base })}</span>${back}<button class="primary" ?disabled=${!ready} @click=${() => this.send()}>${t('edit_graph_review')}</button></div>
      ${denied('signal')}${unread}
      ${isOver ? html`<p class="warn-line" role="status">${icon('triangle-alert')} ${t('edit_graph_over')}</p>` : nothing}
      ${this.isMoved ? html`<p class="warn-line" role="status">${icon('triangle-alert')}<span>${t('edit_graph_moved')}</span> <button class="small" @click=${() => this.read()}>${t('edit_compare')}</button></p>` : nothing}
      ${may('signal') && !may('set_workflow') ? html`<p class="muted">${t('edit_unchecked')}</p>` : nothing}
      ${editor.view(html`${foresight.value || foresight.problem ? foresightView(foresight, '') : nothing}${wrong.filter((one) => one.line).map((one) => html`<p>${editor.code.link(one)}</p>`)}`, !may('signal'))}
      <p class="muted">${t('edit_graph_docs')}</p>`;
  }
}
