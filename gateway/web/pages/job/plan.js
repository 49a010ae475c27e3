// The plan as a graph or as a list, and every plan that there was.

import { html, nothing, svg } from '../../lit.js';
import { curve, layout } from '../../layout.js';
import { emit } from '../../state/bus.js';
import { route, select } from '../../router.js';
import { t } from '../../settings.js';
import { duration, ms } from '../../format.js';
import { arrow, graphView } from '../../parts/graph.js';
import { mark, tone } from '../../parts/mark.js';
import { empty, plain, segments } from '../../parts/ui.js';
import { flowTab } from './flow.js';
import { revisionView, stepper } from './revisions.js';

const BOX = { width: 232, height: 62, gapX: 24, gapY: 40 };

/** Steps of the view with the times and tries of the fold. @param {any} view @param {any} fold */
export function stepsOf(view, fold) {
  const steps = view.plan?.steps ?? (fold.plan?.ids ?? []).map((/** @type {string} */ id) => fold.steps.get(id)).filter(Boolean);
  return steps.map((/** @type {any} */ step) => {
    const known = fold.steps.get(step.id);
    const from = step.started && typeof step.started === 'string' ? ms(step.started) : known?.started;
    const to = step.ended && typeof step.ended === 'string' ? ms(step.ended) : known?.ended;
    return { ...step, depends_on: step.depends_on ?? [], shown: step.success === false && step.state === 'completed' ? 'unsuccessful' : step.state, from, to, tries: step.attempts ?? step.attempt ?? 0, known };
  });
}
/** Time that a step ran. @param {any} step @param {number} now */
export const stepTime = (step, now) => (step.from ? duration((step.to ?? now) - step.from) : '');

/** `true` for a step that needs nothing any more. @param {any} step */
const isOver = (step) => step.state === 'completed' || step.state === 'skipped';
/** Whether finished steps are hidden. */
const hides = () => route().query.get('done') === 'hidden';
/** Shows finished steps, or hides them. */
export const toggleDone = () => select({ done: hides() ? undefined : 'hidden' });

/** The steps that are left when finished ones hide; the chosen one stays. @param {any[]} steps @param {string | null} chosen */
export function withoutDone(steps, chosen) {
  const left = steps.filter((step) => !isOver(step) || step.id === chosen);
  const ids = new Set(left.map((step) => step.id));
  return left.map((step) => ({ ...step, depends_on: step.depends_on.filter((/** @type {string} */ id) => ids.has(id)), hidden_needs: step.depends_on.filter((/** @type {string} */ id) => !ids.has(id)) }));
}

/** @param {import('../job.js').JobPage} page @param {any} view @param {any} fold */
export function planTab(page, view, fold) {
  const steps = stepsOf(view, fold);
  if (view.graph) return flowTab(page, view, fold, () => list(steps, steps, page.past ? fold.updated : Date.now()));
  const plan = view.plan ?? fold.plan;
  const { query } = route();
  const how = query.get('view') ?? (innerWidth < 720 ? 'list' : 'graph');
  /** @type {import('../../state/fold.js').Version[]} */
  const versions = fold.revisions;
  const rev = query.get('rev');
  const version = rev !== null && versions.length > 1 ? versions[Number(rev) - 1] : undefined;
  if (!steps.length) {
    const outline = view.outline ?? [];
    if (outline.length) return html`<ol class="plan-list">${outline.map((/** @type {any} */ item, /** @type {number} */ n) => html`<li><span class="plan-number num">${n + 1}</span>${mark(item.status === 'in_progress' ? 'running' : item.status === 'done' ? 'completed' : item.status)}<span>${plain(item.title ?? item.text ?? item.id)}</span></li>`)}</ol>`;
    return empty(t(view.sub_status === 'planning' ? 'planning_now' : 'no_plan'), t(view.sub_status === 'planning' ? 'planning_now_text' : 'no_plan_text'));
  }
  const now = page.past ? fold.updated : Date.now();
  const done = steps.filter(isOver).length;
  const shown = hides() ? withoutDone(steps, query.get('step')) : steps;
  return html`<div class="line wrap tab-head"><h2 class="cut grow">${plain(version?.title ?? plan?.title ?? '')}</h2>
      ${version ? nothing : html`<span class="muted num">${done} / ${steps.length}</span>
      ${done ? html`<button class="small ghost" aria-pressed=${hides() ? 'true' : 'false'} title="${t(hides() ? 'show_done' : 'hide_done')} (h)" @click=${toggleDone}>${hides() ? t('show_done_n', { n: steps.length - shown.length }) : t('hide_done')}</button>` : nothing}`}
      ${versions.length > 1 ? stepper(versions, version) : nothing}
      ${version ? nothing : segments(t('view'), [['graph', t('graph')], ['list', t('list')]], how, (value) => select({ view: value }))}</div>
    ${version ? revisionView(view, versions, version) : html`${plan && plan.confirmed === false ? html`<p class="muted note">${t('not_confirmed')}</p>` : nothing}
    ${!shown.length ? html`<p class="muted">${t('all_done')}</p>` : how === 'graph' ? graph(page, shown, now) : list(shown, steps, now)}`}`;
}

