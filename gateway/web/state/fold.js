// The fold of a job's events: steps, calls, turns, questions, transcript, and the times of all of them. Pure.

import { ms } from '../format.js';
import { Flow } from './flow.js';

/**
 * @typedef {{from: number, to?: number, kind: 'run' | 'wait' | 'queue'}} Span
 * @typedef {{work: string, step?: string, tool: string, attempt: number, args?: any, from: number, to?: number, ok?: boolean, result?: any, message?: string, error?: string, fault?: string, duration?: number, remembered?: string, tries: {attempt: number, at: number, error: string}[]}} Call
 * @typedef {{work: string, step?: string, attempt: number, from: number, to?: number, failed?: boolean, tokens?: any}} Turn A model call; it has no end while it runs
 * @typedef {{how: 'planner' | 'edited' | 'requested' | 'told' | 'failed', by?: string, text?: string}} Author
 * @typedef {{id: string, title: string, description: string, tool?: string, depends_on: string[], args?: any}} PlannedStep
 * @typedef {{at: number, id: string, revision: number, title: string, steps: PlannedStep[], author: Author}} Version
 * @typedef {{id: string, title: string, description: string, tool?: string, depends_on: string[], state: string, attempt: number, response?: string, unsuccessful?: boolean, attachments?: string[], queued?: number, started?: number, ended?: number, spans: Span[], calls: Call[], turns: Turn[], errors: {at: number, message: string}[], outline?: any[]}} Step
 * @typedef {{key: string, at: number, id: string, kind: string, [more: string]: any}} Line
 * @typedef {{state: string, sub?: string, from: number, to?: number, reason?: string}} Phase
 */

/** @param {string} id */
export const recordOf = (id) => Number(id.split('.')[0]);

export class Fold {
  constructor() {
    this.state = 'submitted';
    /** @type {string | undefined} */
    this.sub = undefined;
    this.goal = '';
    this.created = NaN;
    this.updated = NaN;
    /** @type {any} */
    this.plan = undefined;
    /** @type {Map<string, Step>} */
    this.steps = new Map();
    /** @type {Map<string, Call>} */
    this.calls = new Map();
    /** @type {Turn[]} */
    this.turns = [];
    /** @type {Map<string, any>} */
    this.questions = new Map();
    /** @type {Line[]} */
    this.lines = [];
    /** Every plan that was shown, each the successor of the one before. @type {Version[]} */
    this.revisions = [];
    /** What happened since the last plan and leads to another one. @type {Author} */
    this.author = { how: 'planner' };
    /** @type {Phase[]} */
    this.phases = [];
    /** Progress of a workflow. */
    this.flow = new Flow();
    /** @type {any} */
    this.usage = undefined;
    /** @type {string | undefined} */
    this.failure = undefined;
    /** Time of the last event of a step or a work, from which its next turn counts. @type {Map<string, number>} */
    this.last = new Map();
    /** @type {any[]} */
    this.events = [];
    /** Ids of events that a rollback took out. @type {Set<string>} */
    this.dropped = new Set();
  }

  /** @param {any} e */
  apply(e) {
    this.events.push(e);
    this.#take(e);
    if (e.type === 'interaction' && e.phase === 'signaled' && e.signal === 'roll_back') this.#rollBack(e);
  }

