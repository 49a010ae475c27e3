// Routes by the History API. All selection is in the address.

import { emit } from './state/bus.js';

/** @typedef {{page: string, id: string, query: URLSearchParams}} Route */

const PAGES = ['jobs', 'inbox', 'new', 'chat', 'agents', 'workflows', 'tools', 'crew', 'costs', 'health', 'signin'];

/** @returns {Route} */
export function route() {
  const [page = '', rest = ''] = location.pathname.replace(/^\//, '').split('/');
  let id = '';
  try {
    id = decodeURIComponent(rest);
  } catch {
    id = rest;
  }
  return { page: page === '' ? 'jobs' : PAGES.includes(page) ? page : 'missing', id, query: new URLSearchParams(location.search) };
}

/**
 * What the address would take along. `keep` returns `true` if it has kept the address, because something would be lost with
 * it; `leave` goes on all the same. `holds` is `true` while the page itself would take something along.
 * @typedef {{keep: (to: string, leave: () => void) => boolean, holds: () => boolean}} Keeper
 */
/** @type {Keeper | undefined} */
let keeper;
/** @param {Keeper | undefined} next */
export const keepWith = (next) => {
  keeper = next;
};

/** @param {string} to @param {{replace?: boolean}} [how] */
export function go(to, how = {}) {
  if (to === present() || keeper?.keep(to, () => move(to, how))) return;
  move(to, how);
}
const present = () => location.pathname + location.search;
/** The address that the page shows. */
let shown = '';
/** @param {string} to @param {{replace?: boolean}} how */
function move(to, how) {
  if (how.replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  shown = to;
  if (!how.replace) document.querySelector('main')?.scrollTo(0, 0);
  emit();
}

/** Changes parameters of the present address; an empty value removes one, and a list stands for several. @param {Record<string, string | string[] | undefined>} change @param {{replace?: boolean}} [how] */
export function select(change, how = { replace: true }) {
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(change)) {
    query.delete(key);
    for (const one of Array.isArray(value) ? value : [value]) if (one) query.append(key, one);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ''), how);
}

export function goSignIn() {
  if (route().page === 'signin') return;
  go(`/signin?to=${encodeURIComponent(present())}`);
}

export function startRouter() {
  shown = present();
  addEventListener('popstate', () => {
    const to = present();
    // The browser has gone already: the address that is kept becomes the newest of its history.
    if (to !== shown && keeper?.keep(to, () => move(to, {}))) history.pushState(null, '', shown);
    else shown = to;
    emit();
  });
  // The browser asks in its own words.
  addEventListener('beforeunload', (event) => {
    if (keeper?.holds()) event.preventDefault();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = /** @type {Element} */ (event.target).closest?.('a[href^="/"]');
    if (!link || link.hasAttribute('target') || link.hasAttribute('download')) return;
    event.preventDefault();
    go(/** @type {string} */ (link.getAttribute('href')));
  });
}
