// State marks: shape, word and colour, never colour alone.

import { html, svg } from '../lit.js';
import { t } from '../settings.js';

const SHAPES = {
  idle: svg`<circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.6 1.9"/>`,
  ready: svg`<circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" stroke-width="1.5"/>`,
  work: svg`<circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" stroke-width="1.5" opacity="0.35"/><path class="turning" d="M8 2.25a5.75 5.75 0 0 1 5.75 5.75" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"/><path d="M6.6 5.4v5.2L10.8 8z" fill="currentColor"/>`,
  wait: svg`<circle cx="8" cy="8" r="6.5" fill="currentColor"/><path class="cutout" d="M6.2 5.4v5.2M9.8 5.4v5.2" stroke-width="1.7" stroke-linecap="round"/>`,
  done: svg`<circle cx="8" cy="8" r="6.5" fill="currentColor"/><path class="cutout" d="m5.2 8.2 2 2 3.7-4.1" fill="none" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/>`,
  fail: svg`<circle cx="8" cy="8" r="6.5" fill="currentColor"/><path class="cutout" d="m5.9 5.9 4.2 4.2m0-4.2-4.2 4.2" stroke-width="1.6" stroke-linecap="round"/>`,
  attn: svg`<path d="M8 1.6 15 14H1z" fill="currentColor" stroke="currentColor" stroke-width="1" stroke-linejoin="round"/><path class="cutout" d="M8 6.2v3.4M8 11.7v.1" stroke-width="1.6" stroke-linecap="round"/>`,
  off: svg`<circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M4 12 12 4" stroke="currentColor" stroke-width="1.5"/>`,
  skip: svg`<circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M5.5 8h5" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/>`,
};
/** @type {Record<string, [keyof typeof SHAPES, string]>} */
const STATES = {
  submitted: ['ready', 'idle'], working: ['work', 'work'], 'input-required': ['wait', 'wait'], 'auth-required': ['wait', 'wait'],
  completed: ['done', 'done'], failed: ['fail', 'fail'], canceled: ['off', 'idle'], rejected: ['off', 'idle'],
  paused: ['wait', 'idle'], poisoned: ['attn', 'attn'], attention: ['attn', 'attn'], 'backing-off': ['work', 'wait'],
  pending: ['idle', 'idle'], ready: ['ready', 'work'], running: ['work', 'work'], waiting: ['wait', 'wait'],
  blocked: ['off', 'fail'], skipped: ['skip', 'idle'], unsuccessful: ['fail', 'wait'],
};

/** The state that a job shows: attention and pauses count before the state of the protocol. @param {any} job */
export function shown(job) {
  const code = (Array.isArray(job.why) ? job.why[0] : job.why)?.code;
  if (job.sub_status === 'poisoned' || ['given_up', 'unreadable', 'no_worker', 'no_supervisor', 'outage'].includes(code)) return 'attention';
  if (job.sub_status === 'paused') return 'paused';
  if (job.state === 'working' && job.sub_status === 'backing-off') return 'backing-off';
  return job.state;
}
const ENDED = ['completed', 'failed', 'canceled', 'rejected'];
/** `true` for the state of a job that has ended. @param {string} state */
export const hasEnded = (state) => ENDED.includes(state);
/** The colour of a state, as the end of a class name. @param {string} state */
export const tone = (state) => STATES[state]?.[1] ?? 'idle';

/** @param {string} state @param {boolean} [silent] */
export function mark(state, silent = false) {
  const [shape, colour] = STATES[state] ?? ['ready', 'idle'];
  return silent
    ? html`<svg class="mark st-${colour}" viewBox="0 0 16 16" aria-hidden="true">${SHAPES[shape]}</svg>`
    : html`<svg class="mark st-${colour}" viewBox="0 0 16 16" role="img" aria-label=${t(`state_${state}`)}>${SHAPES[shape]}</svg>`;
}

/** Mark and word. @param {string} state @param {string} [word] */
export const badge = (state, word) => html`<span class="badge tint-${tone(state)}">${mark(state, true)}<span>${word ?? t(`state_${state}`)}</span></span>`;
