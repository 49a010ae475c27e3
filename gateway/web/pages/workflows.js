// Workflows: the list of those that the server knows by name, and one with its graph beside its text.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { cached, stale } from '../state/cache.js';
import { may } from '../state/rights.js';
import { go, route, select } from '../router.js';
import { addWords, t } from '../settings.js';
import { copyAs } from '../parts/copyas.js';
import { diffView } from '../parts/diff.js';
import { openDialog } from '../parts/dialog.js';
import { askToLeave, FlowEditor, lineOf, nameOf } from '../parts/floweditor.js';
import { FLOW_WORDS, flowGraph } from '../parts/flowgraph.js';
import { offer } from '../parts/palette.js';
import { Versions } from './versions.js';
import { copyButton, denied, empty, errorBox, icon, plain, skeleton, toast } from '../parts/ui.js';

/** The text that a new workflow begins with. */
const FIRST = `workflow: mine
about: ''
input: {type: object, required: [goal], properties: {goal: {type: string}}}
output: {text: "{{ state.text }}"}
state:
  text: {schema: {type: string}, initial: ''}
start: write
nodes:
  write:
    type: model
    prompt: "{{ input.goal }}"
    write: {text: "{{ reply }}"}
    next: end
`;

/** The page of workflows, once the words of graphs are here. */
export async function openWorkflows() {
  await addWords(FLOW_WORDS);
  return new WorkflowsPage();
}

/** The request that stores a workflow, for other clients. @param {string} name @param {string} text @param {number} revision */
const storing = (name, text, revision) => {
  const body = { text, expected_revision: revision };
  return copyAs({ cli: ['workflow', 'set', `${name}.yaml`, '--expect', String(revision)], verb: 'set_workflow', nats: { name, ...body }, method: 'PUT', path: `workflows/${name}`, body });
};
/** The request that removes a workflow, for other clients. @param {string} name @param {number} revision */
const dropping = (name, revision) => copyAs({ cli: ['workflow', 'drop', name, '--expect', String(revision)], verb: 'drop_workflow', nats: { name, expected_revision: revision }, method: 'DELETE', path: `workflows/${name}`, body: undefined, revision });

/**
 * What is stored of a workflow: its text and the revision that a change of it names. Nothing is stored of one that somebody has
 * deleted. A test covers it.
 * @param {() => Promise<{workflows: any[]}>} read
 */
export async function storedOf(read) {
  try {
    const [one] = (await read()).workflows;
    return { before: one?.text ?? '', revision: one?.revision ?? 0 };
  } catch (problem) {
    if (/** @type {any} */ (problem).code === 'not_found') return { before: '', revision: 0 };
    throw problem;
  }
}

