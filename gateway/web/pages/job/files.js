// The files of a job: those of the submission and those that calls published can be saved, and each step names those of its result.

import { html, nothing } from '../../lit.js';
import { api } from '../../api.js';
import { emit } from '../../state/bus.js';
import { select } from '../../router.js';
import { t } from '../../settings.js';
import { size } from '../../format.js';
import { icon, plain, toast } from '../../parts/ui.js';

/** Names that are being read. @type {Set<string>} */
const reading = new Set();

/** Saves a file as the browser saves downloads. The request carries the token, which a plain link could not. @param {string} job @param {string} name */
export async function save(job, name) {
  const key = `${job}/${name}`;
  if (reading.has(key)) return;
  reading.add(key);
  emit();
  try {
    const url = URL.createObjectURL(await api.file(job, name));
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
    // A slow browser reads the content some time after the click.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  } catch (problem) {
    toast(/** @type {Error} */ (problem).message || t('error_unreachable'), 'fail');
  } finally {
    reading.delete(key);
    emit();
  }
}

/** The address of a text that is one. @param {string} text */
const address = (text) => {
  const url = /^https?:/.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url?.host ? url : undefined;
};

/** A file that the job came with, or a name that stands for nothing here. @param {string} job @param {string} name @param {any} [file] */
export function fileView(job, name, file) {
  if (file && !file.url) {
    const busy = reading.has(`${job}/${name}`);
    return html`<button class="small file" ?disabled=${busy} title=${t('save_file', { name })} aria-label=${t('save_file', { name })} @click=${() => save(job, name)}>${icon('file-text')}<span class="cut">${plain(name)}</span>${busy ? html`<span class="muted">${t('loading')}</span>` : file.bytes === undefined ? nothing : html`<span class="muted num">${size(file.bytes)}</span>`}</button>`;
  }
  const url = address(file?.url ?? name);
  return html`<span class="chip file">${icon('file-text')}${url ? html`<a href=${url.href} target="_blank" rel="noopener noreferrer" title=${url.href}>${plain(file ? name : url.host + url.pathname)}</a>` : plain(name)}</span>`;
}

/** The file that a name stands for, if there is one. @param {any} view @param {string} name */
const named = (view, name) => [...(view.files ?? []), ...(view.artifacts ?? [])].find((/** @type {any} */ file) => file.name === name);

/** What a step names. @param {string} job @param {any} view @param {string[] | undefined} names */
export const attachments = (job, view, names) => (names?.length ? html`<p class="line wrap tight">${names.map((name) => fileView(job, name, named(view, name)))}</p>` : nothing);

/** All files of a job. @param {string} job @param {any} view @param {any[]} steps */
export function filesView(job, view, steps) {
  const files = view.files ?? [];
  const artifacts = view.artifacts ?? [];
  const naming = steps.filter((step) => step.attachments?.length);
  if (!files.length && !artifacts.length && !naming.length) return nothing;
  return html`<section class="card files-of" aria-label=${t('files')}><h2>${t('files')}</h2><dl class="pairs">
    ${files.length ? html`<dt>${t('files_given')}</dt><dd class="line wrap tight">${files.map((/** @type {any} */ file) => fileView(job, file.name, file))}</dd>` : nothing}
    ${artifacts.length ? html`<dt>${t('files_published')}</dt><dd class="line wrap tight">${artifacts.map((/** @type {any} */ file) => fileView(job, file.name, file))}</dd>` : nothing}
    ${naming.map((step) => html`<dt><button class="link" @click=${() => select({ step: step.id })}>${plain(step.title || step.description)}</button></dt><dd>${attachments(job, view, step.attachments)}</dd>`)}</dl></section>`;
}
