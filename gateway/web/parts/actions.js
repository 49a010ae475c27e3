// Actions on a job: each opens one dialog with its consequence, a reason and the same request for other clients.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { cached, stale } from '../state/cache.js';
import { recordOf } from '../state/fold.js';
import { settings, t } from '../settings.js';
import { go } from '../router.js';
import { openDialog } from './dialog.js';
import { copyAs } from './copyas.js';
import { toast } from './ui.js';

/** @typedef {{job: string, view?: any, fold?: import('../state/fold.js').Fold, at?: number, step?: string, done?: () => void}} Target */

const ENDED = ['completed', 'failed', 'canceled', 'rejected'];
/** The actions that the job's state allows, the most useful first. @param {any} job */
export function actionsOf(job) {
  if (!job) return [];
  const out = [];
  const ended = ENDED.includes(job.state);
  if (!ended) out.push(job.sub_status === 'paused' ? 'resume' : 'pause', 'steer');
  if (job.state === 'failed') out.push('recover');
  const why = Array.isArray(job.why) ? job.why.map((/** @type {any} */ w) => w.code) : [job.why?.code];
  if (!ended && why.some((/** @type {string} */ code) => ['given_up', 'retry', 'outage', 'unreadable'].includes(code))) out.push('retry');
  out.push('snapshot', 'fork', 'roll_back');
  if (!ended) out.push('cancel');
  return out;
}
export const ICONS = /** @type {Record<string, string>} */ ({ cancel: 'ban', pause: 'pause', resume: 'play', retry: 'rotate-ccw', recover: 'rotate-ccw', steer: 'send', snapshot: 'tag', fork: 'git-fork', roll_back: 'undo-2', restart: 'history' });

/**
 * What a rollback to a record takes out, as far as the events show it.
 * @param {import('../state/fold.js').Fold | undefined} fold @param {number} to
 */
export function preview(fold, to) {
  if (!fold) return { records: 0, steps: /** @type {string[]} */ ([]), tools: /** @type {string[]} */ ([]) };
  const after = fold.events.filter((e) => recordOf(e.id) > to && !fold.dropped.has(e.id));
  const steps = new Set();
  const tools = new Set();
  const specs = cached('tools', 300_000).value?.tools ?? [];
  for (const e of after) {
    if (e.type === 'step' && e.phase === 'started') steps.add(fold.steps.get(e.step)?.title ?? e.step);
    if (e.type === 'tool' && e.phase === 'calling' && specs.find((/** @type {any} */ tool) => tool.name === e.tool)?.effect !== 'pure') tools.add(e.tool);
  }
  return { records: new Set(after.map((e) => recordOf(e.id))).size, steps: [...steps], tools: [...tools] };
}

/** The record before the first start of a step. @param {import('../state/fold.js').Fold | undefined} fold @param {string} step */
function beforeStep(fold, step) {
  const first = fold?.events.find((e) => e.type === 'step' && e.step === step && e.phase === 'started' && !fold.dropped.has(e.id));
  return first ? recordOf(first.id) - 1 : NaN;
}