export class WorkflowsPage {
  constructor() {
    /** Workflows in full, by name. @type {Map<string, {one?: any, versions?: Versions, problem?: any}>} */
    this.details = new Map();
    /** @type {{editor: FlowEditor, of: string, start: string, before: string, revision: number, name: string, isMoved: boolean, problem?: any} | undefined} `name` is that of the workflow of which `before` and `revision` are */
    this.edit = undefined;
    this.help = /** @type {[string, string][]} */ ([['j / k', 'key_move'], ['e', 'edit'], ['n', 'workflow_new'], ['Esc', 'back']]);
    this.keys = /** @type {Record<string, () => void>} */ ({
      j: () => this.step(1), k: () => this.step(-1),
      e: () => { const { one } = this.details.get(route().id) ?? {}; if (one && !this.edit && may('set_workflow')) this.change(one); },
      n: () => { if (!this.edit && may('set_workflow')) this.create(); },
      Escape: () => { if (!this.edit) go('/workflows'); },
    });
    /** @type {import('../router.js').Keeper} */
    this.keeper = {
      holds: () => this.isChanged,
      keep: (to, leave) => {
        const isKept = this.isChanged && to.split('?')[0] !== `/workflows${this.edit?.of ? `/${this.edit.of}` : ''}`;
        if (isKept) this.away(leave);
        return isKept;
      },
    };
    offer(() => [
      ...(may('set_workflow') ? [{ word: t('workflow_new'), icon: 'plus', run: () => this.create() }] : []),
      ...(cached('workflows').value?.workflows ?? []).map((/** @type {any} */ one) => ({ word: `${t('nav_workflows')}: ${one.name}`, icon: 'git-fork', run: () => this.away(() => go(`/workflows/${one.name}`)) })),
    ]);
  }
  title() {
    return route().id || t('nav_workflows');
  }
  close() {
    this.leave();
    offer(() => []);
  }
  leave() {
    this.edit?.editor.close();
    this.edit = undefined;
    emit();
  }
  /** `true` while the text has changes that are not stored. */
  get isChanged() {
    const { edit } = this;
    return edit !== undefined && edit.editor.code.text !== edit.start;
  }
  /** Leaves the editor, and asks first whether changes may be lost. @param {() => void} [then] */
  away(then = () => {}) {
    const leave = () => { this.leave(); then(); };
    if (this.isChanged) askToLeave(leave);
    else leave();
  }
  /** Opens the next workflow of the list. @param {number} by */
  step(by) {
    if (this.edit) return;
    const names = (cached('workflows').value?.workflows ?? []).map((/** @type {any} */ one) => one.name);
    const next = names[Math.max(0, Math.min(names.length - 1, names.indexOf(route().id) + by))];
    if (next) go(`/workflows/${next}`, { replace: route().id !== '' });
  }
  /** @param {string} name */
  detail(name) {
    let detail = this.details.get(name);
    if (!detail) {
      this.details.set(name, (detail = {}));
      api.workflows(name).then((reply) => this.details.set(name, { one: reply.workflows[0], versions: new Versions(reply.workflows[0], (one) => this.changed(one)) }), (problem) => this.details.set(name, { problem })).finally(emit);
    }
    return detail;
  }
  /** @param {string} name */
  changed(name) {
    this.leave();
    this.details.delete(name);
    stale('workflows');
  }
  /** @param {{of: string, text: string, before: string, revision: number, shape?: any}} flow `of` is the name of the stored workflow, empty for a new one */
  open({ of, text, before, revision, shape }) {
    const check = (/** @type {string} */ now) => api.checkWorkflow(of || nameOf(now) || 'new', now);
    this.edit = { editor: new FlowEditor({ text, shape, check }), of, start: text, before, revision, name: of, isMoved: false };
    emit();
  }
  create() {
    this.away(() => {
      go('/workflows');
      this.open({ of: '', text: FIRST, before: '', revision: 0 });
    });
  }
  /** @param {any} one */
  change(one) {
    const text = one.text ?? '';
    this.open({ of: one.name, text, before: text, revision: one.revision ?? 0, shape: one.graph });
  }
  save() {
    const edit = /** @type {NonNullable<WorkflowsPage['edit']>} */ (this.edit);
    const { text } = edit.editor.code;
    const name = edit.of || nameOf(text);
    if (name !== edit.name) Object.assign(edit, { before: '', revision: 0, name });
    openDialog({
      title: t('workflow_save', { name }), wide: true, confirm: t('save'),
      body: () => html`<p class="consequence">${t('workflow_say_save')}</p>${diffView(edit.before, text)}${storing(name, text, edit.revision)}`,
      failed: (problem) => {
        // A bucket that is full is no mistake of the text.
        if (problem.field !== 'name') edit.editor.code.refused(problem);
        edit.isMoved = problem.code === 'stale';
      },
      run: async () => {
        const reply = await api.setWorkflow(name, text, edit.revision);
        for (const warning of reply.warnings ?? []) toast(warning, 'wait');
        toast(t('workflow_saved', { name }));
        this.changed(name);
        go(`/workflows/${name}`);
      },
    });
  }
  /** Takes what is stored now as that which the text replaces. */
  async compare() {
    const edit = /** @type {NonNullable<WorkflowsPage['edit']>} */ (this.edit);
    const name = edit.of || nameOf(edit.editor.code.text);
    if (!name) return;
    let problem;
    try {
      Object.assign(edit, await storedOf(() => api.workflows(name)), { name, isMoved: false });
    } catch (error) {
      problem = error;
    }
    edit.problem = problem;
    if (problem || this.edit !== edit) emit();
    else this.save();
  }
  /** @param {any} one */
  drop(one) {
    const { name, revision } = one;
    openDialog({
      title: t('workflow_drop', { name }), confirm: t('delete'), danger: true,
      body: () => html`<p class="consequence">${t('workflow_say_drop')}</p>${dropping(name, revision)}`,
      run: async () => {
        const reply = await api.dropWorkflow(name, revision);
        for (const warning of reply.warnings ?? []) toast(warning, 'wait');
        toast(t('workflow_dropped', { name }));
        this.changed(name);
        go('/workflows');
      },
    });
  }
  view() {
    const name = route().id;
    if (this.edit && this.edit.of !== name && (this.edit.of || name)) this.leave();
    return html`<div class="page flow-page">${this.edit ? this.editing(this.edit) : name ? this.shown(name) : this.list()}</div>`;
  }
  list() {
    const cell = cached('workflows', 10_000);
    const all = cell.value?.workflows ?? [];
    return html`<header class="page-head"><h1>${t('nav_workflows')}</h1><span class="muted num">${all.length || ''}</span><span class="grow"></span>${may('set_workflow') ? html`<button @click=${() => this.create()}>${icon('plus')}${t('workflow_new')}</button>` : nothing}</header>
      ${denied('set_workflow')}
      ${cell.problem ? errorBox(cell.problem, () => stale('workflows')) : nothing}${cell.value ? nothing : skeleton(4)}
      ${cell.value && !all.length ? empty(t('workflows_none'), '') : nothing}
      <div class="flow-list">${all.map((/** @type {any} */ one) => html`<a class="item" href="/workflows/${one.name}"><span class="line wrap"><strong>${one.name}</strong>${chips(one)}</span><span class="muted">${plain(one.about ?? '')}</span></a>`)}</div>`;
  }
  /** @param {string} name */
  shown(name) {
    const { one, versions, problem } = this.detail(name);
    const back = html`<a class="back button ghost" href="/workflows">${icon('chevron-left')}${t('nav_workflows')}</a>`;
    if (problem) return html`<div>${back}</div><h1 class="sr">${name}</h1>${errorBox(problem)}`;
    if (!one) return html`<h1 class="sr">${name}</h1>${skeleton(4)}`;
    const node = route().query.get('node') ?? '';
    const text = one.text ?? '';
    return html`<div>${back}</div>
      <header class="page-head"><h1>${one.name}</h1>${chips(one)}<span class="grow"></span>
        ${may('set_workflow') ? html`<button @click=${() => this.change(one)}>${icon('pencil')}${t('edit')}</button>` : nothing}
        ${one.layer === 'bucket' && may('drop_workflow') ? html`<button aria-label=${t('delete')} title=${t('delete')} @click=${() => this.drop(one)}>${icon('trash-2')}</button>` : nothing}</header>
      ${denied('set_workflow')}${one.about ? html`<p class="muted">${plain(one.about)}</p>` : nothing}
      ${one.mistakes?.length ? html`<div class="error-box">${one.mistakes.map((/** @type {string} */ mistake) => html`<p>${plain(mistake)}</p>`)}</div>` : nothing}
      <div class="flow-edit"><div class="flow-text stack"><div class="line"><h2 class="grow">${t('workflow_text')}</h2>${copyButton(text)}</div>${numbered(text, node ? lineOf(text, node) : 0)}</div>
        <div class="flow-beside stack">${one.graph ? html`<h2>${t('graph')}</h2>${flowGraph(one.graph, { chosen: node, choose: (id) => { select({ node: id === node ? undefined : id }); showLine(lineOf(text, id)); } })}` : nothing}${one.versions?.length ? versions?.view() : nothing}</div></div>`;
  }
  /** @param {NonNullable<WorkflowsPage['edit']>} edit */
  editing(edit) {
    const { editor, of, isMoved, problem } = edit;
    const { text } = editor.code;
    const ready = editor.isRight && text !== edit.before && (of || nameOf(text));
    return html`<header class="page-head"><h1>${of || t('workflow_new')}</h1><span class="grow"></span><button @click=${() => this.away()}>${t('back')}</button><button class="primary" ?disabled=${!ready} @click=${() => this.save()}>${t('check_and_save')}</button></header>
      ${isMoved ? html`<p class="warn-line" role="status">${icon('triangle-alert')}<span>${t('workflow_moved')}</span> <button class="small" ?disabled=${!of && !nameOf(text)} @click=${() => this.compare()}>${t('edit_compare')}</button></p>` : nothing}
      ${errorBox(problem, () => this.compare())}${editor.view()}
      <p class="muted">${t('workflow_docs')}</p>`;
  }
}

