// The reason why a job does not move, as a sentence with the button that unblocks it.

import { t } from '../settings.js';
import { amount, duration, ms } from '../format.js';

/**
 * The words for a unit of work, such as `g0.r0.draft.n1.t2`: the step's title where it is known, otherwise its id.
 * @param {string} work @param {(step: string) => string | undefined} title
 */
export function workWords(work, title) {
  const part = work.split('.')[2];
  if (part !== undefined) return title(part) ?? part;
  return /^g\d+\.p\d+$/.test(work) ? t('row_planning') : work;
}
/** A text on one line, without the marks of Markdown. @param {string} text */
export const oneLine = (text) => text.replace(/(\*\*|__|`)(?=\S)([^\n]*?\S)\1/g, '$2').replace(/^#+\s+/, '').replace(/\s+/g, ' ').trim();
/** @param {string} _step @returns {string | undefined} */
const untitled = (_step) => undefined;

const ROLES = { plan: 'planner', turn: 'executor', call: 'tools', ask: 'interaction' };

/** @param {any} given @param {(step: string) => string | undefined} [title] the titles of steps, where they are known @returns {string} */
export function whySentence(given, title = untitled) {
  if (!given) return '';
  const why = { ...given, ...(given.work ? { work: workWords(given.work, title) } : {}), ...(given.step ? { step: title(given.step) ?? given.step } : {}), ...(given.prompt ? { prompt: oneLine(given.prompt) } : {}) };
  const pool = `${why.kind ?? ''}.${why.pool ?? ''}`;
  const now = Date.now();
  const until = why.until ? ms(why.until) - now : NaN;
  switch (why.code) {
    case 'unreadable':
      return t('why_unreadable', why);
    case 'paused':
      return why.by ? t(why.note ? 'why_paused_note' : 'why_paused_by', why) : t('why_paused');
    case 'no_supervisor':
      return t('why_no_supervisor', why);
    case 'no_worker':
      return t('why_no_worker', { pool });
    case 'question': {
      const text = t(why.path && why.path !== why.job ? 'why_question_below' : 'why_question', why);
      return until > 0 ? `${text} · ${t('expires_in', { time: duration(until) })}` : text;
    }
    case 'given_up':
      return t('why_given_up', why);
    case 'outage':
      return t('why_outage', why);
    case 'retry':
      return until > 0 ? t('why_retry_at', { ...why, max: why.max_attempts, time: duration(until) }) : t('why_retry', { ...why, max: why.max_attempts });
    case 'pausing':
      return until > 0 ? t('why_pausing_for', { ...why, time: duration(until) }) : t('why_pausing', why);
    case 'event':
      return until > 0 ? t('why_event_for', { ...why, time: duration(until) }) : t('why_event', why);
    case 'child':
      return why.why ? t('why_child_because', { path: why.path ?? why.job, why: whySentence(why.why, title) }) : t('why_child', { path: why.path ?? why.job });
    case 'queued':
      return t('why_queued', { pool, waiting: why.waiting ?? '?', n: why.waiting });
    case 'sent':
      return t('why_sent', { pool });
    case 'running':
      return why.kind === 'plan' ? t('why_running_plan') : why.kind === 'turn' ? t(why.step ? 'why_running_turn_step' : 'why_running_turn', why) : why.tool ? t('why_running_tool', why) : t('why_running', why);
    case 'budget_used':
      return t(['money', 'time'].includes(why.axis) ? 'why_budget_used_of' : 'why_budget_used', { used: amount(why.axis, why.used), limit: amount(why.axis, why.limit), axis: t(`axis_${why.axis}`) });
    case 'ending':
      return t('why_ending', { failure: why.failure?.reason ?? why.failure ?? '' });
    case 'deciding':
      return t('why_deciding');
  }
  return why.code;
}

/** What unblocks the job: an action of the console, or a command for an operator. @param {any} why @returns {{action?: string, command?: string, label?: string}} */
export function unblock(why) {
  switch (why?.code) {
    case 'paused':
      return { action: 'resume', label: t('act_resume') };
    case 'question':
      return { action: 'answer', label: t('answer') };
    case 'given_up':
      return { action: 'retry', label: t('act_retry') };
    case 'retry':
    case 'outage':
      return { action: 'retry', label: t('try_now') };
    case 'unreadable':
      return { action: 'roll_back', label: t('act_roll_back') };
    case 'no_supervisor':
      return { command: 'callboard serve --roles supervisor' };
    case 'no_worker':
      return why.kind === 'call' && why.pool !== 'builtin' ? {} : { command: `callboard serve --roles ${ROLES[/** @type {keyof typeof ROLES} */ (why.kind)] ?? 'tools'}` };
    case 'child':
      return why.why ? unblock(why.why) : {};
  }
  return {};
}

/** The sentence of a job: why it does not move, or how it ended. @param {any} job */
export function sentence(job) {
  const why = Array.isArray(job.why) ? job.why[0] : job.why;
  if (why) return whySentence(why);
  const outcome = job.outcome;
  if (job.state === 'failed') return outcome?.message || t(`failure_${job.failure ?? outcome?.reason}`);
  if (job.state === 'completed') return outcome?.summary ? oneLine(String(outcome.summary).split('\n')[0]).replace(/[:：]$/, '') : t('ended_completed');
  if (job.state === 'canceled') return outcome?.reason ? t('ended_canceled_because', { reason: outcome.reason }) : t('ended_canceled');
  if (job.state === 'rejected') return t('ended_rejected');
  return t(`state_${job.state}`);
}
