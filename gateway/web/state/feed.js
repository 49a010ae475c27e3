// Live figures for pages with lists: one stream of `/v1/feed` for a tab, open while such a page is shown.

import { follow } from '../api.js';
import { emit } from './bus.js';

/** Time after which a hidden tab gives its connection back, in milliseconds. */
const HIDDEN = 30_000;
/** A stream that works makes reading in intervals superfluous; this one only bounds what a lost frame costs. */
const SELDOM = 60_000;
/** Shortest time between two reads of the same list, in milliseconds. */
const OFTEN = 1000;

/** What the stream told last. `changed` is the time of the last change of a job. */
export const feed = {
  live: false,
  changed: 0,
  /** Number of open jobs by state, once every shard told its own. @type {Record<string, number> | undefined} */
  open: undefined,
};
/** @type {(() => void) | undefined} */
let stop;
let wanted = false;
let timer = 0;
/** @type {Record<string, () => void>} */
let told = {};

/** Sets what happens when the number of questions or the processes changed. @param {{inbox: () => void, crew: () => void}} run */
export const onTold = (run) => {
  told = run;
};

/**
 * `true` if a list that was read at `at` has to be read again.
 * @param {number} at @param {number} age how old it may be without a stream, in milliseconds @param {number} [now]
 */
export function due(at, age, now = Date.now()) {
  const old = now - at;
  if (!feed.live) return old > age;
  return old > SELDOM || (feed.changed >= at && old > OFTEN);
}

/** @param {{event: string, data: any}} frame */
export function take({ event, data }) {
  if (event === 'pulse') {
    if (data.jobs.length || data.more) feed.changed = Date.now();
    feed.open = data.complete ? data.open : undefined;
  } else if (event === 'inbox' || event === 'crew') told[event]?.();
  else if (event === 'lost') {
    feed.changed = Date.now();
    told.inbox?.();
    told.crew?.();
  } else return;
  emit();
}

function open() {
  stop ??= follow('feed', {
    begun: () => {
      feed.live = true;
      // What changed before the stream began was not told.
      feed.changed = Date.now();
    },
    frame: (frame) => take({ event: frame.event, data: JSON.parse(frame.data) }),
    broken: close,
    failed: () => {},
  });
}
function close() {
  feed.live = false;
  feed.open = undefined;
}
function halt() {
  stop?.();
  stop = undefined;
  close();
}

/** Opens or closes the stream: a page with a stream of its own leaves the connection to that one. @param {boolean} shown */
export function feedWhile(shown) {
  wanted = shown;
  if (!shown) halt();
  else if (!document.hidden) open();
}

/** Follows the tab's visibility. */
export function followVisibility() {
  clearTimeout(timer);
  if (document.hidden) timer = window.setTimeout(halt, HIDDEN);
  else if (wanted) open();
}
