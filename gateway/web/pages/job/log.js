// The log: events or stored records, one row each; records that a rollback took out are struck.

import { html, nothing } from '../../lit.js';
import { getText } from '../../api.js';
import { emit } from '../../state/bus.js';
import { recordOf } from '../../state/fold.js';
import { route, select } from '../../router.js';
import { t } from '../../settings.js';
import { clock, json, ms, size } from '../../format.js';
import { compact, elements, indent, rawAt } from '../../rawjson.js';
import { workWords } from '../../parts/why.js';
import { copyButton, errorBox, icon, plain, segments } from '../../parts/ui.js';
import { virtual } from '../../parts/virtual.js';
import { placeWords } from './flow.js';

/** An event in one line. @param {any} e @param {any} fold @returns {string} */
export function eventWords(e, fold) {
  const step = e.step ? fold.steps.get(e.step)?.title ?? e.label ?? e.step : '';
  switch (e.type) {
    case 'job':
      return [t(`state_${e.state}`), e.sub_status ? t(`sub_${e.sub_status}`) : '', e.reason ?? ''].filter(Boolean).join(' · ');
    case 'plan':
      return `${t(`plan_${e.phase}`)}: ${e.title} (${t('steps_count', { n: e.steps?.length ?? 0 })})`;
    case 'step':
      return `${step}: ${t(`phase_${e.phase}`)}${e.response ? ` — ${String(e.response).split('\n')[0]}` : ''}`;
    case 'tool':
      return `${e.tool} ${e.phase === 'calling' ? JSON.stringify(e.args ?? {}) : `${e.success ? '✓' : '✗'} ${e.message ?? e.error ?? ''}`}`;
    case 'message':
      return `${step ? `${step}: ` : ''}${e.text}`;
    case 'interaction':
      return [t(`inter_${e.phase}`), e.question?.prompt ?? e.text ?? (e.signal ? t(`act_${e.signal}`) : ''), e.decision ? t(`decision_${e.decision}`) : '', e.value !== undefined ? JSON.stringify(e.value) : '', e.by ? `(${e.by})` : '', e.changes ? changesWords(e.changes) : '', e.reason ? t('because', { reason: e.reason }) : ''].filter(Boolean).join(' ');
    case 'node':
      return `${e.visit}: ${nodeWords(e)}`;
    case 'turn':
      return t(e.attempt > 1 ? 'turn_asked_again' : 'turn_asked', { work: workWords(e.work, (id) => fold.steps.get(id)?.title), n: e.attempt });
    case 'usage':
      return t('turn_tokens', { work: e.tool ?? workWords(e.work, (id) => fold.steps.get(id)?.title), tokens: t('tokens_in_out', { in: e.spent?.input_tokens ?? 0, out: e.spent?.output_tokens ?? 0 }) });
    case 'artifact':
      return e.bytes === undefined ? `${e.name} ${e.url ?? ''}` : t('artifact_published', { name: e.name, size: size(e.bytes) });
    case 'error':
    case 'notice':
      return e.message ?? '';
  }
  return JSON.stringify(e);
}

/** What an edit changed in a graph, as the command line writes it. @param {{added?: string[], changed?: string[], removed?: string[], whole?: boolean, workflows?: string[], tools?: string[]}} changes */
const changesWords = ({ added = [], changed = [], removed = [], whole, workflows = [], tools = [] }) => [...added.map((id) => `+${id}`), ...changed.map((id) => `~${id}`), ...removed.map((id) => `-${id}`), ...(whole ? ['~workflow'] : []), ...workflows.map((id) => `~workflow:${id}`), ...tools.map((id) => `~tool:${id}`)].join(' ');

/** What happened to a visit of a workflow's node. @param {any} e */
function nodeWords(e) {
  if (e.phase === 'entered') return t('node_entered', { type: t(`node_${e.kind}`) });
  if (e.phase === 'ended') return [t(`phase_${e.state}`), e.error].filter(Boolean).join(': ');
  const to = placeWords(e.to);
  return e.way === 'error' ? t('node_on_error', { to }) : e.way === 'timeout' ? t('node_on_timeout', { to }) : e.when ? t('node_routed_when', { to, when: e.when }) : t('node_routed', { to });
}

