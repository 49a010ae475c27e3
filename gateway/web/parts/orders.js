// Actions on a job as requests: for the gateway, and written for other clients. Pure; tests cover it.

/**
 * @typedef {'cancel' | 'pause' | 'resume' | 'retry' | 'recover' | 'steer' | 'snapshot' | 'fork' | 'roll_back' | 'restart' | 'edit_graph'} Kind `edit_graph` has an editor of its own
 * @typedef {{reason: string, text: string, name: string, to: string, id: string, again: boolean}} Form
 * @typedef {{kind: Kind, job: string, step?: string, form: Form, by?: string}} Order
 */

/** @returns {Form} */
export const emptyForm = () => ({ reason: '', text: '', name: '', to: '', id: '', again: false });
/** A record by its number, or a snapshot by its name. @param {string} to */
const point = (to) => (/^\d+$/.test(to) ? Number(to) : to);
/** `true` for an action that takes a point of the log. @param {Kind} kind */
export const takesPoint = (kind) => ['roll_back', 'fork', 'snapshot'].includes(kind);
/** `true` for an action that takes a reason: every signal does. @param {Kind} kind */
export const takesReason = (kind) => kind !== 'fork';

/** `true` when nothing that the request needs is missing. @param {Order} order */
export function isComplete({ kind, form }) {
  switch (kind) {
    case 'steer':
      return form.text.trim() !== '';
    case 'snapshot':
      return /^(?!\d+$)[\w-]{1,64}$/.test(form.name);
    case 'roll_back':
      return form.to !== '';
  }
  return true;
}

/** @param {Order} order */
function signalOf({ kind, step, form }) {
  const extra = form.again ? { again: true } : {};
  switch (kind) {
    case 'steer':
      return { steer: { text: form.text } };
    case 'snapshot':
      return { snapshot: { name: form.name, ...(form.to ? { at: point(form.to) } : {}) } };
    case 'roll_back':
      return { roll_back: { to: point(form.to), ...extra } };
    case 'restart':
      return { restart: { step, ...extra } };
    case 'recover':
      return { recover: extra };
  }
  return kind;
}

/** The body of the request to the gateway. @param {Order} order */
export function bodyOf(order) {
  const { kind, form, by } = order;
  if (kind === 'fork') return { ...(form.to ? { at: point(form.to) } : {}), ...(form.id ? { id: form.id } : {}), ...(form.again ? { again: true } : {}) };
  return { signal: signalOf(order), ...(form.reason ? { reason: form.reason } : {}), ...(by ? { by } : {}) };
}

/** An option with its value, which may begin with a dash. @param {string} name @param {string} value */
export const option = (name, value) => (value.startsWith('-') ? [`${name}=${value}`] : [name, value]);
/** A text that the command line would take for the name of a file if it began with `@`. @param {string} text */
export const literal = (text) => (text.startsWith('@') ? `@${text}` : text);

/** The words of the command line after `callboard`. @param {Order} order */
function commandOf({ kind, job, step, form }) {
  const reason = form.reason && takesReason(kind) ? option('--reason', form.reason) : [];
  const again = form.again ? ['--again'] : [];
  switch (kind) {
    case 'steer':
      // What follows `--` is no option, whatever it begins with.
      return ['jobs', 'steer', ...reason, ...(form.text.startsWith('-') ? ['--'] : []), job, literal(form.text)];
    case 'snapshot':
      return ['jobs', 'snapshot', ...(form.to ? option('--at', form.to) : []), ...reason, ...(form.name.startsWith('-') ? ['--'] : []), job, form.name];
    case 'roll_back':
      return ['jobs', 'rollback', job, ...option('--to', form.to), ...again, ...reason];
    case 'restart':
      return ['jobs', 'restart', job, step ?? '', ...again, ...reason];
    case 'recover':
      return ['jobs', 'retry', job, ...again, ...reason];
    case 'fork':
      return ['jobs', 'fork', job, ...(form.to ? option('--at', form.to) : []), ...(form.id ? option('--id', form.id) : []), ...again];
  }
  return ['jobs', kind, job, ...reason];
}

/** The request for other clients. @param {Order} order @returns {import('./copyas.js').Request} */
export function requestOf(order) {
  const { kind, job, form, by } = order;
  const body = bodyOf(order);
  if (kind === 'fork') {
    const { id: _, ...fork } = /** @type {any} */ (body);
    return { cli: commandOf(order), verb: 'submit', nats: { ...(form.id ? { id: form.id } : {}), fork: { job, ...fork } }, method: 'POST', path: `jobs/${job}/forks`, body };
  }
  return { cli: commandOf(order), by, verb: 'signal', nats: { job, ...body }, method: 'POST', path: `jobs/${job}/signals`, body };
}
