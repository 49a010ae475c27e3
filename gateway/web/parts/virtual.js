// A list of rows of one height of which only those in sight are in the document.

import { html, ref, render } from '../lit.js';
import { rest } from '../state/bus.js';

/** Rows that are drawn beyond those in sight: the way of the scroll, and behind it. */
const AHEAD = 8;
const BEHIND = 2;

/** @type {Map<string, {top: number, height: number, up: boolean, stick: boolean}>} */
const places = new Map();

/**
 * @template T
 * @param {string} name @param {T[]} rows @param {number} height @param {(row: T, n: number) => unknown} draw @param {{stick?: boolean, label: string}} how `stick` keeps the end in sight
 */
export function virtual(name, rows, height, draw, how) {
  let place = places.get(name);
  if (!place) places.set(name, (place = { top: 0, height: 640, up: false, stick: !!how.stick }));
  const state = place;
  const total = rows.length * height;
  const toEnd = (/** @type {HTMLElement} */ box) => {
    if (box.scrollTop + box.clientHeight < total) box.scrollTop = total;
  };
  // A scroll draws the rows and nothing else of the page.
  const show = (/** @type {HTMLElement} */ box) => {
    const first = Math.max(0, Math.min(rows.length, Math.floor(state.top / height) - (state.up ? AHEAD : BEHIND)));
    const last = Math.min(rows.length, Math.ceil((state.top + state.height) / height) + (state.up ? BEHIND : AHEAD));
    box.style.transform = `translateY(${first * height}px)`;
    render(rows.slice(first, last).map((row, n) => draw(row, first + n)), box);
  };
  return html`<div class="virtual" role="list" aria-label=${how.label} tabindex="0" @scroll=${(/** @type {Event} */ e) => {
    const box = /** @type {HTMLElement} */ (e.currentTarget);
    // Rows may come between a jump to the end and its event, so only a way up leaves the end.
    state.up = box.scrollTop < state.top - 1;
    state.top = box.scrollTop;
    state.height = box.clientHeight;
    state.stick = !!how.stick && (box.scrollTop + box.clientHeight >= box.scrollHeight - height || (state.stick && !state.up));
    show(/** @type {HTMLElement} */ (box.querySelector('.virtual-rows')));
    rest();
  }} ${ref((/** @type {any} */ element) => {
    if (element instanceof HTMLElement) {
      state.height = element.clientHeight || 640;
      // The end is where the rows of this drawing end.
      /** @type {HTMLElement} */ (element.firstElementChild).style.height = `${total}px`;
      if (!state.stick) return;
      state.top = Math.max(0, total - state.height);
      // A new element is not in the document yet, where it could scroll.
      if (element.isConnected) toEnd(element);
      else queueMicrotask(() => toEnd(element));
    }
  })}><div class="virtual-space">
    <div class="virtual-rows" ${ref((/** @type {any} */ element) => { if (element instanceof HTMLElement) show(element); })}></div></div></div>`;
}