/** @param {any[]} steps those that are shown @param {any[]} all @param {number} now */
function list(steps, all, now) {
  const chosen = route().query.get('step');
  const number = new Map(all.map((s, n) => [s.id, n + 1]));
  return html`<ol class="step-list">${steps.map((step) => html`<li><button class="step-row ${chosen === step.id ? 'at' : ''}" aria-pressed=${chosen === step.id ? 'true' : 'false'} @click=${() => select({ step: chosen === step.id ? undefined : step.id })}>
    <span class="num muted plan-number">${number.get(step.id)}</span>${mark(step.shown)}<span class="grow step-words"><span class="step-title">${plain(step.title || step.description)}</span>
    <span class="muted cut">${step.tool ? html`<code class="tool-name">${step.tool}</code> ` : nothing}${step.depends_on.length ? `${t('after', { steps: step.depends_on.map((/** @type {string} */ id) => number.get(id) ?? id).sort((/** @type {any} */ a, /** @type {any} */ b) => a - b).join(', ') })} ` : ''}${step.response ? plain(String(step.response).split('\n')[0].slice(0, 200)) : nothing}</span></span>
    ${step.tries > 1 ? html`<span class="chip warn">${t('tries', { n: step.tries })}</span>` : nothing}<span class="num muted step-time">${stepTime(step, now)}</span></button></li>`)}</ol>`;
}

/** @param {import('../job.js').JobPage} page @param {any[]} steps @param {number} now */
function graph(page, steps, now) {
  const { memo } = page;
  const key = steps.map((s) => `${s.id}<${s.depends_on.join()}`).join(';');
  if (memo.graphKey !== key) {
    memo.graphKey = key;
    memo.graph = layout(steps, BOX, memo.order ?? []);
    memo.order = [...memo.graph.places.values()].sort((a, b) => a.rank - b.rank || a.x - b.x).map((place) => place.id);
  }
  const { places, edges, implied } = memo.graph;
  const chosen = route().query.get('step');
  // The edges of the node that has the focus show as those of the chosen one do.
  const near = memo.focused && places.has(memo.focused) ? memo.focused : chosen;
  const at = new Map(steps.map((s) => [s.id, s]));
  const around = new Set(chosen ? [chosen, ...(at.get(chosen)?.depends_on ?? []), ...steps.filter((s) => s.depends_on.includes(chosen)).map((s) => s.id)] : []);
  const lit = (/** @type {string} */ id) => (at.get(id)?.state === 'completed' ? 'lit' : '');
  const focus = (/** @type {any} */ edge) => (near && (edge.from === near || edge.to === near) ? 'focus' : '');
  const isDrawn = (/** @type {string} */ from, /** @type {string} */ to) => edges.some((/** @type {any} */ e) => e.from === from && e.to === to);
  const needs = steps.flatMap((step) => step.depends_on.map((/** @type {string} */ from) => [from, step.id]));
  const hidden = needs.filter(([from, to]) => near && (from === near || to === near) && places.has(from) && !isDrawn(from, to));
  const lines = [edges.map((/** @type {any} */ edge) => arrow(edge, `${lit(edge.from)} ${focus(edge)}`)), hidden.map(([from, to]) => {
    const [a, b] = [places.get(from), places.get(to)];
    return svg`<path class="edge implied" d=${curve([[a.x + BOX.width / 2, a.y + BOX.height], [b.x + BOX.width / 2, b.y]])}></path>`;
  })];
  const focused = (/** @type {string | undefined} */ id) => { if (memo.focused !== id) { memo.focused = id; emit(); } };
  return html`${graphView(memo.graph, BOX, t('graph_of', { n: steps.length }), lines, steps.map((step) => [step.id, node(step, chosen, around, now)]), focused)}
    ${implied ? html`<p class="muted note">${t('implied_edges', { n: implied })}</p>` : nothing}`;
}

/** @param {any} step @param {string | null} chosen @param {Set<string>} near @param {number} now */
const node = (step, chosen, near, now) => html`<button class="node line-${tone(step.shown)} ${chosen === step.id ? 'at' : ''} ${chosen && !near.has(step.id) ? 'far' : ''} ${['pending', 'skipped', 'canceled'].includes(step.state) ? 'quiet' : ''}" title=${step.description || step.title} aria-pressed=${chosen === step.id ? 'true' : 'false'} @click=${() => select({ step: chosen === step.id ? undefined : step.id })}>
  ${mark(step.shown)}<span class="node-words"><span class="node-title">${plain(step.title || step.description)}</span><span class="node-sub muted">${step.tool ? html`<code>${step.tool}</code>` : html`<span>${t('agent_step')}</span>`}${step.tries > 1 ? html`<span class="warn-text">×${step.tries}</span>` : nothing}<span class="end num">${stepTime(step, now)}</span></span></span></button>`;
