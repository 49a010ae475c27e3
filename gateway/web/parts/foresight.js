// What a request would do: asked of the server whenever the request changes, and shown before the button.

import { html, nothing } from '../lit.js';
import { emit } from '../state/bus.js';
import { t } from '../settings.js';
import { errorBox, icon, plain } from './ui.js';

/** Time after the last change until the server is asked, in milliseconds. */
const PAUSE = 200;

/** The answer to the newest question. Answers to earlier ones are dropped. */
export class Foresight {
  /** @param {(body: any) => Promise<any>} ask @param {(run: () => void, ms: number) => unknown} [later] */
  constructor(ask, later = (run, ms) => setTimeout(run, ms)) {
    this.ask = ask;
    this.later = later;
    this.key = '';
    /** @type {any} */
    this.value = undefined;
    /** @type {any} */
    this.problem = undefined;
    this.waits = false;
  }
  /** Asks about a request unless it is the one that was asked about last. @param {any} body */
  look(body) {
    const key = JSON.stringify(body);
    if (key === this.key) return;
    const wait = this.key ? PAUSE : 0;
    this.key = key;
    this.waits = true;
    this.later(() => {
      if (this.key === key) this.send(body, key);
    }, wait);
  }
  /** Forgets the answer, as long as the request is not complete. */
  clear() {
    this.key = '';
    this.value = undefined;
    this.problem = undefined;
    this.waits = false;
  }
  /** @param {any} body @param {string} key */
  async send(body, key) {
    let value;
    let problem;
    try {
      value = await this.ask(body);
    } catch (error) {
      problem = error;
    }
    if (this.key !== key) return;
    this.value = value;
    this.problem = problem;
    this.waits = false;
    emit();
  }
  /** The refusal that the request would get. */
  get refused() {
    return this.value?.refused;
  }
}

/** The sentences, figures and the refusal. @param {Foresight} foresight @param {string} otherwise the sentence until the server's arrives */
export function foresightView(foresight, otherwise) {
  const { value, problem, refused } = foresight;
  const steps = value?.steps ?? [];
  const effects = value?.effects ?? [];
  const repeats = refused?.code === 'would_repeat';
  return html`<div class="consequence stack" aria-live="polite" aria-busy=${foresight.waits ? 'true' : 'false'}>
    ${value?.text || (!value && otherwise) ? html`<p class="consequence-text">${plain(value?.text || otherwise)}</p>` : nothing}
    ${steps.length > 5 ? html`<details><summary>${t('steps_again', { n: steps.length })}</summary><ul class="steps-again">${steps.map((/** @type {any} */ step) => html`<li>${plain(step.title || step.id)}</li>`)}</ul></details>` : nothing}
    ${effects.length ? html`<p class="warn-line">${icon('triangle-alert')}<span>${t('effects_stay')}</span>${effects.map((/** @type {any} */ one) => html`<span class="chip warn"><code>${one.tool}</code> ${t('calls_made', { n: one.calls })}${one.effect === 'once' ? ' · once' : ''}</span>`)}</p>` : nothing}
    ${refused ? errorBox({ code: refused.code, message: refused.message, field: refused.field, hint: repeats ? '' : refused.hint }) : nothing}
    ${errorBox(problem, () => { foresight.clear(); emit(); })}</div>`;
}