/** What is known of a workflow in a few words. @param {any} one */
const chips = (one) => html`<span class="chip">${t(`layer_${one.layer}`)}</span>${one.version === undefined ? html`<span class="chip warn">${t('workflow_unread')}</span>` : html`<span class="chip num">${t('workflow_version', { n: one.version })}</span>`}${one.revision === undefined ? nothing : html`<span class="chip num">${t('workflow_revision', { n: one.revision })}</span>`}`;

/** A text with the numbers of its lines, of which one is marked. @param {string} text @param {number} marked */
const numbered = (text, marked) => html`<div class="code-box flow-read" tabindex="0" role="group" aria-label=${t('workflow_text')}><pre class="gutter muted num" aria-hidden="true">${text.trimEnd().split('\n').map((_, n) => html`<span>${n + 1}\n</span>`)}</pre><pre class="flow-lines">${text.trimEnd().split('\n').map((line, n) => html`<span class=${n + 1 === marked ? 'at' : ''}>${plain(line)}\n</span>`)}</pre></div>`;

/** Moves a line of the text into view. @param {number} line */
function showLine(line) {
  const box = document.querySelector('.flow-read');
  const element = /** @type {HTMLElement | undefined} */ (box?.querySelectorAll('.flow-lines > span')[line - 1]);
  if (box && element) box.scrollTop = element.offsetTop - box.clientHeight / 3;
}
