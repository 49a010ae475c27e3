// Start, shell and keys of the console.

import { html, nothing, render } from './lit.js';
import { net } from './api.js';
import { emit, onChange, rests } from './state/bus.js';
import { cached } from './state/cache.js';
import { feedWhile, followVisibility } from './state/feed.js';
import { may, mayShow } from './state/rights.js';
import { poolsMissing, rolesMissing } from './state/unserved.js';
import { go, keepWith, route, startRouter } from './router.js';
import { addWords, apply, set, settings, t } from './settings.js';
import { clock } from './format.js';
import { dialogOpen, dialogView } from './parts/dialog.js';
import { keysHelp } from './parts/keys.js';
import { openPalette, paletteOpen, paletteView } from './parts/palette.js';
import { empty, icon, toastList } from './parts/ui.js';

/** @typedef {{view: (query: URLSearchParams) => unknown, title: () => string, close?: () => void, keys?: Record<string, () => void>, help?: [string, string][], tick?: () => void, holdsStream?: boolean, keeper?: import('./router.js').Keeper}} Page `holdsStream` is true if the page reads a stream of its own */

const NAV = /** @type {[string, string, string][]} */ ([
  ['jobs', 'list-checks', 'j'], ['inbox', 'inbox', 'i'], ['chat', 'message-square', 'c'],
  ['agents', 'bot', 'a'], ['workflows', 'git-fork', 'f'], ['tools', 'wrench', 't'], ['crew', 'users', 'w'], ['costs', 'tag', 'u'], ['health', 'activity', 'h'],
]);

/** @type {Page | undefined} */
let page;
let key = '';

/** Modules of the pages; each loads when it is first shown. @type {Record<string, (id: string) => Promise<Page>>} */
const MAKE = {
  jobs: async (id) => (id ? (await import('./pages/job.js')).openJob(id) : new (await import('./pages/jobs.js')).JobsPage()),
  inbox: async () => new (await import('./pages/inbox.js')).InboxPage(),
  new: async () => new (await import('./pages/new.js')).NewPage(),
  chat: async (id) => new (await import('./pages/chat.js')).ChatPage(id),
  agents: async () => new (await import('./pages/agents.js')).AgentsPage(),
  workflows: async () => (await import('./pages/workflows.js')).openWorkflows(),
  tools: async () => new (await import('./pages/tools.js')).ToolsPage(),
  crew: async () => new (await import('./pages/crew.js')).CrewPage(),
  costs: async () => new (await import('./pages/costs.js')).CostsPage(),
  health: async () => new (await import('./pages/health.js')).HealthPage(),
  signin: async () => new (await import('./pages/signin.js')).SignInPage(),
};
/** The words of the pages beside the list of jobs. */
const WORDS = { en: () => import('./words/pages.en.js'), zh: () => import('./words/pages.zh.js') };
/** @type {Page} */
const MISSING = { title: () => t('missing_title'), view: () => html`<h1 class="sr">${t('missing_title')}</h1>${empty(t('missing_title'), t('missing_text'), html`<a class="button" href="/jobs">${t('nav_jobs')}</a>`)}` };
/** @type {Page} */
const LOADING = { title: () => 'Callboard', view: () => nothing };

function draw() {
  const now = route();
  const next = ['jobs', 'chat'].includes(now.page) ? `${now.page}/${now.id}` : now.page;
  if (next !== key || !page) {
    page?.close?.();
    key = next;
    page = LOADING;
    keepWith(undefined);
    const load = MAKE[now.page] ?? (async () => MISSING);
    Promise.all([load(now.id), next === 'jobs/' ? undefined : addWords(WORDS)]).then(
      ([made]) => {
        if (key === next) {
          page = made;
          keepWith(made.keeper);
        } else made.close?.();
        emit();
      },
      () => {
        // A module that did not arrive: ask for it again with the next drawing.
        if (key === next) page = undefined;
        net.since ||= Date.now();
        setTimeout(emit, 2000);
      },
    );
  }
  if (page !== LOADING) feedWhile(!!page && page !== MISSING && !page.holdsStream && now.page !== 'signin');
  // The frame of the index is what a browser shows until here.
  document.getElementById('frame')?.remove();
  document.title = page === LOADING ? 'Callboard' : `${page.title()} · Callboard`;
  render(shell(now, page), /** @type {HTMLElement} */ (document.getElementById('app')));
}

