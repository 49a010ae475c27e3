// The editor of a workflow: its text, and beside it what the server says about the text and the graph of the text.

import { html, nothing } from '../lit.js';
import { t } from '../settings.js';
import { CodeEditor } from './codeeditor.js';
import { dialogSends, openDialog } from './dialog.js';
import { flowGraph } from './flowgraph.js';
import { icon } from './ui.js';

/** @typedef {import('./flowgraph.js').Shape} Shape */

/** The column of the outermost keys: that of the first key where the text is an object of JSON. @param {string} text */
const margin = (text) => /^\s*\{[ \t]*\n([ \t]*)"/.exec(text)?.[1].length ?? 0;

/**
 * The line of a node in the text of a workflow, in either spelling, in YAML or in JSON of many lines; 0 if there is none.
 * Pure; a test covers it.
 * @param {string} text @param {string} id
 */
export function lineOf(text, id) {
  const lines = text.split('\n');
  const left = margin(text);
  const from = lines.findIndex((line) => new RegExp(`^[ \\t]{${left}}["']?nodes["']?\\s*:`).test(line));
  const name = `["']?${id}["']?`;
  const block = new RegExp(`^\\s{${left + 1},}${name}\\s*:`);
  const listed = new RegExp(`(?:^\\s*-|[{,]|^)\\s*["']?id["']?\\s*:\\s*${name}\\s*(?:[,}#]|$)`);
  const below = lines.slice(from + 1);
  const end = below.findIndex((line) => /^\s*[^\s#-]/.test(line) && line.search(/\S/) <= left);
  const rest = end < 0 ? below : below.slice(0, end);
  const width = Math.min(...rest.filter((line) => block.test(line)).map((line) => line.search(/\S/)));
  // A key of the same name inside of a node is farther to the right.
  const at = rest.findIndex((line) => (block.test(line) && line.search(/\S/) === width) || listed.test(line));
  return from < 0 || at < 0 ? 0 : from + at + 2;
}

/** The name in a text; empty if it has none. Pure; a test covers it. @param {string} text */
export const nameOf = (text) => new RegExp(`^[ \\t]{${margin(text)}}["']?(?:workflow|name)["']?\\s*:\\s*["']?([a-z0-9-]{1,48})["']?\\s*,?\\s*(?:#.*)?$`, 'm').exec(text)?.[1] ?? '';

/** Asks whether a text that is not stored may be lost. @param {() => void} leave */
export function askToLeave(leave) {
  if (dialogSends()) return;
  openDialog({ title: t('edit_leave'), confirm: t('edit_leave_now'), danger: true, body: () => html`<p class="consequence">${t('edit_leave_say')}</p>`, run: async () => leave() });
}

export class FlowEditor {
  /**
   * @param {{text: string, shape?: Shape, check: (text: string) => Promise<any>, mayCheck?: () => boolean}} flow
   *   `shape` is the graph of the text, if it is known; `mayCheck` is that of the {@link CodeEditor}
   */
  constructor(flow) {
    /** The graph of the last text without mistakes. @type {Shape | undefined} */
    this.shape = flow.shape;
    this.node = '';
    this.code = new CodeEditor({
      id: 'flow-check', text: flow.text, checked: t('agent_checked'), mayCheck: flow.mayCheck,
      check: async (text) => {
        const reply = await flow.check(text);
        if (text === this.code.text) this.shape = reply.graph ?? this.shape;
        return reply;
      },
    });
    this.code.check();
  }
  close() {
    this.code.close();
  }
  /** `true` for a text that the server has accepted. */
  get isRight() {
    return this.code.mistakes?.length === 0;
  }
  /** @param {unknown} beside what else is beside the text @param {boolean} [isFixed] whether nobody can write */
  view(beside = nothing, isFixed = false) {
    const { code } = this;
    const count = code.shown?.mistakes.length ?? 0;
    const isOld = count > 0 || code.problem !== undefined;
    return html`<div class="flow-edit"><div class="flow-text">${code.area(isFixed)}</div>
      <div class="flow-beside stack">
        ${code.shown === undefined && !code.problem && code.text.trim() ? html`<p class="muted" aria-hidden="true">${t('edit_checking')}</p>` : count ? html`<h2>${t('edit_mistakes', { n: count })}</h2>` : nothing}
        ${code.verdict()}${beside}
        ${this.shape ? html`${isOld ? html`<p class="line muted">${icon('triangle-alert')}${t('edit_stale_graph')}</p>` : nothing}
          <div class=${isOld ? 'flow-old' : ''}>${flowGraph(this.shape, { chosen: this.node, choose: (id) => { this.node = id; code.goTo(lineOf(code.text, id)); } })}</div>` : html`<p class="muted">${t('edit_no_graph')}</p>`}
      </div></div>`;
  }
}
