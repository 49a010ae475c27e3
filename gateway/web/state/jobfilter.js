// The filter of the list of jobs, in the address, for the list and for batches. Pure; tests cover it.

const OPEN = ['submitted', 'working', 'input-required', 'auth-required'];
/** States by pill. Jobs need attention for another reason than their state. */
export const SHOW = /** @type {Record<string, string[] | undefined>} */ ({ all: undefined, open: OPEN, waiting: ['input-required', 'auth-required'], attention: [], failed: ['failed'], completed: ['completed'], canceled: ['canceled', 'rejected'] });
/** Periods of the submission, in hours. */
export const SINCE = /** @type {Record<string, number>} */ ({ '1h': 1, '24h': 24, '7d': 168, '30d': 720 });

/** @typedef {{show: string, text: string, labels: string[], agent: string, conversation: string, parent: string, since: string}} Filter */

/** `true` for a label as the front door takes it. @param {string} label */
export const isLabel = (label) => /^[a-z0-9][a-z0-9._/-]*=.*$/.test(label);

/** @param {URLSearchParams} query @returns {Filter} */
export function filterOf(query) {
  const show = query.get('show') ?? 'all';
  const since = query.get('since') ?? '';
  return {
    show: show in SHOW ? show : 'all',
    text: (query.get('q') ?? '').trim(),
    labels: query.getAll('label').filter(isLabel),
    agent: query.get('agent') ?? '',
    conversation: query.get('conversation') ?? '',
    parent: query.get('parent') ?? '',
    since: since in SINCE ? since : '',
  };
}

/** `true` if the filter leaves jobs out. @param {Filter} filter */
export const narrows = (filter) => filter.show !== 'all' || filter.text !== '' || chips(filter).length > 0;

/** The conditions beside the state and the text: `[parameter, value]`. @param {Filter} filter @returns {[string, string][]} */
export const chips = ({ labels, agent, conversation, parent, since }) =>
  /** @type {[string, string][]} */ ([['agent', agent], ...labels.map((label) => ['label', label]), ['conversation', conversation], ['parent', parent], ['since', since]]).filter(([, value]) => value);

/** Begin of the period, to the minute, so that the same filter is the same request. @param {string} since @param {number} now */
const begin = (since, now) => (since ? new Date(Math.floor(now / 60_000) * 60_000 - SINCE[since] * 3_600_000).toISOString() : undefined);

/** The parameters of the list. @param {Filter} filter @param {number} now */
export const paramsOf = ({ show, text, labels, agent, conversation, parent, since }, now) => ({ state: SHOW[show], attention: show === 'attention' ? 1 : undefined, q: text, label: labels, agent, conversation, parent, since: begin(since, now) });

/** The filter of a batch. @param {Filter} filter @param {number} now @returns {Record<string, any>} */
export function batchFilter({ show, text, labels, agent, conversation, parent, since }, now) {
  const pairs = labels.map((label) => [label.slice(0, label.indexOf('=')), label.slice(label.indexOf('=') + 1)]);
  const all = { states: SHOW[show]?.length ? SHOW[show] : '', attention: show === 'attention', text, labels: pairs.length ? Object.fromEntries(pairs) : '', agent, conversation, parent, since: begin(since, now) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
}

/** The options of the command line that select the same jobs. @param {Filter} filter @param {number} now */
export function optionsOf({ show, text, labels, agent, conversation, parent, since }, now) {
  const of = (/** @type {string} */ name, /** @type {string | undefined} */ value) => (value ? (value.startsWith('-') ? [`--${name}=${value}`] : [`--${name}`, value]) : []);
  const words = [...(show === 'attention' ? ['--attention'] : []), ...(SHOW[show] ?? []).flatMap((state) => of('state', state)), ...of('text', text), ...labels.flatMap((label) => of('label', label)), ...of('agent', agent), ...of('conversation', conversation), ...of('parent', parent), ...of('since', begin(since, now))];
  return words.length ? words : ['--all'];
}
