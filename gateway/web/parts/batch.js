// One signal for many jobs: those that are marked, or all that match the filter. The count comes first.

import { html, nothing } from '../lit.js';
import { api, token } from '../api.js';
import { emit } from '../state/bus.js';
import { cached, stale } from '../state/cache.js';
import { batchFilter, optionsOf } from '../state/jobfilter.js';
import { settings, t } from '../settings.js';
import { number, shell } from '../format.js';
import { actionsOf } from './actions.js';
import { commands, copyAs } from './copyas.js';
import { openDialog } from './dialog.js';
import { mark, shown } from './mark.js';
import { option } from './orders.js';
import { copyButton, errorBox, plain, segments, toast } from './ui.js';

/** @typedef {'cancel' | 'pause' | 'resume' | 'recover'} Kind */
const KINDS = /** @type {Kind[]} */ (['pause', 'resume', 'recover', 'cancel']);
/** Time between two signals to marked jobs: a caller has ten writes a second. */
const PACE = 120;

/** @param {Kind} kind */
const signalOf = (kind) => (kind === 'recover' ? { recover: {} } : kind);
/** The jobs of a list that a signal applies to. @param {any[]} jobs @param {Kind} kind */
const apt = (jobs, kind) => jobs.filter((job) => /** @type {string[]} */ (actionsOf(job)).includes(kind));
/** A number for a text that has a form for one. @param {number} n */
const counted = (n) => (n === 1 ? 1 : number(n));
const COMMAND = { cancel: 'cancel', pause: 'pause', resume: 'resume', recover: 'retry' };

/** Says what became of a batch; refusals stay in a dialog. @param {{job: string, error?: any}[]} outcomes */
function report(outcomes) {
  const refused = outcomes.filter((one) => one.error);
  toast(t('batch_done', { n: counted(outcomes.length - refused.length) }), refused.length ? 'wait' : 'done');
  if (refused.length)
    openDialog({ title: t('batch_refused', { n: refused.length }), body: () => html`<ul class="stack">${refused.map((one) => html`<li><a href="/jobs/${one.job}" class="mono">${one.job}</a> ${plain(one.error.message)}</li>`)}</ul>` });
}

/** @param {any[]} jobs @param {number} all */
const sample = (jobs, all) => html`<ul class="batch-jobs">${jobs.slice(0, 8).map((job) => html`<li class="line tight">${mark(shown(job))}<span class="cut">${plain(job.goal)}</span></li>`)}${all > 8 ? html`<li class="muted">${t('batch_more', { n: counted(all - Math.min(8, jobs.length)) })}</li>` : nothing}</ul>`;

let way = /** @type {'cli' | 'nats' | 'curl'} */ ('cli');
/** A signal to each of some jobs, for other clients: one command line, or one request for each job. @param {string[]} jobs @param {Kind} kind @param {string} reason */
function copyEach(jobs, kind, reason) {
  const body = { signal: signalOf(kind), ...(reason ? { reason } : {}) };
  const { prefix } = cached('about', 60_000).value ?? {};
  const each = jobs.map((job) => commands({ verb: 'signal', nats: { job, ...body }, method: 'POST', path: `jobs/${job}/signals`, body }, location.origin, token() !== '', prefix));
  const shown = {
    cli: ['callboard', 'jobs', COMMAND[kind], ...jobs, ...(reason ? option('--reason', reason) : [])].map(shell).join(' '),
    nats: each.map((one) => one.nats).join('\n'),
    curl: each.map((one) => one.curl).join('\n'),
  }[way];
  return html`<details class="copy-as"><summary>${t('copy_as')}</summary>
    <div class="line">${segments(t('copy_as'), [['cli', 'CLI'], ['nats', 'NATS'], ['curl', 'curl']], way, (value) => { way = /** @type {typeof way} */ (value); emit(); })}<span class="grow"></span>${copyButton(shown, t('copy'))}</div>
    <pre class="block">${shown}</pre></details>`;
}

/**
 * Opens the dialog of a signal to the marked jobs.
 * @param {any[]} jobs @param {() => void} done
 */