  /** Folds the events again that a rollback left in force; the log keeps all. @param {any} e */
  #rollBack(e) {
    const to = Number(e.to);
    const record = recordOf(e.id);
    for (const old of this.events) if (recordOf(old.id) > to && recordOf(old.id) < record) this.dropped.add(old.id);
    const again = new Fold();
    for (const old of this.events) if (!this.dropped.has(old.id)) again.#take(old);
    const { events, dropped } = this;
    const oldPhases = this.phases;
    Object.assign(this, again, { events, dropped });
    if (Number.isNaN(this.created) && oldPhases[0]) this.created = oldPhases[0].from;
    // Neither time that was taken out nor the time until the rollback counts.
    const now = ms(e.time);
    const kept = this.events.findLast((old) => !this.dropped.has(old.id) && old !== e);
    const open = this.phases.at(-1);
    if (open && kept) {
      open.to = Math.max(open.from, ms(kept.time));
      this.phases.push({ state: this.state, sub: this.sub, from: now });
    }
    for (const step of this.steps.values()) {
      for (const span of step.spans) span.to ??= kept ? ms(kept.time) : now;
      if (step.queued !== undefined) step.queued = now;
    }
    for (const work of [...this.calls.values(), ...this.turns]) work.to ??= kept ? ms(kept.time) : now;
    for (const id of [...this.last.keys()]) this.last.set(id, now);
  }

  /** @param {string} id @returns {Step} */
  #step(id) {
    let step = this.steps.get(id);
    if (!step) {
      step = { id, title: id, description: '', depends_on: [], state: 'pending', attempt: 0, spans: [], calls: [], turns: [], errors: [] };
      this.steps.set(id, step);
    }
    return step;
  }

  /** @param {any} e @param {string} kind @param {any} [more] */
  #line(e, kind, more = {}) {
    this.lines.push({ key: e.id, at: ms(e.time), id: e.id, kind, step: e.step, ...more });
  }

  /** @param {any} e */
  #take(e) {
    const at = ms(e.time);
    if (Number.isNaN(this.created)) this.created = at;
    this.updated = at;
    switch (e.type) {
      case 'job':
        return this.#job(e, at);
      case 'plan':
        return this.#planned(e, at);
      case 'step':
        return this.#stepped(e, at);
      case 'tool':
        return this.#tool(e, at);
      case 'message':
        return this.#line(e, e.stream === 'result' && !e.step ? 'answer' : e.stream, { text: e.text, work: e.work });
      case 'interaction':
        return this.#interaction(e, at);
      case 'usage': {
        this.usage = e.total ?? this.usage;
        if (e.tool) return;
        const turn = this.#unpaid(e) ?? this.#turn(e, at);
        turn.to ??= at;
        turn.tokens = e.spent;
        this.last.set(turn.step ?? '', at);
        return;
      }
      case 'turn':
        if (!this.#unpaid(e)) this.#turn(e, at);
        return;
      case 'artifact':
        // The view has the files.
        return;
      case 'error': {
        const call = e.work && this.calls.get(e.work);
        const turn = this.#unpaid(e);
        if (turn && turn.to === undefined) Object.assign(turn, { to: at, failed: true });
        if (call) call.tries.push({ attempt: e.attempt ?? call.attempt, at, error: e.message });
        const step = e.step ?? stepOf(e.work, this.steps);
        if (step) this.#step(step).errors.push({ at, message: e.message });
        if (e.scope === 'job') this.failure = e.message;
        return this.#line(e, 'error', { text: e.message, scope: e.scope, reason: e.reason, step });
      }
      case 'node':
        return this.flow.take(e);
      case 'notice':
        return this.#line(e, 'notice', { text: e.message });
    }
  }

  /** The model call of an event, as long as its cost has not been told. @param {any} e */
  #unpaid(e) {
    return this.turns.findLast((turn) => turn.work === e.work && turn.attempt === (e.attempt ?? 1) && turn.tokens === undefined);
  }

  /** A model call that begins, or one of a log that does not tell when it began. @param {any} e @param {number} at */
  #turn(e, at) {
    const step = e.step ?? stepOf(e.work, this.steps);
    const from = e.type === 'turn' ? at : (this.last.get(step ?? '') ?? this.last.get('') ?? this.created);
    /** @type {Turn} */
    const turn = { work: e.work, step, attempt: e.attempt ?? 1, from: Math.min(from, at) };
    this.turns.push(turn);
    if (step) this.#step(step).turns.push(turn);
    return turn;
  }

  /** @param {any} e @param {number} at */
  #job(e, at) {
    this.state = e.state;
    this.sub = e.sub_status;
    if (e.goal !== undefined) {
      this.goal = e.goal;
      this.#line(e, 'goal', { text: e.goal });
    }
    const phase = this.phases.at(-1);
    if (phase && phase.to === undefined) phase.to = at;
    const ended = ['completed', 'failed', 'canceled', 'rejected'].includes(e.state);
    this.phases.push({ state: e.state, sub: e.sub_status, from: at, reason: e.reason, ...(ended ? { to: at } : {}) });
    if (ended) {
      for (const step of this.steps.values()) closeSpans(step, at);
      for (const work of [...this.calls.values(), ...this.turns]) work.to ??= at;
      this.#line(e, 'end', { state: e.state, text: e.reason });
    }
  }

  /** @param {any} e @param {number} at */
  #planned(e, at) {
    const order = new Map();
    for (const s of e.steps ?? []) {
      const step = this.#step(s.id);
      step.title = s.title || s.description || s.id;
      step.description = s.description ?? '';
      step.tool = s.tool;
      step.depends_on = s.depends_on ?? [];
      step.state = s.state ?? step.state;
      step.outline = s.outline ?? step.outline;
      order.set(s.id, step);
    }
    this.plan = { title: e.title, revision: e.revision, confirmed: e.confirmed, ids: [...order.keys()], phase: e.phase, outline: e.outline };
    if (e.confirmed) this.#queue(at);
    // The steps of a workflow are its visits, and not another plan each time.
    if (e.phase !== 'completed' && !e.replanning && !this.flow.nodes.size && this.#version(e, { ...e, steps: e.steps ?? [] }, at)) this.#line(e, 'plan', { title: e.title, count: order.size, revision: e.revision });
    this.last.set('', at);
  }

  /** Adds a plan to the history, unless it is the last one. @param {any} e @param {{title: string, revision: number, steps: any[]}} plan @param {number} at */
  #version(e, plan, at) {
    const steps = plan.steps.map((/** @type {any} */ s) => ({ id: s.id, title: s.title || s.description || s.id, description: s.description ?? '', tool: s.tool, depends_on: s.depends_on ?? [], args: s.args }));
    const last = this.revisions.at(-1);
    if (last && last.revision === plan.revision && last.title === plan.title && last.steps.length === steps.length && steps.every((step, n) => step.id === last.steps[n].id && !changesOf(last.steps[n], step).length)) {
      // A question about the plan tells the arguments, too.
      steps.forEach((step, n) => (last.steps[n].args ??= step.args));
      return false;
    }
    this.revisions.push({ at, id: e.id, revision: plan.revision, title: plan.title, steps, author: this.author });
    this.author = { how: 'planner' };
    return true;
  }

  /** Steps whose dependencies are complete wait in their queue from now on. @param {number} at */
  #queue(at) {
    for (const step of this.steps.values())
      if (step.started === undefined && step.queued === undefined && ['pending', 'ready'].includes(step.state) && step.depends_on.every((id) => ['completed', 'skipped'].includes(this.steps.get(id)?.state ?? ''))) step.queued = at;
  }

  /** @param {any} e @param {number} at */
  #stepped(e, at) {
    const step = this.#step(e.step);
    if (e.label && step.title === step.id) step.title = e.label;
    step.attempt = e.attempt ?? step.attempt;
    this.last.set(e.step, at);
    switch (e.phase) {
      case 'started':
      case 'retried':
        if (step.queued !== undefined && step.queued < at) step.spans.push({ kind: 'queue', from: step.queued, to: at });
        step.queued = undefined;
        step.started ??= at;
        step.ended = undefined;
        step.state = 'running';
        closeSpans(step, at);
        step.spans.push({ kind: 'run', from: at });
        this.#line(e, 'step', { title: step.title, tool: step.tool, again: e.phase === 'retried' });
        break;
      case 'waiting':
        closeSpans(step, at);
        step.state = 'waiting';
        step.spans.push({ kind: 'wait', from: at });
        break;
      case 'resumed':
        closeSpans(step, at);
        step.state = 'running';
        step.spans.push({ kind: 'run', from: at });
        break;
      default:
        closeSpans(step, at);
        step.state = e.phase;
        step.response = e.response ?? step.response;
        step.unsuccessful = e.unsuccessful;
        step.attachments = e.attachments ?? step.attachments;
        step.ended = at;
        step.queued = undefined;
        if (e.phase === 'completed') this.#queue(at);
        if (e.phase === 'failed' && this.author.how === 'planner') this.author = { how: 'failed', text: step.title };
        if (e.phase === 'completed' || e.phase === 'failed') this.#line(e, 'stepped', { title: step.title, phase: e.phase, text: e.response, unsuccessful: e.unsuccessful });
    }
  }

  /** @param {any} e @param {number} at */
  #tool(e, at) {
    let call = this.calls.get(e.work);
    if (!call) {
      call = { work: e.work, step: e.step, tool: e.tool, attempt: e.attempt, from: at, tries: [] };
      this.calls.set(e.work, call);
      if (e.step) this.#step(e.step).calls.push(call);
      this.lines.push({ key: e.work, at, id: e.id, kind: 'call', step: e.step, call });
    }
    call.attempt = e.attempt;
    if (e.args !== undefined) call.args = e.args;
    if (e.remembered) call.remembered = e.remembered;
    if (e.phase === 'called') {
      call.to = at;
      call.ok = e.success;
      call.result = e.result;
      call.message = e.message;
      call.error = e.error;
      call.fault = e.fault;
      call.duration = e.duration_ms;
    }
    if (e.step) this.last.set(e.step, at);
  }

  /** A question about a plan: it shows the arguments, which the event of the plan does not have. @param {any} e @param {any} question @param {number} at */
  #asked(e, question, at) {
    const { plan, revision } = question;
    const own = new Set(plan.steps.map((/** @type {any} */ s) => s.id));
    const earlier = (this.revisions.at(-1)?.steps ?? []).filter((step) => !own.has(step.id) && this.steps.get(step.id)?.started !== undefined);
    this.#version(e, { title: plan.title, revision, steps: [...earlier, ...plan.steps] }, at);
  }

  /** @param {any} e @param {number} at */
  #interaction(e, at) {
    const key = (/** @type {any} */ x) => `${x.below?.job ?? ''}/${x.ask ?? x.question?.id}`;
    switch (e.phase) {
      case 'asked': {
        const question = { ...e.question, below: e.below, asked: at };
        this.questions.set(key(e), question);
        this.#line(e, 'question', { question });
        // The plan in the question has its own steps only; those of earlier plans stay in sight.
        if (question.kind === 'plan_check' && !e.below && question.plan) this.#asked(e, question, at);
        break;
      }
      case 'answered':
      case 'closed':
      case 'settled': {
        const question = this.questions.get(key(e));
        if (question) Object.assign(question, { ended: at, end: e.phase, decision: e.decision, value: e.value, text: e.text, by: e.by, because: e.because });
        if (question?.kind === 'plan_check' && ['edit', 'respond'].includes(e.decision)) this.author = { how: e.decision === 'edit' ? 'edited' : 'requested', by: e.by, text: e.text };
        if (question?.step) this.last.set(question.step, at);
        this.last.set('', at);
        break;
      }
      case 'told':
        this.author = { how: 'told', by: e.by, text: e.text };
        this.#line(e, 'told', { text: e.text, reason: e.reason, by: e.by });
        break;
      case 'signaled':
        this.#line(e, 'signal', { signal: e.signal, text: e.reason, by: e.by, to: e.to });
    }
  }
}

