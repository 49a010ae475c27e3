// The palette: pages, jobs, actions and settings by a few letters.

import { html, nothing, ref } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { mayShow } from '../state/rights.js';
import { go } from '../router.js';
import { set, settings, t } from '../settings.js';
import { mark, shown } from './mark.js';
import { icon } from './ui.js';

let open = false;
let text = '';
let at = 0;
/** @type {any[]} */
let jobs = [];
/** @type {() => {word: string, icon: string, run: () => void}[]} */
let extra = () => [];
export const paletteOpen = () => open;
/** Actions of the page that is shown. @param {() => {word: string, icon: string, run: () => void}[]} list */
export const offer = (list) => {
  extra = list;
};
export function openPalette() {
  open = true;
  text = '';
  at = 0;
  emit();
  api.jobs({ limit: 100 }).then((reply) => {
    jobs = reply.jobs;
    emit();
  }, () => {});
}
function close() {
  open = false;
  emit();
}
function items() {
  const pages = ['jobs', 'inbox', 'new', 'chat', 'agents', 'workflows', 'tools', 'crew', 'costs', 'health', 'signin'].filter(mayShow).map((name) => ({ group: t('pages'), word: t(name === 'signin' ? 'identity' : `nav_${name}`), icon: icon('chevron-right'), run: () => go(`/${name}`) }));
  const own = extra().map((item) => ({ group: t('actions'), word: item.word, icon: icon(item.icon), run: item.run }));
  const looks = [
    ...['light', 'dark', 'system'].map((theme) => ({ group: t('settings'), word: `${t('theme')}: ${t(`theme_${theme}`)}`, icon: icon('sun'), run: () => set('theme', theme) })),
    { group: t('settings'), word: settings.language === 'zh' ? 'English' : '中文', icon: icon('languages'), run: () => set('language', settings.language === 'zh' ? 'en' : 'zh') },
  ];
  const rows = jobs.map((job) => ({ group: t('nav_jobs'), word: job.goal, hint: job.job, icon: mark(shown(job), true), run: () => go(`/jobs/${job.job}`) }));
  const all = [...own, ...pages, ...rows, ...looks];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter((item) => words.every((word) => `${item.word} ${'hint' in item ? item.hint : ''}`.toLowerCase().includes(word)));
  if (/^[\w-]{3,64}$/.test(text) && !jobs.some((job) => job.job === text)) found.push({ group: t('nav_jobs'), word: t('open_job', { job: text }), icon: icon('chevron-right'), run: () => go(`/jobs/${text}`) });
  return text ? found.slice(0, 40) : [...own, ...pages, ...rows.slice(0, 6), ...looks];
}
/** @param {KeyboardEvent} e */
function onKey(e) {
  e.stopPropagation();
  const list = items();
  if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
    e.preventDefault();
    at = (at + (e.key === 'ArrowDown' ? 1 : list.length - 1)) % Math.max(1, list.length);
    emit();
    requestAnimationFrame(() => document.querySelector('.palette [aria-selected=true]')?.scrollIntoView({ block: 'nearest' }));
  } else if (e.key === 'Enter') {
    e.preventDefault();
    const item = list[at];
    close();
    item?.run();
  }
}
export function paletteView() {
  if (!open) return nothing;
  const list = items();
  let group = '';
  return html`<dialog class="palette" aria-label=${t('search')} ${ref((/** @type {any} */ element) => queueMicrotask(() => element instanceof HTMLDialogElement && element.isConnected && !element.open && element.showModal()))} @close=${close} @keydown=${onKey} @click=${(/** @type {MouseEvent} */ e) => e.target === e.currentTarget && close()}>
    <div class="line palette-input">${icon('search')}<input role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant="p-${at}" autofocus placeholder=${t('palette_hint')} aria-label=${t('palette_hint')} .value=${text} @input=${(/** @type {any} */ e) => { text = e.target.value; at = 0; emit(); }}></div>
    <div class="palette-list" id="palette-list" role="listbox" aria-label=${t('search')}>${list.map((item, n) => {
      const head = item.group === group ? nothing : html`<div class="palette-group" role="presentation">${item.group}</div>`;
      group = item.group;
      return html`${head}<div class="palette-item" role="option" id="p-${n}" aria-selected=${n === at ? 'true' : 'false'} @mousemove=${() => { if (at !== n) { at = n; emit(); } }} @click=${() => { close(); item.run(); }}>${item.icon}<span class="cut grow">${item.word}</span>${'hint' in item ? html`<span class="muted mono">${item.hint}</span>` : nothing}</div>`;
    })}${list.length ? nothing : html`<p class="muted palette-none">${t('nothing_found')}</p>`}</div>
  </dialog>`;
}
