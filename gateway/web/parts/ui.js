// Small parts: icons, times, copy buttons, visible text, errors, toasts, empty states.

import { html, nothing, ref } from '../lit.js';
import { emit } from '../state/bus.js';
import { lacks } from '../state/rights.js';
import { t } from '../settings.js';
import { ago, exact, visible } from '../format.js';

const SPRITE = new URL('../icons.svg', import.meta.url).pathname;
/** @param {string} name */
export const icon = (name) => html`<svg class="icon" aria-hidden="true"><use href="${SPRITE}#${name}"></use></svg>`;

/** A relative time with the exact one on hover. @param {string | number} at @param {string} [text] */
export function when(at, text) {
  const date = new Date(at);
  return html`<time datetime=${Number.isNaN(+date) ? '' : date.toISOString()} title=${exact(at)}>${text ?? ago(at)}</time>`;
}

/** Text in which invisible characters show as `\u{…}`. @param {string} text */
export const plain = (text) => visible(text).map((part) => (part.hidden ? html`<mark class="hidden-char" title=${t('hidden_char')}>${part.text}</mark>` : part.text));

/** @param {string} text @param {string} [label] */
export const copyButton = (text, label) => html`<button type="button" class="ghost small" title=${t('copy')} aria-label=${t('copy')} @click=${(/** @type {Event} */ e) => { e.stopPropagation(); copy(text); }}>${icon('copy')}${label ?? nothing}</button>`;
/** @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t('copied'));
  } catch {
    toast(t('copy_failed'), 'fail');
  }
}

/** A sentence, what to do next, and a button for that. @param {any} problem @param {() => void} [again] */
export function errorBox(problem, again) {
  if (!problem) return nothing;
  const text = problem.code === 'unreachable' ? t('error_unreachable') : problem.message;
  return html`<div class="error-box" role="alert">
    <div class="line top">${icon('triangle-alert')}<div class="grow"><p>${text}</p>
      ${problem.hint ? html`<p class="muted">${problem.hint}</p>` : nothing}
      <p class="muted mono">${problem.code}${problem.field ? ` · ${problem.field}` : ''}</p></div>
    ${again ? html`<button type="button" @click=${again}>${t('try_again')}</button>` : nothing}</div></div>`;
}

/** @type {{id: number, text: string, kind: string}[]} */
let toasts = [];
let toastId = 0;
/** @param {string} text @param {string} [kind] */
export function toast(text, kind = 'done') {
  const id = ++toastId;
  toasts = [...toasts.slice(-2), { id, text, kind }];
  emit();
  setTimeout(() => {
    toasts = toasts.filter((item) => item.id !== id);
    emit();
  }, 5000);
}
export const toastList = () => html`<div class="toasts" role="status" aria-live="polite">${toasts.map((item) => html`<div class="toast st-${item.kind}">${icon(item.kind === 'fail' ? 'triangle-alert' : 'check')}<span>${item.text}</span></div>`)}</div>`;

/** @param {string} title @param {unknown} text @param {unknown} [more] */
export const empty = (title, text, more = nothing) => html`<div class="empty"><h2>${title}</h2><p class="muted">${text}</p>${more}</div>`;

/** The role that the caller lacks for a verb, as a line. @param {string} verb */
export const denied = (verb) => (lacks(verb) ? html`<p class="line muted denied">${icon('ban')}${t('needs_role', { role: lacks(verb) })}</p>` : nothing);

/** @param {string} command */
export const command = (command) => html`<div class="command"><code>${command}</code>${copyButton(command)}</div>`;

/** Rows that hold the place of what has not arrived; they appear after 200 ms. @param {number} count */
export const skeleton = (count) => html`<div class="skeleton" aria-busy="true"><span class="sr">${t('loading')}</span>${Array.from({ length: count }, () => html`<div></div>`)}</div>`;

/** A text area that grows with its text. @param {Element | undefined} element */
export function grow(element) {
  if (!(element instanceof HTMLTextAreaElement)) return;
  if (!element.scrollHeight) {
    requestAnimationFrame(() => element.isConnected && element.scrollHeight && grow(element));
    return;
  }
  element.style.height = 'auto';
  element.style.height = `${Math.min(element.scrollHeight + 2, 480)}px`;
}
export const growing = ref(grow);
/** Moves the focus to an element when it appears; `autofocus` works only once for each document. */
export const focusing = ref((/** @type {Element | undefined} */ element) => queueMicrotask(() => element instanceof HTMLElement && element.isConnected && element.focus()));

/** @param {string} label @param {[string, string][]} options @param {string} value @param {(value: string) => void} choose */
export const segments = (label, options, value, choose) => html`<div class="segments" role="group" aria-label=${label}>${options.map(([key, word]) => html`<button type="button" aria-pressed=${key === value} @click=${() => choose(key)}>${word}</button>`)}</div>`;
