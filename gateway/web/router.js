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

/** Keeps the present address as long as something would be lost with it. @typedef {(to: string, leave: () => void) => boolean} Keeper `true` if it has kept the address; `leave` goes on all the same */
/** @type {Keeper | undefined} */
let keeper;
/** @param {Keeper} next */
export const keepWith = (next) => {
  keeper = next;
};
/** @param {Keeper} of */
export const letGo = (of) => {
  if (keeper === of) keeper = undefined;
};

/** @param {string} to @param {{replace?: boolean}} [how] */
export function go(to, how = {}) {
  if (to === present() || keeper?.(to, () => move(to, how))) return;
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
  // Without a token nothing can be stored.
  move(`/signin?to=${encodeURIComponent(present())}`, {});
}

export function startRouter() {
  shown = present();
  addEventListener('popstate', () => {
    const to = present();
    // The browser has gone already: the address that is kept becomes the newest of its history.
    if (to !== shown && keeper?.(to, () => move(to, {}))) history.pushState(null, '', shown);
    else shown = to;
    emit();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = /** @type {Element} */ (event.target).closest?.('a[href^="/"]');
    if (!link || link.hasAttribute('target') || link.hasAttribute('download')) return;
    event.preventDefault();
    go(/** @type {string} */ (link.getAttribute('href')));
  });
}
