// Actions on a job: each opens one dialog that says what it would do, with a reason and the same request for other clients.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { stale } from '../state/cache.js';
import { may } from '../state/rights.js';
import { settings, t } from '../settings.js';
import { go } from '../router.js';
import { openDialog } from './dialog.js';
import { copyAs } from './copyas.js';
import { Foresight, foresightView } from './foresight.js';
import { bodyOf, emptyForm, isComplete, requestOf, takesPoint, takesReason } from './orders.js';
import { hasEnded } from './mark.js';
import { denied, toast } from './ui.js';

/** @typedef {{job: string, view?: any, fold?: import('../state/fold.js').Fold, at?: number, step?: string, done?: () => void}} Target */

/** The actions that the job's state allows, the most useful first. @param {any} job @returns {import('./orders.js').Kind[]} */
export function actionsOf(job) {
  if (!job) return [];
  /** @type {import('./orders.js').Kind[]} */
  const out = [];
  const ended = hasEnded(job.state);
  if (!ended) out.push(job.sub_status === 'paused' ? 'resume' : 'pause', 'steer');
  if (job.state === 'failed') out.push('recover');
  const why = Array.isArray(job.why) ? job.why.map((/** @type {any} */ w) => w.code) : [job.why?.code];
  if (!ended && why.some((/** @type {string} */ code) => ['given_up', 'retry', 'outage', 'unreadable'].includes(code))) out.push('retry');
  if (!ended && job.graph) out.push('edit_graph');
  if (!ended) out.push('snapshot');
  out.push('fork', 'roll_back');
  if (!ended) out.push('cancel');
  return out;
}
export const ICONS = /** @type {Record<string, string>} */ ({ cancel: 'ban', pause: 'pause', resume: 'play', retry: 'rotate-ccw', recover: 'rotate-ccw', steer: 'send', snapshot: 'tag', fork: 'git-fork', roll_back: 'undo-2', restart: 'history', edit_graph: 'pencil' });

/** Opens the dialog of an action. @param {import('./orders.js').Kind} kind @param {Target} target */
export function openAction(kind, target) {
  const form = { ...emptyForm(), to: target.at && takesPoint(kind) ? String(target.at) : '' };
  const { job, step } = target;
  const verb = kind === 'fork' ? 'submit' : 'signal';
  const snapshots = target.view?.snapshots ?? [];
  const order = () => ({ kind, job, step, form, by: settings.name });
  const foresight = new Foresight((body) => (kind === 'fork' ? api.foreseeFork(job, body) : api.foresee(job, body)));
  const look = () => {
    if (!isComplete(order())) return foresight.clear();
    // Neither the reason nor the new id changes what happens.
    foresight.look(bodyOf({ ...order(), form: { ...form, reason: '', id: '' }, by: '' }));
  };
  const repeats = () => form.again || foresight.refused?.code === 'would_repeat';
  /** @param {'text' | 'name' | 'to' | 'id' | 'reason'} key @param {string} label @param {any} [more] */
  const input = (key, label, more = {}) => html`<label class="field"><span>${label}</span>
    <input .value=${form[key]} list=${more.list ?? nothing} placeholder=${more.placeholder ?? ''} maxlength=${more.max ?? 512} ?required=${more.required} @input=${(/** @type {any} */ e) => { form[key] = e.target.value; if (key === 'to') form.again = false; emit(); }}></label>`;

  openDialog({
    title: t(`act_${kind}`) + (step ? `: ${target.fold?.steps.get(step)?.title ?? step}` : ''),
    confirm: t(`act_${kind}`),
    danger: kind === 'cancel',
    ready: () => isComplete(order()) && !foresight.refused && may(verb),
    body: () => {
      if (may(verb)) look();
      return html`${denied(verb)}${foresightView(foresight, kind === 'steer' || kind === 'snapshot' ? t(`say_${kind}`) : '')}
      ${repeats() ? html`<label class="check"><input type="checkbox" .checked=${form.again} @change=${(/** @type {any} */ e) => { form.again = e.target.checked; emit(); }}><span>${t('run_again')}</span></label>` : nothing}
      ${kind === 'steer' ? html`<label class="field"><span>${t('instruction')}</span><textarea rows="3" maxlength="16000" .value=${form.text} @input=${(/** @type {any} */ e) => { form.text = e.target.value; emit(); }}></textarea></label>` : nothing}
      ${kind === 'snapshot' ? input('name', t('snapshot_name'), { max: 64, placeholder: 'before-sending', required: true }) : nothing}
      ${takesPoint(kind) ? html`${input('to', t(kind === 'fork' ? 'position_optional' : kind === 'snapshot' ? 'position_now' : 'position'), { list: 'points', placeholder: target.view?.seq ? `1 … ${target.view.seq}` : '' })}<datalist id="points">${snapshots.map((/** @type {any} */ s) => html`<option value=${s.name}>#${s.seq}</option>`)}</datalist>` : nothing}
      ${kind === 'fork' ? input('id', t('new_id_optional'), { max: 64 }) : nothing}
      ${takesReason(kind) ? input('reason', t('reason_optional')) : nothing}
      ${copyAs(requestOf(order()))}`;
    },
    run: async () => {
      if (kind === 'fork') {
        const reply = await api.fork(job, bodyOf(order()));
        toast(t('forked_toast', { job: reply.job }));
        go(`/jobs/${reply.job}`);
        return;
      }
      await api.signal(job, bodyOf(order()));
      toast(t(`did_${kind}`));
      stale('inbox');
      stale('dead');
      target.done?.();
    },
    // The job changed since it was looked at: what the request does now is looked at again.
    failed: () => foresight.clear(),
  });
}
