// Every plan that the job had: one at a time, as a change of the one before it, with who changed it.

import { html, nothing } from '../../lit.js';
import { route, select } from '../../router.js';
import { t } from '../../settings.js';
import { differences } from '../../state/fold.js';
import { icon, plain, when } from '../../parts/ui.js';

/** @typedef {import('../../state/fold.js').Version} Version */

const MARKS = { added: '+', removed: '−', changed: '~', kept: '' };

/** Shows a plan by its number, from 1; none is the one in force. @param {number | undefined} n */
const show = (n) => select({ rev: n === undefined ? undefined : String(n) });

/** The plan before or after the one that is shown. @param {Version[]} versions @param {number} by */
export function stepRevision(versions, by) {
  const rev = Number(route().query.get('rev')) || versions.length + 1;
  const next = Math.max(1, rev + by);
  if (versions.length > 1) show(next > versions.length ? undefined : next);
}

/** @param {Version[]} versions @param {Version | undefined} version */
export function stepper(versions, version) {
  const n = version ? versions.indexOf(version) + 1 : versions.length + 1;
  return html`<span class="line tight stepper" role="group" aria-label=${t('revisions')}>
    <button class="small ghost" ?disabled=${n <= 1} title="${t('revision_before')} (<)" aria-label=${t('revision_before')} @click=${() => stepRevision(versions, -1)}>${icon('chevron-left')}</button>
    <span class="num">${version ? t('revision_at', { n, of: versions.length }) : t('revision_now', { n: versions.length })}</span>
    <button class="small ghost" ?disabled=${!version} title="${t('revision_after')} (>)" aria-label=${t('revision_after')} @click=${() => stepRevision(versions, 1)}>${icon('chevron-right')}</button>
    ${version ? html`<button class="small" @click=${() => show(undefined)}>${t('in_force')}</button>` : nothing}</span>`;
}

/** Who made a plan, and why. @param {Version} version @param {boolean} first @param {any} view */
export function authorWords({ author, revision }, first, view) {
  const who = author.by ?? t('somebody');
  const text = author.text ? `: “${author.text}”` : '';
  // The server tells the cause of each plan that came into force.
  const cause = view.revisions?.find((/** @type {any} */ one) => one.number === revision)?.cause;
  switch (author.how) {
    case 'edited':
      return t('author_edited', { who });
    case 'requested':
      return t('author_requested', { who }) + text;
    case 'told':
      // An instruction may have been for a step, and the plan come from something else later.
      if (!cause || cause === 'steered') return t('author_told', { who }) + text;
      break;
  }
  if (author.how === 'failed') return t('cause_failed') + text;
  return cause ? t(`cause_${cause}`) : t(first ? 'author_first' : 'author_planner');
}

/** @param {any} view @param {Version[]} versions @param {Version} version */
export function revisionView(view, versions, version) {
  const at = versions.indexOf(version);
  const rows = differences(versions[at - 1], version);
  const count = (/** @type {string} */ change) => rows.filter((row) => row.change === change).length;
  const counts = /** @type {const} */ (['added', 'removed', 'changed']).filter(count);
  const field = (/** @type {any} */ value) => (value === undefined ? '–' : typeof value === 'string' ? value || '–' : Array.isArray(value) ? value.join(', ') || '–' : JSON.stringify(value));
  return html`<section class="card revision"><p class="line tight">${icon('history')}<span>${plain(authorWords(version, at === 0, view))} <span class="muted">· ${when(version.at)}</span></span></p>
    ${at ? html`<p class="line wrap tight">${counts.length ? counts.map((change) => html`<span class="chip diff-${change}">${MARKS[change]} ${t(`diff_n_${change}`, { n: count(change) })}</span>`) : html`<span class="muted">${t('diff_none')}</span>`}</p>` : nothing}
    <ol class="diff-list">${rows.map(({ change, step, fields, was }) => html`<li class="diff-row row-${change}"><span class="diff-mark num" aria-hidden="true">${MARKS[change]}</span><div class="grow">
      <p>${change === 'kept' ? nothing : html`<span class="sr">${t(`diff_${change}`)}: </span>`}<span class="diff-title">${plain(step.title)}</span>${step.tool ? html` <code class="tool-name">${plain(step.tool)}</code>` : nothing}</p>
      ${fields.map((name) => html`<p class="muted diff-field">${t(`field_${name}`)}: <del>${plain(field(/** @type {any} */ (was)?.[name]))}</del> <ins>${plain(field(/** @type {any} */ (step)[name]))}</ins></p>`)}</div></li>`)}</ol></section>`;
}