/** Opens the dialog of an action. @param {string} kind @param {Target} target */
export function openAction(kind, target) {
  const form = { reason: '', text: '', name: '', to: target.at ? String(target.at) : '', id: '', again: false, repeats: false };
  const { job, step } = target;
  const snapshots = target.view?.snapshots ?? [];
  const children = (target.view?.children ?? []).filter((/** @type {any} */ child) => !ENDED.includes(child.state)).length;

  const point = () => (/^\d+$/.test(form.to) ? Number(form.to) : form.to);
  const signal = () => {
    const extra = form.again ? { again: true } : {};
    if (kind === 'steer') return { steer: { text: form.text } };
    if (kind === 'snapshot') return { snapshot: { name: form.name } };
    if (kind === 'roll_back') return { roll_back: { to: point(), ...extra } };
    if (kind === 'restart') return { restart: { step, ...extra } };
    if (kind === 'recover') return { recover: { ...extra } };
    return kind;
  };
  const body = () => {
    if (kind === 'fork') return { ...(form.to ? { at: point() } : {}), ...(form.id ? { id: form.id } : {}), ...(form.again ? { again: true } : {}) };
    return { signal: signal(), ...(form.reason ? { reason: form.reason } : {}), ...(settings.name ? { by: settings.name } : {}) };
  };
  const again = () => (form.again ? ['--again'] : []);
  const reason = () => (form.reason ? ['--reason', form.reason] : []);
  const cli = () => {
    switch (kind) {
      case 'steer':
        return ['jobs', 'steer', job, form.text];
      case 'snapshot':
        return ['jobs', 'snapshot', job, form.name];
      case 'roll_back':
        return ['jobs', 'rollback', job, '--to', form.to, ...again()];
      case 'restart':
        return ['jobs', 'restart', job, step ?? '', ...again()];
      case 'recover':
        return ['jobs', 'retry', job];
      case 'fork':
        return ['jobs', 'fork', job, ...(form.to ? ['--at', form.to] : []), ...(form.id ? ['--id', form.id] : [])];
      case 'cancel':
        return ['jobs', 'cancel', job, ...reason()];
    }
    return ['jobs', kind, job];
  };
  const sentence = () => {
    const known = kind === 'restart' ? beforeStep(target.fold, step ?? '') : kind === 'roll_back' ? Number(snapshots.find((/** @type {any} */ s) => s.name === form.to)?.seq ?? form.to) : NaN;
    if (kind === 'cancel') return t(children ? 'say_cancel_children' : 'say_cancel', { n: children });
    if ((kind === 'roll_back' || kind === 'restart') && form.to + (step ?? '') && Number.isFinite(known)) {
      const out = preview(target.fold, known);
      return html`<p>${t('say_roll_back', { n: out.records })} ${out.steps.length ? t('say_again', { steps: out.steps.slice(0, 5).join(', ') + (out.steps.length > 5 ? ` +${out.steps.length - 5}` : '') }) : nothing}</p>
        ${out.tools.length ? html`<p class="warn-line">${t('say_outside', { tools: out.tools.join(', ') })}</p>` : nothing}`;
    }
    if (kind === 'fork') return t(form.to ? 'say_fork_at' : 'say_fork', { at: form.to });
    return t(`say_${kind}`);
  };
  /** @param {string} key @param {string} label @param {any} [more] */
  const input = (key, label, more = {}) => html`<label class="field"><span>${label}</span>
    <input .value=${/** @type {any} */ (form)[key]} list=${more.list ?? nothing} placeholder=${more.placeholder ?? ''} maxlength=${more.max ?? 512} ?required=${more.required} @input=${(/** @type {any} */ e) => { /** @type {any} */ (form)[key] = e.target.value; form.repeats = false; form.again = false; emit(); }}></label>`;

  openDialog({
    title: t(`act_${kind}`) + (step ? `: ${target.fold?.steps.get(step)?.title ?? step}` : ''),
    confirm: t(`act_${kind}`),
    danger: kind === 'cancel',
    ready: () => (kind === 'steer' ? form.text.trim() !== '' : kind === 'snapshot' ? /^(?!\d+$)[\w-]{1,64}$/.test(form.name) : kind === 'roll_back' ? form.to !== '' : true) && !(form.repeats && !form.again),
    body: () => html`<div class="consequence">${sentence()}</div>
      ${kind === 'steer' ? html`<label class="field"><span>${t('instruction')}</span><textarea rows="3" maxlength="16000" .value=${form.text} @input=${(/** @type {any} */ e) => { form.text = e.target.value; emit(); }}></textarea></label>` : nothing}
      ${kind === 'snapshot' ? input('name', t('snapshot_name'), { max: 64, placeholder: 'before-sending', required: true }) : nothing}
      ${kind === 'roll_back' || kind === 'fork' ? html`${input('to', t(kind === 'fork' ? 'position_optional' : 'position'), { list: 'points', placeholder: target.view?.seq ? `1 … ${target.view.seq}` : '' })}<datalist id="points">${snapshots.map((/** @type {any} */ s) => html`<option value=${s.name}>#${s.seq}</option>`)}</datalist>` : nothing}
      ${kind === 'fork' ? input('id', t('new_id_optional'), { max: 64 }) : nothing}
      ${['steer', 'fork', 'snapshot'].includes(kind) ? nothing : input('reason', t('reason_optional'))}
      ${form.repeats ? html`<label class="check"><input type="checkbox" .checked=${form.again} @change=${(/** @type {any} */ e) => { form.again = e.target.checked; emit(); }}><span>${t('run_again')}</span></label>` : nothing}
      ${copyAs(kind === 'fork'
        ? { cli: cli(), verb: 'submit', nats: { ...(form.id ? { id: form.id } : {}), fork: { job, ...(form.to ? { at: point() } : {}) } }, method: 'POST', path: `jobs/${job}/forks`, body: body() }
        : { cli: cli(), verb: 'signal', nats: { job, ...body() }, method: 'POST', path: `jobs/${job}/signals`, body: body() })}`,
    failed: (problem) => {
      if (problem.code === 'would_repeat') form.repeats = true;
    },
    run: async () => {
      if (kind === 'fork') {
        const reply = await api.fork(job, body());
        toast(t('forked_toast', { job: reply.job }));
        go(`/jobs/${reply.job}`);
        return;
      }
      await api.signal(job, body());
      toast(t(`did_${kind}`));
      stale('inbox');
      stale('dead');
      target.done?.();
    },
  });
}
