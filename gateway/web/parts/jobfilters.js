// The dialog that narrows the list of jobs, and the filters that this browser keeps under names.

import { html, nothing } from '../lit.js';
import { emit } from '../state/bus.js';
import { cached } from '../state/cache.js';
import { isLabel, narrows, SINCE } from '../state/jobfilter.js';
import { select } from '../router.js';
import { set, settings, t } from '../settings.js';
import { openDialog } from './dialog.js';
import { icon, plain } from './ui.js';

/** Filters that are kept at most. */
const KEPT_MAX = 12;

/** Opens the dialog that adds conditions. @param {import('../state/jobfilter.js').Filter} filter @param {() => void} changed */
export function openNarrow(filter, changed) {
  const form = { agent: '', label: '', conversation: '', parent: '', since: '' };
  const agents = cached('agents', 60_000).value?.agents ?? [];
  const field = (/** @type {'label' | 'conversation' | 'parent'} */ name, /** @type {string} */ placeholder) => html`<label class="field"><span>${t(`filter_${name}`)}</span><input class="mono" maxlength="200" placeholder=${placeholder} .value=${form[name]} @input=${(/** @type {any} */ e) => { form[name] = e.target.value.trim(); emit(); }}></label>`;
  const options = (/** @type {'agent' | 'since'} */ name, /** @type {[string, string][]} */ list) => html`<label class="field"><span>${t(`filter_${name}`)}</span><select @change=${(/** @type {any} */ e) => { form[name] = e.target.value; emit(); }}><option value="">${t('any')}</option>${list.map(([value, word]) => html`<option value=${value} .selected=${form[name] === value}>${word}</option>`)}</select></label>`;
  openDialog({
    title: t('add_filter'), confirm: t('apply'),
    ready: () => Object.values(form).some((value) => value) && (!form.label || isLabel(form.label)),
    body: () => html`${options('agent', agents.map((/** @type {any} */ a) => [a.name, a.name]))}${field('label', 'team=billing')}${options('since', Object.keys(SINCE).map((key) => [key, t(`since_${key}`)]))}${field('conversation', 'chat-1')}${field('parent', 'report-7')}`,
    run: async () => {
      const { label, ...rest } = form;
      changed();
      select({ ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value)), ...(label ? { label: [...new Set([...filter.labels, label])] } : {}) });
    },
  });
}

/** @typedef {{name: string, search: string}} Kept */

/** @returns {Kept[]} */
function kept() {
  try {
    const list = JSON.parse(settings.views || '[]');
    return Array.isArray(list) ? list.filter((one) => typeof one?.name === 'string' && typeof one?.search === 'string' && one.search.startsWith('?')) : [];
  } catch {
    return [];
  }
}
/** @param {Kept[]} list */
const keep = (list) => set('views', JSON.stringify(list.slice(-KEPT_MAX)));

/** Opens the dialog that gives the present filter a name. */
function openKeep() {
  const search = location.search;
  let name = '';
  openDialog({
    title: t('save_view'), confirm: t('save'), ready: () => name.trim() !== '',
    body: () => html`<p class="muted">${t('save_view_text')}</p><label class="field"><span>${t('name')}</span><input maxlength="40" .value=${name} @input=${(/** @type {any} */ e) => { name = e.target.value; emit(); }}></label>`,
    run: async () => keep([...kept().filter((one) => one.name !== name.trim()), { name: name.trim(), search }]),
  });
}

/** The kept filters as links. @param {import('../state/jobfilter.js').Filter} filter */
export function keptFilters(filter) {
  const list = kept();
  const here = location.search;
  if (!list.length && !narrows(filter)) return nothing;
  return html`<div class="line wrap saved-views" role="group" aria-label=${t('saved_views')}>
    ${list.map((one) => html`<span class="chip"><a href="/jobs${one.search}" aria-current=${one.search === here ? 'true' : nothing}>${plain(one.name)}</a><button class="ghost small" aria-label="${t('remove')}: ${one.name}" @click=${() => keep(list.filter((other) => other !== one))}>${icon('x')}</button></span>`)}
    ${narrows(filter) && !list.some((one) => one.search === here) ? html`<button class="ghost small" @click=${openKeep}>${icon('tag')}${t('save_view')}</button>` : nothing}</div>`;
}
