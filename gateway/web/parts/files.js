// Files that a person attaches to a job: the choice, and the upload.

import { html } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { t } from '../settings.js';
import { size } from '../format.js';
import { icon, plain } from './ui.js';

const PIECE = 512 * 1024;
/** Largest file that goes into the submission as text. */
const TEXT_MAX = 64 * 1024;
/** Files of a submission at most. */
const FILES_MAX = 32;

/** The files with further ones; of two with one name the first stays. @param {File[]} files @param {FileList | null | undefined} list */
export const added = (files, list) => [...files, ...[...(list ?? [])].filter((file) => !files.some((other) => other.name === file.name))].slice(0, FILES_MAX);

/** The chosen files, each with its size and a button that removes it. @param {File[]} files @param {(files: File[]) => void} set */
export const fileList = (files, set) => files.map((file) => html`<div class="line file-line"><span class="cut grow">${plain(file.name)}</span><span class="muted num">${size(file.size)}</span><button type="button" class="ghost small" aria-label="${t('remove')}: ${file.name}" @click=${() => { set(files.filter((other) => other !== file)); emit(); }}>${icon('x')}</button></div>`);

/** A file as text if it is small and valid UTF-8, otherwise as uploaded pieces. @param {File} file */
async function upload(file) {
  const named = { name: file.name, ...(file.type ? { media_type: file.type } : {}) };
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes.length <= TEXT_MAX) {
    try {
      return { ...named, content: { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) } };
    } catch {
      // Not text: upload it.
    }
  }
  const pieces = [];
  for (let from = 0; from < bytes.length; from += PIECE) {
    const part = bytes.slice(from, from + PIECE);
    const digest = [...new Uint8Array(await crypto.subtle.digest('SHA-256', part))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    pieces.push((await api.piece(digest, new Blob([part]))).piece);
  }
  return { ...named, content: { pieces } };
}

/** The field `files` of a submission; nothing without files. @param {File[]} files */
export const filesOf = async (files) => (files.length ? { files: await Promise.all(files.map(upload)) } : {});
