// Replies that several pages show, each with its age: the inbox, tools, agents, crew, dead letters, and the rights of the caller.

import { api } from '../api.js';
import { emit } from './bus.js';
import { due, onTold } from './feed.js';

/** `turn` grows with each change that makes what is asked for meanwhile stale. @type {Record<string, {value?: any, problem?: any, at: number, busy: boolean, turn: number}>} */
const cells = {};
const READ = { inbox: api.inbox, tools: api.tools, agents: () => api.agents(), workflows: () => api.workflows(), crew: api.crew, dead: api.dead, count: api.count, about: api.about, attention: () => api.jobs({ attention: 1, limit: 500 }) };

/** Replies that change only when jobs do. */
const OF_JOBS = new Set(['inbox', 'dead', 'count']);

/**
 * The newest reply of a verb; asks for a newer one if it is older than `age`.
 * @param {keyof typeof READ} name @param {number} [age] milliseconds
 */
export function cached(name, age = 30_000) {
  const cell = (cells[name] ??= { at: 0, busy: false, turn: 0 });
  if (!cell.busy && (OF_JOBS.has(name) ? due(cell.at, age) : Date.now() - cell.at > age)) {
    cell.busy = true;
    const { turn } = cell;
    READ[name]()
      .then(
        (value) => {
          if (turn !== cell.turn) return;
          cell.value = value;
          cell.problem = undefined;
        },
        (problem) => {
          cell.problem = problem;
        },
      )
      .finally(() => {
        cell.busy = false;
        if (turn === cell.turn) cell.at = Date.now();
        emit();
      });
  }
  return cell;
}

/** @param {string} name */
export function stale(name) {
  const cell = cells[name];
  if (cell) {
    cell.at = 0;
    cell.turn++;
  }
  emit();
}
onTold({ inbox: () => stale('inbox'), crew: () => stale('crew') });
