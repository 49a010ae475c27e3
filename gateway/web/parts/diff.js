// A line diff by the longest common subsequence, pure, and its view.

import { html } from '../lit.js';
import { t } from '../settings.js';

/** @param {string} before @param {string} after @returns {{kind: 'same' | 'added' | 'removed', text: string}[]} */
export function diff(before, after) {
  // The end of the last line is no line.
  const both = before.endsWith('\n') && after.endsWith('\n') ? -1 : undefined;
  const a = before.slice(0, both).split('\n');
  const b = after.slice(0, both).split('\n');
  const wide = b.length + 1;
  const table = new Uint32Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) table[i * wide + j] = a[i] === b[j] ? table[(i + 1) * wide + j + 1] + 1 : Math.max(table[(i + 1) * wide + j], table[i * wide + j + 1]);
  /** @type {{kind: 'same' | 'added' | 'removed', text: string}[]} */
  const out = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: 'same', text: a[i] });
      i++;
      j++;
    } else if (i < a.length && (j === b.length || table[(i + 1) * wide + j] >= table[i * wide + j + 1])) out.push({ kind: 'removed', text: a[i++] });
    else out.push({ kind: 'added', text: b[j++] });
  }
  return out;
}

/** @param {string} before @param {string} after */
export const diffView = (before, after) =>
  before === after ? html`<p class="muted">${t('diff_none')}</p>` : html`<pre class="block diff" tabindex="0" aria-label=${t('diff')}>${diff(before, after).map((line) => html`<span class="diff-${line.kind}">${{ same: '  ', added: '+ ', removed: '- ' }[line.kind]}${line.text}\n</span>`)}</pre>`;
