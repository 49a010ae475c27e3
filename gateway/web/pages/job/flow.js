// The workflow of a job: its graph with the states of the nodes, and the panel of a node with its visits.

import { html, nothing } from '../../lit.js';
import { api } from '../../api.js';
import { emit } from '../../state/bus.js';
import { route, select } from '../../router.js';
import { t } from '../../settings.js';
import { duration, json, ms, short } from '../../format.js';
import { costText } from '../../parts/cost.js';
import { flowGraph } from '../../parts/flowgraph.js';
import { badge, hasEnded, mark } from '../../parts/mark.js';
import { copyButton, errorBox, icon, plain, segments, skeleton } from '../../parts/ui.js';

/** Time between two reads of the graph of a running job, in milliseconds. */
const AGE = 1000;

/**
 * The form of a graph: the one that is known, as long as the definition is the same, so that its layout is kept.
 * Pure; a test covers it.
 * @param {any} known @param {any} graph
 */
export const formOf = (known, graph) => (known && known.digest === graph.digest ? known : { digest: graph.digest, start: graph.definition.start, nodes: graph.nodes, edges: graph.edges });

/** Reads the graph: once for its form, and again for the visits that a panel shows. @param {import('../job.js').JobPage} page @param {any} view */
function load(page, view) {
  const { memo } = page;
  const at = page.past?.at;
  const isMoved = memo.flow && (memo.flow.revision ?? 0) !== (view.graph?.revision ?? 0);
  const needed = !memo.flow || isMoved || (route().query.get('node') && (memo.flowSeq !== view.seq || memo.flowOf !== at));
  if (memo.flowBusy || !needed || Date.now() - (memo.flowAt ?? 0) < (memo.flowOf === at ? AGE : 180)) return;
  memo.flowBusy = true;
  memo.flowAt = Date.now();
  api.graph(page.job, at).then((graph) => Object.assign(memo, { flow: graph, flowForm: formOf(memo.flowForm, graph), flowOf: at, flowSeq: view.seq, flowProblem: undefined }), (problem) => { memo.flowProblem = problem; }).finally(() => {
    memo.flowBusy = false;
    emit();
    // The job may have gone on meanwhile.
    setTimeout(emit, AGE + 50);
  });
}

/** @param {import('../job.js').JobPage} page @param {any} view @param {any} fold @param {() => unknown} list draws the visits as a list */
export function flowTab(page, view, fold, list) {
  load(page, view);
  const { flow } = page.memo;
  const how = route().query.get('view') ?? (innerWidth < 720 ? 'list' : 'graph');
  const { name, version, visits, limits, revision } = view.graph;
  return html`<div class="line wrap tab-head"><h2 class="cut grow">${name} <span class="muted">${version}</span></h2>${revision ? html`<span class="chip">${t('workflow_revision', { n: revision })}</span>` : nothing}
      <span class="muted num">${t('flow_visits', { n: page.past ? [...fold.flow.nodes.values()].reduce((n, node) => n + node.visits, 0) : visits, of: limits.steps })}</span>
      ${segments(t('view'), [['graph', t('graph')], ['list', t('list')]], how, (value) => select({ view: value }))}</div>
    ${errorBox(page.memo.flowProblem)}
    ${how === 'list' ? list() : flow ? graph(page, fold, page.memo.flowForm) : page.memo.flowProblem ? nothing : skeleton(3)}`;
}

/** The node that is chosen: itself, or that of a chosen visit. */
const chosenNode = () => route().query.get('node') ?? route().query.get('step')?.split('--')[0];

/** @param {import('../job.js').JobPage} page @param {any} fold @param {import('../../parts/flowgraph.js').Shape} flow */
function graph(page, fold, flow) {
  const { memo } = page;
  const chosen = chosenNode();
  const isOver = hasEnded(fold.state);
  return flowGraph(flow, {
    chosen,
    near: memo.focused ?? chosen,
    choose: (id) => select({ node: id === chosen ? undefined : id, step: undefined }),
    focused: (id) => { if (memo.focused !== id) { memo.focused = id; emit(); } },
    progress: {
      state: (id) => fold.flow.stateOf(id, fold.steps, isOver),
      visits: (id) => fold.flow.nodes.get(id),
      times: (way) => fold.flow.times(way, flow.start),
      isDone: isOver && fold.state === 'completed',
    },
  });
}

