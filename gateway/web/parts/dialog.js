// The one dialog of the console. Errors stay in it.

import { html, nothing, ref } from '../lit.js';
import { emit } from '../state/bus.js';
import { t } from '../settings.js';
import { errorBox, icon } from './ui.js';

/**
 * @typedef {{title: string, body: () => unknown, confirm?: string, danger?: boolean, run?: () => Promise<void>, ready?: () => boolean, failed?: (problem: any) => void, wide?: boolean}} Dialog
 * @type {(Dialog & {busy?: boolean, problem?: any}) | undefined}
 */
let current;
/** @param {Dialog} dialog */
export function openDialog(dialog) {
  current = { ...dialog };
  emit();
}
export function closeDialog() {
  current = undefined;
  emit();
}
/** `true` while a request is on its way, whose answer has its place in the dialog. */
export const dialogSends = () => current?.busy === true;
export const dialogOpen = () => current !== undefined;

async function submit() {
  const dialog = current;
  if (!dialog?.run || dialog.busy || dialog.ready?.() === false) return;
  dialog.busy = true;
  dialog.problem = undefined;
  emit();
  try {
    await dialog.run();
    if (current === dialog) closeDialog();
  } catch (problem) {
    dialog.problem = problem;
    dialog.failed?.(problem);
  } finally {
    dialog.busy = false;
    emit();
  }
}

/** @param {Element | undefined} element */
function show(element) {
  // The element joins the document when the drawing is done.
  queueMicrotask(() => {
    if (!(element instanceof HTMLDialogElement) || element.open || !element.isConnected) return;
    element.showModal();
    /** @type {HTMLElement | null} */ (element.querySelector('textarea, input:not([type=checkbox]):not([type=radio]), [autofocus]'))?.focus();
  });
}

export function dialogView() {
  const dialog = current;
  if (!dialog) return nothing;
  return html`<dialog class=${dialog.wide ? 'wide' : ''} ${ref(show)} aria-labelledby="dialog-title"
    @close=${() => closeDialog()} @click=${(/** @type {MouseEvent} */ e) => e.target === e.currentTarget && closeDialog()}
    @keydown=${(/** @type {KeyboardEvent} */ e) => { e.stopPropagation(); if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) submit(); }}>
    <form method="dialog" @submit=${(/** @type {Event} */ e) => { e.preventDefault(); submit(); }}>
      <header><h2 id="dialog-title">${dialog.title}</h2><button type="button" class="ghost small" aria-label=${t('close')} @click=${closeDialog}>${icon('x')}</button></header>
      <div class="dialog-body stack">${dialog.body()}${errorBox(dialog.problem)}</div>
      ${dialog.run
        ? html`<footer><button type="button" @click=${closeDialog}>${t('back')}</button>
            <button class=${dialog.danger ? 'danger' : 'primary'} ?disabled=${dialog.busy || dialog.ready?.() === false}>${dialog.busy ? t('sending') : dialog.confirm}</button></footer>`
        : nothing}
    </form></dialog>`;
}