/** The state of a call or a model turn. One that was ended from outside has no result. @param {{to?: number, ok?: boolean, failed?: boolean, tokens?: any}} work */
export function stateOf(work) {
  if (work.to === undefined) return 'running';
  if (work.failed || work.ok === false) return 'failed';
  return work.ok || work.tokens !== undefined ? 'completed' : 'canceled';
}

/** What differs between two forms of a step. @param {PlannedStep} a @param {PlannedStep} b @returns {string[]} */
export function changesOf(a, b) {
  const args = a.args !== undefined && b.args !== undefined && JSON.stringify(a.args) !== JSON.stringify(b.args);
  return [a.title !== b.title && 'title', a.description !== b.description && 'description', a.tool !== b.tool && 'tool', args && 'args', a.depends_on.join() !== b.depends_on.join() && 'depends_on'].filter((one) => typeof one === 'string');
}

/** @typedef {{change: 'added' | 'removed' | 'changed' | 'kept', step: PlannedStep, fields: string[], was?: PlannedStep}} Difference */
/** The steps of a plan, and those that it dropped, with what became of each. @param {Version | undefined} before @param {Version} after @returns {Difference[]} */
export function differences(before, after) {
  const was = new Map(before?.steps.map((step) => [step.id, step]));
  /** @type {Difference[]} */
  const out = after.steps.map((step) => {
    const old = was.get(step.id);
    const fields = old ? changesOf(old, step) : [];
    return { step, was: old, fields, change: !before ? 'kept' : !old ? 'added' : fields.length ? 'changed' : 'kept' };
  });
  const ids = new Set(after.steps.map((step) => step.id));
  // A dropped step stays where it was: after the one before it that is left.
  before?.steps.forEach((step, n) => {
    if (ids.has(step.id)) return;
    const above = before.steps.slice(0, n).map((one) => one.id);
    const at = out.findLastIndex((one) => above.includes(one.step.id)) + 1;
    out.splice(at, 0, { step, change: 'removed', fields: [] });
  });
  return out;
}

/** @param {Step} step @param {number} at */
function closeSpans(step, at) {
  for (const span of step.spans) span.to ??= at;
}

/** The step in the name of a unit of work, such as `g0.r0.draft.n1.t2`. @param {string | undefined} work @param {Map<string, Step>} steps */
export function stepOf(work, steps) {
  const part = work?.split('.')[2];
  return part !== undefined && steps.has(part) ? part : undefined;
}

/** Folds events up to an id, that event included. @param {any[]} events @param {number} count */
export function foldTo(events, count) {
  const fold = new Fold();
  for (let i = 0; i < count && i < events.length; i++) fold.apply(events[i]);
  return fold;
}

/**
 * Time that the job spent working and waiting. A job waits while its state asks for input, and while it is paused or backs off.
 * @param {Fold} fold @param {number} now
 */
export function times(fold, now) {
  let run = 0;
  let wait = 0;
  for (const phase of fold.phases) {
    const length = Math.max(0, (phase.to ?? now) - phase.from);
    if (['input-required', 'auth-required'].includes(phase.state) || ['parked', 'paused', 'backing-off', 'poisoned'].includes(phase.sub ?? '')) wait += length;
    else run += length;
  }
  return { run, wait };
}