/** @param {import('../job.js').JobPage} page @param {any} view @param {any} fold @param {string} id */
export function nodePanel(page, view, fold, id) {
  load(page, view);
  const { flow } = page.memo;
  const close = html`<button class="ghost small" aria-label=${t('close')} @click=${() => select({ node: undefined })}>${icon('x')}</button>`;
  const one = flow?.nodes.find((/** @type {any} */ node) => node.id === id);
  if (!one) return html`<aside class="panel" aria-label=${t('flow_node')}><header class="line"><h2 class="grow">${id}</h2>${close}</header>${flow ? html`<p class="muted">${t('flow_no_node')}</p>` : skeleton(2)}</aside>`;
  const now = page.past ? fold.updated : Date.now();
  const visits = (flow.visits ?? []).filter((/** @type {any} */ visit) => visit.visit.split('--')[0] === id);
  const state = fold.flow.stateOf(id, fold.steps, hasEnded(fold.state));
  return html`<aside class="panel" aria-label=${t('flow_node')}>
    <header class="line top"><h2 class="grow">${plain(one.label)}</h2>${close}</header>
    <div class="line wrap">${badge(state)}<span class="chip">${t(`node_${one.type}`)}</span>${one.names ? html`<span class="chip"><code>${one.names}</code></span>` : nothing}${one.failed ? html`<span class="chip warn">${t('flow_failures', { n: one.failed })}</span>` : nothing}</div>
    <dl class="pairs"><dt>${t('flow_id')}</dt><dd class="mono">${id}</dd>${one.spent ? html`<dt>${t('cost')}</dt><dd class="num">${costText(one.spent)}</dd>` : nothing}</dl>
    ${visits.length || one.visits ? nothing : html`<p class="muted">${t('flow_unvisited')}</p>`}
    ${flow.visits_left_out ? html`<p class="muted">${t('flow_left_out', { n: flow.visits_left_out })}</p>` : nothing}
    ${visits.map((/** @type {any} */ visit, /** @type {number} */ n) => visitView(visit, now, visits.length < 3 || n === visits.length - 1))}
  </aside>`;
}

/** @param {any} visit @param {number} now @param {boolean} open */
function visitView(visit, now, open) {
  const way = visit.to ? t('flow_went', { to: placeWords(visit.to) }) : '';
  const step = visit.input !== undefined;
  return html`<details class="call" ?open=${open}><summary class="line">${mark(visit.state)}<span class="mono">${visit.visit}</span><span class="cut grow muted">${plain(visit.error ?? '')}</span><span class="num muted">${duration((visit.ended ? ms(visit.ended) : now) - ms(visit.entered))}</span></summary>
    ${way ? html`<p class="muted">${way}${visit.when ? html`, ${t('flow_because')} <code>${plain(visit.when)}</code>` : nothing}</p>` : nothing}
    ${visit.error ? html`<p class="failed-text">${plain(visit.error)}</p>` : nothing}
    ${value(t('flow_input'), visit.input)}${value(t('flow_output'), visit.output)}
    ${visit.writes?.length ? html`<p class="muted">${t('flow_writes')} ${visit.writes.map((/** @type {string} */ key) => html`<code>${key}</code> `)}</p>` : nothing}
    <p class="muted num">${[visit.attempts > 1 ? t('tries', { n: visit.attempts }) : '', visit.turns ? t('flow_turns', { n: visit.turns }) : '', visit.spent?.usage ? t('flow_tokens', { in: short(visit.spent.usage.input_tokens ?? 0), out: short(visit.spent.usage.output_tokens ?? 0) }) : '', visit.spent ? costText(visit.spent) : ''].filter(Boolean).join(' · ')}</p>
    ${step ? html`<p><button class="small" @click=${() => select({ step: visit.visit, node: undefined })}>${t('flow_step')}</button></p>` : nothing}</details>`;
}

/** @param {string} title @param {any} content */
function value(title, content) {
  if (content === undefined || content === null) return nothing;
  const fields = typeof content === 'object' && !Array.isArray(content) ? Object.entries(content) : [];
  const text = fields.length === 1 && typeof fields[0][1] === 'string' ? fields[0][1] : json(content);
  return html`<div class="line"><h3 class="grow">${title}</h3>${copyButton(text)}</div><pre class="block" tabindex="0">${plain(text)}</pre>`;
}

/** A place in words. @param {string} place */
export const placeWords = (place) => (place === 'end' ? t('flow_end') : place.startsWith('join:') ? t('flow_join_of', { node: place.slice(5) }) : place);
