// What the caller may do at the front door. Until it has told, everything.

import { cached } from './cache.js';

/** The verb without which a page has nothing to show. @type {Record<string, string>} */
const OF_PAGE = { jobs: 'list', inbox: 'inbox', chat: 'list', agents: 'agents', workflows: 'workflows', tools: 'tools', crew: 'crew', costs: 'usage', health: 'crew', new: 'submit' };
/** The role that a verb which changes something needs. @type {Record<string, string>} */
const ROLES = { submit: 'submit', signal: 'operate', batch: 'operate', set_agent: 'operate', drop_agent: 'operate', set_workflow: 'operate', drop_workflow: 'operate', answer: 'answer', link: 'answer', unlink: 'answer' };

/** @param {string} verb */
export const may = (verb) => cached('about', 60_000).value?.may?.includes(verb) ?? true;
/** @param {string} page */
export const mayShow = (page) => !OF_PAGE[page] || may(OF_PAGE[page]);
/** The role that the caller lacks for a verb; empty if none. @param {string} verb */
export const lacks = (verb) => (may(verb) ? '' : ROLES[verb] ?? 'read');
