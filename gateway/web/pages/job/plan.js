// The plan as a graph or as a list, with its revisions.

import { html, nothing, svg } from '../../lit.js';
import { curve, layout } from '../../layout.js';
import { route, select } from '../../router.js';
import { t } from '../../settings.js';
import { duration, ms } from '../../format.js';
import { arrow, graphView } from '../../parts/graph.js';
import { mark, tone } from '../../parts/mark.js';
import { empty, plain, segments } from '../../parts/ui.js';

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

/** @param {import('../job.js').JobPage} page @param {any} view @param {any} fold */
export function planTab(page, view, fold) {
  const steps = stepsOf(view, fold);
  const plan = view.plan ?? fold.plan;
  const { query } = route();
  const how = query.get('view') ?? (innerWidth < 720 ? 'list' : 'graph');
  const revisions = page.stream.fold.revisions;
  const rev = query.get('rev');
  if (!steps.length) {
    const outline = view.outline ?? [];
    if (outline.length) return html`<ol class="plan-list">${outline.map((/** @type {any} */ item, /** @type {number} */ n) => html`<li><span class="plan-number num">${n + 1}</span>${mark(item.status === 'in_progress' ? 'running' : item.status === 'done' ? 'completed' : item.status)}<span>${plain(item.title ?? item.text ?? item.id)}</span></li>`)}</ol>`;
    return empty(t(view.sub_status === 'planning' ? 'planning_now' : 'no_plan'), t(view.sub_status === 'planning' ? 'planning_now_text' : 'no_plan_text'));
  }
  const now = page.past ? fold.updated : Date.now();
  const done = steps.filter((/** @type {any} */ s) => s.state === 'completed' || s.state === 'skipped').length;
  return html`<div class="line wrap tab-head"><h2 class="cut grow">${plain(plan?.title ?? '')}</h2><span class="muted num">${done} / ${steps.length}</span>
      ${revisions.length > 1 ? html`<label class="line tight"><span class="muted">${t('revisions')}</span><select @change=${(/** @type {any} */ e) => select({ rev: e.target.value || undefined })}><option value="">${t('in_force')}</option>${revisions.map((r, n) => html`<option value=${String(n)} .selected=${rev === String(n)}>${n + 1}: ${r.title.slice(0, 40)}</option>`)}</select></label>` : nothing}
      ${segments(t('view'), [['graph', t('graph')], ['list', t('list')]], how, (value) => select({ view: value }))}</div>
    ${plan && plan.confirmed === false ? html`<p class="muted note">${t('not_confirmed')}</p>` : nothing}
    ${rev !== null && revisions[Number(rev)] ? changes(revisions, Number(rev)) : nothing}
    ${how === 'graph' ? graph(page, steps, now) : list(steps, now)}`;
}

/** @param {any[]} revisions @param {number} n */
function changes(revisions, n) {
  const before = new Map((revisions[n - 1]?.steps ?? []).map((/** @type {any} */ s) => [s.id, s]));
  const after = new Map(revisions[n].steps.map((/** @type {any} */ s) => [s.id, s]));
  const rows = [
    ...[...after.values()].filter((s) => !before.has(s.id)).map((s) => ['added', s]),
    ...[...after.values()].filter((s) => before.has(s.id) && (before.get(s.id).title !== s.title || before.get(s.id).description !== s.description || before.get(s.id).tool !== s.tool)).map((s) => ['changed', s]),
    ...[...before.values()].filter((s) => !after.has(s.id)).map((s) => ['removed', s]),
  ];
  return html`<section class="card revision"><h3>${t('revision', { n: n + 1 })}</h3>${rows.length ? html`<ul>${rows.map(([kind, s]) => html`<li class="diff-${kind}"><span class="chip">${t(`diff_${kind}`)}</span> ${plain(s.title || s.description)}</li>`)}</ul>` : html`<p class="muted">${t('diff_none')}</p>`}</section>`;
}

