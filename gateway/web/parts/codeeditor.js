// A text that the server checks while it is written: its lines, its mistakes at their places, and what it warns of.

import { html, nothing } from '../lit.js';
import { emit } from '../state/bus.js';
import { t } from '../settings.js';
import { errorBox, icon, plain } from './ui.js';

/** Time after the last letter until the server checks the text, in milliseconds. */
const PAUSE = 300;

/** @typedef {{line: number, column: number, text: string}} Mistake `line` is 0 for a mistake without a place */

/** The mistakes of a refusal, one a line, with their places. Pure; a test covers it. @param {string} text @returns {Mistake[]} */
export const mistakesOf = (text) => text.split('\n').filter(Boolean).map((one) => {
  const place = /(?:^|:)(\d+):(\d+):/.exec(one);
  return { line: Number(place?.[1] ?? 0), column: Number(place?.[2] ?? 0), text: one.replace(/^(?:bucket:)?[\w.-]+:(?=\d+:\d+:)/, '') };
});

/** `true` for a refusal that says what is wrong with the text, and not with the request. Pure; a test covers it. @param {{code?: string}} problem */
export const isAboutText = ({ code }) => code === 'invalid_request' || code === 'too_large';

/** The number of the character at a line and a column. Pure; a test covers it. @param {string} text @param {number} line @param {number} column */
export function offsetOf(text, line, column) {
  const lines = text.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  // A column counts characters, and a string counts units of UTF-16.
  return Math.min(text.length, before + [...(lines[line - 1] ?? '')].slice(0, Math.max(0, column - 1)).join('').length);
}

export class CodeEditor {
  /**
   * @param {{id: string, text: string, check: (text: string) => Promise<any>, checked: string, mayCheck?: () => boolean}} code
   *   `check` asks the server about a text, and `checked` is the sentence of one without mistakes; no text is checked
   *   while `mayCheck` is `false`
   */
  constructor(code) {
    this.id = code.id;
    this.text = code.text;
    this.ask = code.check;
    this.checked = code.checked;
    this.mayCheck = code.mayCheck ?? (() => true);
    /** What the server said about the text: its mistakes, none, or nothing yet. @type {Mistake[] | undefined} */
    this.mistakes = undefined;
    /** @type {string[]} */
    this.warnings = [];
    /** What was said about the text before, which stays in sight until there is more. @type {{mistakes: Mistake[], warnings: string[]} | undefined} */
    this.earlier = undefined;
    /** Why the server said nothing about the text; in sight until it says something. @type {any} */
    this.problem = undefined;
    /** The number of the newest check. Answers to earlier ones are dropped. */
    this.turn = 0;
    this.timer = 0;
  }
  close() {
    clearTimeout(this.timer);
  }
  /** @param {string} text */
  write(text) {
    this.text = text;
    if (this.mistakes) this.earlier = { mistakes: this.mistakes, warnings: this.warnings };
    this.mistakes = undefined;
    this.warnings = [];
    this.turn++;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.check(), PAUSE);
    emit();
  }
  async check() {
    const { text } = this;
    if (!text.trim()) {
      this.earlier = this.problem = undefined;
      return emit();
    }
    const turn = ++this.turn;
    try {
      const reply = this.mayCheck() ? await this.ask(text) : {};
      if (turn !== this.turn) return;
      this.mistakes = [];
      this.warnings = reply.warnings ?? [];
      this.problem = undefined;
    } catch (problem) {
      if (turn !== this.turn) return;
      this.refused(/** @type {any} */ (problem));
      this.problem = this.mistakes ? undefined : problem;
    }
    emit();
  }
  /** @param {any} problem */
  refused(problem) {
    // Any other refusal is shown by the request that meets it.
    if (isAboutText(problem)) this.mistakes = mistakesOf(problem.message);
  }
  /** Puts the cursor at a place of the text, and shows it. @param {number} line @param {number} [column] */
  goTo(line, column = 1) {
    const area = /** @type {HTMLTextAreaElement | null} */ (document.querySelector('.code-edit'));
    if (!area || !line) return;
    const at = offsetOf(this.text, line, column);
    area.focus({ preventScroll: true });
    area.setSelectionRange(at, at);
    const box = /** @type {HTMLElement} */ (area.parentElement);
    const height = area.scrollHeight / this.text.split('\n').length;
    box.scrollTop = Math.max(0, (line - 1) * height - box.clientHeight / 3);
    box.scrollIntoView({ block: 'nearest' });
  }
  /** The text with the numbers of its lines. @param {boolean} [isFixed] whether nobody can write */
  area(isFixed = false) {
    const count = this.text.split('\n').length;
    const wrong = new Map((this.mistakes ?? []).toReversed().map((mistake) => [mistake.line, mistake.text]));
    return html`<div class="code-box"><pre class="gutter muted num" aria-hidden="true">${Array.from({ length: count }, (_, n) => html`<span class=${wrong.has(n + 1) ? 'wrong' : ''} title=${wrong.get(n + 1) ?? ''}>${n + 1}\n</span>`)}</pre><textarea class="mono code-edit" aria-label=${t('text')} aria-describedby=${this.id} aria-invalid=${this.mistakes?.length ? 'true' : 'false'} spellcheck="false" ?readonly=${isFixed} rows=${Math.max(12, count + 1)} wrap="off" .value=${this.text} @input=${(/** @type {any} */ e) => this.write(e.target.value)}></textarea></div>`;
  }
  /** What the server said about the text, or about the one before as long as an answer may come. */
  get shown() {
    return this.mistakes ? { mistakes: this.mistakes, warnings: this.warnings } : this.problem ? undefined : this.earlier;
  }
  /** A sentence about a place of the text, which leads there. @param {Mistake} one */
  link(one) {
    return one.line ? html`<button class="link" @click=${() => this.goTo(one.line, one.column)}>${plain(one.text)}</button>` : plain(one.text);
  }
  /** What the server says about the text. */
  verdict() {
    const { shown, problem } = this;
    return html`${errorBox(problem, () => this.check())}<div id=${this.id} role="status" aria-busy=${this.mistakes || problem ? 'false' : 'true'}>${shown?.mistakes.length
      ? html`<div class="error-box">${shown.mistakes.map((one) => html`<p>${this.link(one)}</p>`)}</div>`
      : shown && this.mayCheck() ? html`<p class="line muted checked">${icon('check')}${this.checked}</p>` : nothing}
      ${(shown?.warnings ?? []).flatMap(mistakesOf).map((one) => html`<p class="warn-line">${icon('triangle-alert')} ${this.link(one)}</p>`)}</div>`;
  }
}