/** @param {import('../job.js').JobPage} page @param {any} fold */
export function logTab(page, fold) {
  const { query } = route();
  const how = query.get('log') === 'records' ? 'records' : 'events';
  const chosen = query.get('event');
  if (how === 'records') loadRecords(page);
  const records = page.memo.records ?? [];
  const gone = new Set([...fold.dropped].map(recordOf));
  const rows = how === 'events' ? fold.events : records;
  const selected = chosen && (how === 'events' ? fold.events.find((/** @type {any} */ e) => e.id === chosen) : records.find((/** @type {any} */ r) => String(r.seq) === chosen));
  const draw = (/** @type {any} */ row) => {
    const id = how === 'events' ? row.id : String(row.seq);
    const dropped = how === 'events' ? fold.dropped.has(id) : gone.has(row.seq);
    return html`<div role="listitem"><button class="log-row ${dropped ? 'gone' : ''} ${id === chosen ? 'at' : ''}" @click=${() => select({ event: id === chosen ? undefined : id })}>
      <span class="num muted log-id">${id}</span><span class="num muted log-time">${clock(ms(row.time))}</span><span class="log-type type-${how === 'events' ? row.type : row.record?.kind}">${how === 'events' ? t(`type_${row.type}`) : row.record?.kind}</span><span class="cut grow">${how === 'events' ? plain(eventWords(row, fold).slice(0, 400)) : html`<span class="muted">${row.family}</span> ${plain(bodyOf(row))}`}</span></button></div>`;
  };
  return html`<div class="line wrap tab-head"><span class="grow muted">${how === 'events' ? t('events_count', { n: fold.events.length }) : t('records_count', { n: records.length })}${fold.dropped.size ? html` · ${t('taken_out', { n: gone.size })}` : nothing}</span>
    ${segments(t('view'), [['events', t('events')], ['records', t('records')]], how, (value) => select({ log: value === 'events' ? undefined : value, event: undefined }))}</div>
    ${errorBox(page.memo.recordsProblem)}
    <div class="split ${selected ? 'with-panel' : ''}"><div class="split-main">${virtual(`log-${page.job}-${how}`, rows, 30, draw, { stick: !page.past && how === 'events', label: t('tab_log') })}
    ${how === 'records' && page.memo.recordsMore ? html`<p><button ?disabled=${page.memo.recordsBusy} @click=${() => loadRecords(page, true)}>${t('load_more')}</button></p>` : nothing}</div>
    ${selected ? html`<aside class="panel"><header class="line"><h2 class="grow mono">${chosen}</h2>${copyButton(whole(selected))}<button class="ghost small" aria-label=${t('close')} @click=${() => select({ event: undefined })}>${icon('x')}</button></header><pre class="block" tabindex="0">${plain(json(whole(selected)))}</pre>
      ${page.past ? nothing : html`<footer class="line wrap"><button @click=${() => select({ at: String(how === 'events' ? recordOf(selected.id) : selected.seq) })}>${t('show_then')}</button></footer>`}</aside>` : nothing}</div>`;
}

/** The records of a page of the log, each with its text as it is stored. Pure; a test covers it. @param {string} text @returns {{records: any[], more: boolean}} */
export function recordsOf(text) {
  const { records, more } = JSON.parse(text);
  const raw = elements(text, ['records']);
  return { records: records.map((/** @type {any} */ record, /** @type {number} */ n) => ({ ...record, raw: raw[n] })), more };
}
/** A record or an event as text. @param {any} row */
const whole = (row) => (row.raw === undefined ? JSON.stringify(row, null, 2) : indent(row.raw));
/** The beginning of what a record says. @param {any} row */
const bodyOf = (row) => compact(rawAt(row.raw, ['record', 'body']) ?? rawAt(row.raw, ['record', 'body_ref']) ?? '{}').slice(0, 300);

/** @param {import('../job.js').JobPage} page @param {boolean} [further] */
function loadRecords(page, further = false) {
  const { memo } = page;
  const last = memo.records?.at(-1)?.seq ?? 0;
  if (memo.recordsBusy || (!further && memo.records && (memo.recordsMore || last >= (page.stream.view?.seq ?? 0)))) return;
  if (memo.recordsAt && Date.now() - memo.recordsAt < 1000 && !further) return;
  memo.recordsBusy = true;
  memo.recordsAt = Date.now();
  getText(`jobs/${encodeURIComponent(page.job)}/records`, { after: last, limit: 500 }).then(
    (text) => {
      const { records, more } = recordsOf(text);
      memo.records = [...(memo.records ?? []), ...records];
      memo.recordsMore = more;
      memo.recordsProblem = undefined;
    },
    (problem) => {
      memo.recordsProblem = problem;
    },
  ).finally(() => {
    memo.recordsBusy = false;
    emit();
  });
}
