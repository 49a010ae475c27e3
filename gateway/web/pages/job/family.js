// The family of a job: its parents up to the first, and the jobs of sub-agents below, as a graph or as a list.

import { html, nothing } from '../../lit.js';
import { api } from '../../api.js';
import { emit } from '../../state/bus.js';
import { layout } from '../../layout.js';
import { route, select } from '../../router.js';
import { t } from '../../settings.js';
import { number } from '../../format.js';
import { arrow, graphView } from '../../parts/graph.js';
import { hasEnded, mark, shown, tone } from '../../parts/mark.js';
import { empty, errorBox, plain, segments, skeleton, when } from '../../parts/ui.js';
import { sentence } from '../../parts/why.js';

const BOX = { width: 248, height: 62, gapX: 24, gapY: 40 };
/** Jobs of a family that are shown. */
const JOBS_MAX = 200;
const DEPTH_MAX = 32;
/** Time between two reads of the family, in milliseconds. */
const AGE = 3000;

/** A family: its jobs with the parents first, each with its depth. @typedef {{jobs: any[], more: boolean}} Family */

/**
 * Reads the family of a job.
 * @param {any} view @param {{job: (id: string) => Promise<any>, jobs: (query: any) => Promise<any>}} from
 * @returns {Promise<Family>}
 */
export async function readFamily(view, from) {
  let root = view;
  const above = new Set([view.job]);
  while (root.parent && above.size < DEPTH_MAX && !above.has(root.parent.job)) {
    // A parent may be removed before its children.
    const parent = await from.job(root.parent.job).catch((/** @type {any} */ problem) => (problem.code === 'not_found' ? undefined : Promise.reject(problem)));
    if (!parent) break;
    above.add(parent.job);
    root = parent;
  }
  const steps = (/** @type {any} */ job) => ({ steps: job.plan?.steps?.length ?? 0, steps_done: (job.plan?.steps ?? []).filter((/** @type {any} */ s) => ['completed', 'skipped'].includes(s.state)).length });
  const jobs = [{ ...steps(root), ...root, parent: undefined, why: root.why?.[0] ?? root.why, depth: 0 }];
  const known = new Set([root.job]);
  let more = false;
  for (let n = 0; n < jobs.length; n++) {
    const { job, depth } = jobs[n];
    if (depth >= DEPTH_MAX) continue;
    const reply = await from.jobs({ parent: job, limit: 100 });
    more ||= reply.more;
    for (const child of [...reply.jobs].reverse()) {
      if (known.has(child.job)) continue;
      if (jobs.length >= JOBS_MAX) {
        more = true;
        break;
      }
      known.add(child.job);
      jobs.push({ ...child, depth: depth + 1 });
    }
  }
  return { jobs, more };
}

/** The jobs with each parent directly before its children. @param {any[]} jobs */
export function inOrder(jobs) {
  const below = Map.groupBy(jobs.filter((job) => job.depth > 0), (/** @type {any} */ job) => job.parent);
  /** @type {any[]} */
  const out = [];
  const add = (/** @type {any} */ job) => {
    out.push(job);
    for (const child of below.get(job.job) ?? []) add(child);
  };
  jobs.filter((job) => job.depth === 0).forEach(add);
  return out;
}

/** @param {import('../job.js').JobPage} page @param {any} view */
export function familyTab(page, view) {
  const { memo } = page;
  const settled = memo.family?.jobs.every((/** @type {any} */ job) => hasEnded(job.state)) && hasEnded(view.state);
  if (!memo.familyBusy && Date.now() - (memo.familyAt ?? 0) > AGE && !(settled && memo.familySeq === view.seq)) {
    memo.familyBusy = true;
    readFamily(view, { job: (id) => api.job(id), jobs: api.jobs })
      .then((family) => { memo.family = family; memo.familyProblem = undefined; memo.familySeq = view.seq; }, (problem) => { memo.familyProblem = problem; })
      .finally(() => { memo.familyBusy = false; memo.familyAt = Date.now(); emit(); });
  }
  /** @type {Family | undefined} */
  const family = memo.family;
  if (!family) return memo.familyProblem ? errorBox(memo.familyProblem) : skeleton(3);
  if (family.jobs.length < 2) return html`${errorBox(memo.familyProblem)}${empty(t('no_family'), t('no_family_text'))}`;
  const how = route().query.get('family') ?? (innerWidth < 720 ? 'list' : 'graph');
  const open = family.jobs.filter((job) => !hasEnded(job.state)).length;
  return html`<div class="line wrap tab-head"><h2 class="grow">${t('family_of', { n: number(family.jobs.length) })}</h2><span class="muted num">${t('family_open', { n: open })}</span>
      ${segments(t('view'), [['graph', t('graph')], ['list', t('list')]], how, (value) => select({ family: value }))}</div>
    ${errorBox(memo.familyProblem)}
    ${family.more ? html`<p class="muted note">${t('family_more', { n: number(family.jobs.length) })}</p>` : nothing}
    ${how === 'graph' ? graph(page, family.jobs) : list(page, inOrder(family.jobs))}`;
}

/** @param {import('../job.js').JobPage} page @param {any[]} jobs */
const list = (page, jobs) => html`<ul class="step-list family-list">${jobs.map((job) => html`<li><a class="step-row ${job.job === page.job ? 'at' : ''}" href="/jobs/${job.job}?tab=family" aria-current=${job.job === page.job ? 'true' : nothing}>
  <span class="family-depth" aria-hidden="true">${job.depth ? `${'\u2003'.repeat(job.depth - 1)}└` : ''}</span>${mark(shown(job))}<span class="grow step-words"><span class="step-title cut">${plain(job.goal)}</span><span class="muted cut">${job.agent} · ${plain(sentence(job))}</span></span>
  <span class="num muted">${job.steps ? `${job.steps_done}/${job.steps}` : ''}</span><span class="num muted step-time">${when(job.updated)}</span></a></li>`)}</ul>`;

/** @param {import('../job.js').JobPage} page @param {any[]} jobs */
function graph(page, jobs) {
  const key = jobs.map((job) => `${job.job}<${job.parent ?? ''}`).join(';');
  if (page.memo.familyKey !== key) {
    page.memo.familyKey = key;
    page.memo.familyGraph = layout(jobs.map((job) => ({ id: job.job, depends_on: job.depth ? [job.parent] : [] })), BOX, jobs.map((job) => job.job));
  }
  const lines = page.memo.familyGraph.edges.map((/** @type {any} */ edge) => arrow(edge, edge.from === page.job || edge.to === page.job ? 'focus' : ''));
  return graphView(page.memo.familyGraph, BOX, t('family_of', { n: number(jobs.length) }), lines, jobs.map((job) => [job.job, node(page, job)]));
}

/** @param {import('../job.js').JobPage} page @param {any} job */
const node = (page, job) => html`<a class="node button line-${tone(shown(job))} ${job.job === page.job ? 'at' : ''}" href="/jobs/${job.job}?tab=family" title="${job.goal}\n${sentence(job)}" aria-current=${job.job === page.job ? 'true' : nothing}>
  ${mark(shown(job))}<span class="node-words"><span class="node-title">${plain(job.goal)}</span><span class="node-sub muted"><span class="cut">${job.agent}</span>${job.steps ? html`<span class="num">${job.steps_done}/${job.steps}</span>` : nothing}<span class="end num">${when(job.updated)}</span></span></span></a>`;