export function openMarked(jobs, done) {
  let kind = KINDS.find((one) => apt(jobs, one).length) ?? 'cancel';
  let reason = '';
  openDialog({
    title: t('batch_title'), confirm: t('batch_confirm'),
    ready: () => apt(jobs, kind).length > 0,
    body: () => {
      const some = apt(jobs, kind);
      return html`${choice(kind, (value) => { kind = value; emit(); })}
        <p class="consequence" aria-live="polite">${t(`batch_${kind}`, { n: counted(some.length) })}${some.length < jobs.length ? ` ${t('batch_left_out', { n: counted(jobs.length - some.length) })}` : ''}</p>
        ${sample(some, some.length)}${reasonField(reason, (value) => { reason = value; })}
        ${some.length ? copyEach(some.map((job) => job.job), kind, reason) : nothing}`;
    },
    run: async () => {
      const outcomes = [];
      for (const { job } of apt(jobs, kind)) {
        if (outcomes.length) await new Promise((resolve) => setTimeout(resolve, PACE));
        outcomes.push(await api.signal(job, { signal: signalOf(kind), ...(reason ? { reason } : {}), ...(settings.name ? { by: settings.name } : {}) }).then(() => ({ job }), (error) => ({ job, error })));
      }
      finish(outcomes, done);
    },
  });
}

/**
 * Opens the dialog of a signal to all jobs that match a filter.
 * @param {import('../state/jobfilter.js').Filter} filter @param {() => void} done
 */
export function openMatching(filter, done) {
  const at = Date.now();
  /** @type {Kind} */
  let kind = 'pause';
  let reason = '';
  /** @type {{count: number, more: boolean, examples?: any[]} | undefined} */
  let reply;
  /** @type {any} */
  let problem;
  const body = () => ({ filter: batchFilter(filter, at), signal: signalOf(kind) });
  const full = () => ({ ...body(), ...(reason ? { reason } : {}), ...(settings.name ? { by: settings.name } : {}), ...(reply ? { expected: reply.count } : {}) });
  const count = () => {
    const asked = kind;
    reply = problem = undefined;
    emit();
    api.batch(body()).then((found) => { if (asked === kind) reply = found; }, (failure) => { if (asked === kind) problem = failure; }).finally(emit);
  };
  openDialog({
    title: t('batch_title'), confirm: t('batch_confirm'),
    ready: () => !!reply && reply.count > 0 && !reply.more,
    // Another number of jobs matches by now.
    failed: count,
    body: () => html`${choice(kind, (value) => { kind = value; count(); })}
      <p class="consequence" aria-live="polite" aria-busy=${reply || problem ? 'false' : 'true'}>${reply ? (reply.more ? t('batch_too_many', { n: number(reply.count) }) : t(`batch_${kind}`, { n: counted(reply.count) })) : problem ? nothing : t('loading')}</p>
      ${reply ? sample(reply.examples ?? [], reply.count) : nothing}${errorBox(problem, count)}
      ${reasonField(reason, (value) => { reason = value; })}
      ${copyAs({ cli: ['jobs', COMMAND[kind], ...optionsOf(filter, at), ...(reason ? option('--reason', reason) : [])], verb: 'batch', nats: full(), method: 'POST', path: 'batches', body: full() })}`,
    run: async () => finish((await api.batch(full())).outcomes ?? [], done),
  });
  count();
}

/** @param {{job: string, error?: any}[]} outcomes @param {() => void} done */
function finish(outcomes, done) {
  stale('inbox');
  stale('dead');
  stale('count');
  done();
  report(outcomes);
}
/** @param {Kind} kind @param {(kind: Kind) => void} choose */
const choice = (kind, choose) => segments(t('batch_title'), KINDS.map((one) => [one, t(`act_${one}`)]), kind, (value) => choose(/** @type {Kind} */ (value)));
/** @param {string} reason @param {(value: string) => void} set */
const reasonField = (reason, set) => html`<label class="field"><span>${t('reason_optional')}</span><input maxlength="512" .value=${reason} @input=${(/** @type {any} */ e) => { set(e.target.value); emit(); }}></label>`;
