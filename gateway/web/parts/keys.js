// The keys of this page, in a dialog.

import { html, nothing } from '../lit.js';
import { t } from '../settings.js';
import { openDialog } from './dialog.js';

/** @param {{help?: [string, string][]}} page */
export function keysHelp(page) {
  const common = /** @type {[string, string][]} */ ([['Ctrl K', 'key_palette'], ['g j / i / c / a / f / t / w / u / h', 'key_go'], ['g n', 'nav_new'], ['?', 'keys'], ['Esc', 'key_escape']]);
  const list = (/** @type {[string, string][]} */ keys) => html`<dl class="keys">${keys.map(([key, word]) => html`<dt><kbd>${key}</kbd></dt><dd>${t(word)}</dd>`)}</dl>`;
  openDialog({ title: t('keys'), body: () => html`${page.help?.length ? html`<h3>${t('keys_page')}</h3>${list(page.help)}` : nothing}<h3>${t('keys_all')}</h3>${list(common)}` });
}