/** @param {any[]} steps @param {number} now */
function list(steps, now) {
  const chosen = route().query.get('step');
  const number = new Map(steps.map((s, n) => [s.id, n + 1]));
  return html`<ol class="step-list">${steps.map((step, n) => html`<li><button class="step-row ${chosen === step.id ? 'at' : ''}" aria-pressed=${chosen === step.id ? 'true' : 'false'} @click=${() => select({ step: chosen === step.id ? undefined : step.id })}>
    <span class="num muted plan-number">${n + 1}</span>${mark(step.shown)}<span class="grow step-words"><span class="step-title">${plain(step.title || step.description)}</span>
    <span class="muted cut">${step.tool ? html`<code class="tool-name">${step.tool}</code> ` : nothing}${step.depends_on.length ? `${t('after', { steps: step.depends_on.map((/** @type {string} */ id) => number.get(id) ?? id).sort((/** @type {any} */ a, /** @type {any} */ b) => a - b).join(', ') })} ` : ''}${step.response ? plain(String(step.response).split('\n')[0].slice(0, 200)) : nothing}</span></span>
    ${step.tries > 1 ? html`<span class="chip warn">${t('tries', { n: step.tries })}</span>` : nothing}<span class="num muted step-time">${stepTime(step, now)}</span></button></li>`)}</ol>`;
}

/** @param {import('../job.js').JobPage} page @param {any[]} steps @param {number} now */
function graph(page, steps, now) {
  const key = steps.map((s) => `${s.id}<${s.depends_on.join()}`).join(';');
  if (page.memo.graphKey !== key) {
    page.memo.graphKey = key;
    page.memo.graph = layout(steps, BOX, page.memo.order ?? []);
    page.memo.order = [...page.memo.graph.places.values()].sort((a, b) => a.rank - b.rank || a.x - b.x).map((place) => place.id);
  }
  const { places, edges, implied } = page.memo.graph;
  const chosen = route().query.get('step');
  const at = new Map(steps.map((s) => [s.id, s]));
  const near = new Set(chosen ? [chosen, ...(at.get(chosen)?.depends_on ?? []), ...steps.filter((s) => s.depends_on.includes(chosen)).map((s) => s.id)] : []);
  const lit = (/** @type {string} */ id) => (at.get(id)?.state === 'completed' ? 'lit' : '');
  const focus = (/** @type {any} */ edge) => (chosen && (edge.from === chosen || edge.to === chosen) ? 'focus' : '');
  const hidden = chosen ? (at.get(chosen)?.depends_on ?? []).filter((/** @type {string} */ id) => !edges.some((/** @type {any} */ e) => e.from === id && e.to === chosen) && places.has(id)) : [];
  const lines = [edges.map((/** @type {any} */ edge) => arrow(edge, `${lit(edge.from)} ${focus(edge)}`)), hidden.map((/** @type {string} */ id) => {
    const a = places.get(id);
    const b = places.get(chosen);
    return svg`<path class="edge implied" d=${curve([[a.x + BOX.width / 2, a.y + BOX.height], [b.x + BOX.width / 2, b.y]])}></path>`;
  })];
  return html`${graphView(page.memo.graph, BOX, t('graph_of', { n: steps.length }), lines, steps.map((step) => [step.id, node(step, chosen, near, now)]))}
    ${implied ? html`<p class="muted note">${t('implied_edges', { n: implied })}</p>` : nothing}`;
}

/** @param {any} step @param {string | null} chosen @param {Set<string>} near @param {number} now */
const node = (step, chosen, near, now) => html`<button class="node line-${tone(step.shown)} ${chosen === step.id ? 'at' : ''} ${chosen && !near.has(step.id) ? 'far' : ''} ${['pending', 'skipped', 'canceled'].includes(step.state) ? 'quiet' : ''}" title=${step.description || step.title} aria-pressed=${chosen === step.id ? 'true' : 'false'} @click=${() => select({ step: chosen === step.id ? undefined : step.id })}>
  ${mark(step.shown)}<span class="node-words"><span class="node-title">${plain(step.title || step.description)}</span><span class="node-sub muted">${step.tool ? html`<code>${step.tool}</code>` : html`<span>${t('agent_step')}</span>`}${step.tries > 1 ? html`<span class="warn-text">×${step.tries}</span>` : nothing}<span class="end num">${stepTime(step, now)}</span></span></span></button>`;
