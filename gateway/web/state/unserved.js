// What no live process serves: roles of the crew, and pools for which jobs wait. Pure; tests cover it.

/** The role whose processes serve the commands of a kind. */
const ROLES = /** @type {Record<string, string>} */ ({ plan: 'planner', turn: 'executor', call: 'tools', ask: 'interaction' });

/** @param {{workers: any[]} | undefined} crew @param {string[]} [wanted] */
export function rolesMissing(crew, wanted = ['supervisor', 'planner', 'executor', 'tools']) {
  const live = new Set((crew?.workers ?? []).filter((worker) => !worker.draining).flatMap((worker) => worker.roles));
  return crew ? wanted.filter((role) => !live.has(role)) : [];
}

/** The command that starts a worker of a pool; empty for pools whose workers are other programs. @param {string} kind @param {string} pool */
export const starting = (kind, pool) => (kind === 'call' && pool !== 'builtin' ? '' : `callboard serve --roles ${ROLES[kind] ?? 'tools'}`);

/**
 * The pools without a worker, and how many jobs wait for each; pools of roles that are missing as a whole are left out.
 * @param {any[]} jobs rows of jobs @param {string[]} missing roles
 */
export function poolsMissing(jobs, missing) {
  /** @type {Map<string, {kind: string, pool: string, jobs: number, command: string}>} */
  const pools = new Map();
  for (const { why } of jobs) {
    if (why?.code !== 'no_worker') continue;
    const { kind, pool } = why;
    const command = starting(kind, pool);
    if (command && missing.includes(ROLES[kind])) continue;
    const known = pools.get(`${kind}.${pool}`) ?? { kind, pool, jobs: 0, command };
    pools.set(`${kind}.${pool}`, { ...known, jobs: known.jobs + 1 });
  }
  return [...pools.values()];
}

/** The number of live workers that take the commands of a queue. @param {any[]} workers @param {{kind: string, pool: string}} queue */
export const served = (workers, { kind, pool }) => workers.filter((worker) => !worker.draining && worker.pools?.some((/** @type {any} */ one) => one.pool === `${kind}.${pool}` && one.capacity)).length;