/** @param {import('./router.js').Route} now @param {Page} shown */
function shell(now, shown) {
  if (now.page === 'signin') return html`<main class="plain" id="main" tabindex="-1">${shown.view(now.query)}</main>${toastList()}`;
  const inbox = cached('inbox', 5000).value;
  const open = inbox?.questions?.length ?? 0;
  const folded = settings.rail === 'folded';
  const item = (/** @type {[string, string, string]} */ [name, glyph, hot]) => html`<a class="nav" href="/${name}" aria-current=${now.page === name ? 'page' : nothing} title="${t(`nav_${name}`)} (g ${hot})">
    ${icon(glyph)}<span class="nav-word">${t(`nav_${name}`)}</span>${name === 'inbox' && open ? html`<span class="count" aria-label=${t('questions_open', { n: open })}>${open}${inbox.more ? '+' : ''}</span>` : nothing}</a>`;
  const low = (/** @type {[string, string, string]} */ one) => (mayShow(one[0]) ? item(one) : nothing);
  return html`<a class="skip" href="#main" @click=${(/** @type {Event} */ e) => { e.preventDefault(); document.getElementById('main')?.focus(); }}>${t('skip')}</a>
    <div class="shell ${folded ? 'folded' : ''}">
    <nav class="rail" aria-label=${t('navigation')}>
      <div class="brand"><svg class="logo" viewBox="0 0 16 16" aria-hidden="true"><rect x="1" y="1" width="14" height="14" rx="3.5"/><path d="M4.5 5.2h7M4.5 8h4.6M4.5 10.8h5.8" stroke-width="1.5" stroke-linecap="round"/></svg><span class="nav-word">Callboard</span>
        <button class="ghost small end fold" aria-label=${t('fold_rail')} title=${t('fold_rail')} @click=${() => set('rail', folded ? 'open' : 'folded')}>${icon(folded ? 'chevron-right' : 'chevron-left')}</button></div>
      ${mayShow('new') ? html`<a class="nav new" href="/new" title="${t('nav_new')} (g n)">${icon('plus')}<span class="nav-word">${t('nav_new')}</span></a>` : nothing}
      <button class="nav search" @click=${openPalette}>${icon('search')}<span class="nav-word">${t('search')}</span><kbd class="end nav-word">${/Mac/.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</kbd></button>
      <div class="nav-list">${NAV.filter(([name]) => mayShow(name)).map(item)}</div>
      <div class="rail-foot">
        <button class="ghost small" title=${t('theme')} aria-label="${t('theme')}: ${t(`theme_${settings.theme}`)}" @click=${() => set('theme', { system: 'light', light: 'dark', dark: 'system' }[settings.theme] ?? 'system')}>${icon({ light: 'sun', dark: 'moon' }[settings.theme] ?? 'monitor')}</button>
        <button class="ghost small" title=${t('language')} @click=${() => set('language', settings.language === 'zh' ? 'en' : 'zh')}>${icon('languages')}<span lang=${settings.language === 'zh' ? 'en' : 'zh-CN'}>${settings.language === 'zh' ? 'English' : '中文'}</span></button>
        <a class="ghost small button" href="/signin" title=${t('identity')} aria-label=${t('identity')}>${icon('log-in')}</a>
        <button class="ghost small" title="${t('keys')} (?)" aria-label=${t('keys')} @click=${() => keysHelp(shown)}>${icon('keyboard')}</button>
      </div>
    </nav>
    <main id="main" tabindex="-1">
      ${net.since ? html`<div class="strip" role="status">${icon('triangle-alert')}<span>${t('not_live', { time: clock(net.since) })}</span></div>` : nothing}
      ${noWorkers()}
      ${shown.view(now.query)}
    </main>
    <nav class="bottom" aria-label=${t('navigation')}>${NAV.slice(0, 2).map(low)}${mayShow('new') ? html`<a class="nav" href="/new" aria-current=${now.page === 'new' ? 'page' : nothing}>${icon('plus')}<span>${t('nav_new_short')}</span></a>` : nothing}${low(NAV[2])}<button class="nav" @click=${openPalette}>${icon('ellipsis')}<span>${t('more')}</span></button></nav>
    </div>${paletteView()}${dialogView()}${toastList()}`;
}

/** A warning on every page: roles that no process has, and pools of tools for which jobs wait. */
function noWorkers() {
  const crew = may('crew') && cached('crew', 15_000).value;
  if (!crew) return nothing;
  const roles = rolesMissing(crew);
  const pools = poolsMissing((may('list') && cached('attention', 60_000).value?.jobs) || [], roles);
  const strip = (/** @type {string} */ text, /** @type {string} */ line) => html`<div class="strip" role="status">${icon('triangle-alert')}<span>${text}</span> ${line ? html`<code>${line}</code>` : nothing}</div>`;
  return html`${roles.length ? strip(t('no_role', { roles: roles.join(', ') }), `callboard serve --roles ${roles.join(',')}`) : nothing}
    ${pools.map(({ kind, pool, jobs, command }) => strip(t('no_pool', { pool: `${kind}.${pool}`, n: jobs }), command))}`;
}

let going = 0;
/** @param {KeyboardEvent} event */
function onKey(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    openPalette();
    return;
  }
  if (dialogOpen() || paletteOpen()) return;
  const target = /** @type {HTMLElement} */ (event.target);
  const typing = target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
  if ((event.ctrlKey || event.metaKey) && event.key === 'Enter') {
    page?.keys?.['Ctrl+Enter']?.();
    return;
  }
  if (event.key === 'Escape' && typing) {
    target.blur();
    return;
  }
  const soft = typing && !(target instanceof HTMLInputElement && ['radio', 'checkbox', 'range'].includes(target.type));
  if (soft || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLInputElement && target.type === 'range' && event.key.startsWith('Arrow')) return;
  if (event.key === 'Enter' && target.closest('a, button, summary')) return;
  if (event.key === ' ' && target.closest('button, summary, input')) return;
  if (going && Date.now() - going < 1200) {
    going = 0;
    const place = event.key === 'n' ? 'new' : NAV.find(([, , hot]) => hot === event.key)?.[0];
    if (place) {
      event.preventDefault();
      go(`/${place}`);
    }
    return;
  }
  if (event.key === 'g') {
    going = Date.now();
    return;
  }
  if (event.key === '?') {
    if (page) keysHelp(page);
    return;
  }
  const run = page?.keys?.[event.key];
  if (run) {
    event.preventDefault();
    run();
  }
}

apply();
onChange(draw);
startRouter();
addEventListener('keydown', onKey);
addEventListener('focus', emit);
// A page that the browser keeps for its back button would keep its streams, too, and a host has six connections.
addEventListener('pagehide', () => {
  page?.close?.();
  page = undefined;
  key = '';
  feedWhile(false);
});
addEventListener('pageshow', (event) => event.persisted && emit());
document.addEventListener('visibilitychange', () => {
  followVisibility();
  if (!document.hidden) emit();
});
setInterval(() => {
  if (document.hidden || rests()) return;
  page?.tick?.();
  emit();
}, 1000);
draw();
