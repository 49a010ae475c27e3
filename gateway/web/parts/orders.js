// Actions on a job as requests: for the gateway, and written for other clients. Pure; tests cover it.

/**
 * @typedef {'cancel' | 'pause' | 'resume' | 'retry' | 'recover' | 'steer' | 'snapshot' | 'fork' | 'roll_back' | 'restart'} Kind
 * @typedef {{reason: string, text: string, name: string, to: string, id: string, again: boolean}} Form
 * @typedef {{kind: Kind, job: string, step?: string, form: Form, by?: string}} Order
 */

/** @returns {Form} */
export const emptyForm = () => ({ reason: '', text: '', name: '', to: '', id: '', again: false });
/** A record by its number, or a snapshot by its name. @param {string} to */
const point = (to) => (/^\d+$/.test(to) ? Number(to) : to);

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
      return { snapshot: { name: form.name } };
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

/** The words of the command line after `callboard`. @param {Order} order */
function commandOf({ kind, job, step, form }) {
  const reason = form.reason ? ['--reason', form.reason] : [];
  const again = form.again ? ['--again'] : [];
  switch (kind) {
    case 'steer':
      return ['jobs', 'steer', job, form.text];
    case 'snapshot':
      return ['jobs', 'snapshot', job, form.name];
    case 'roll_back':
      return ['jobs', 'rollback', job, '--to', form.to, ...again, ...reason];
    case 'restart':
      return ['jobs', 'restart', job, step ?? '', ...again, ...reason];
    case 'recover':
      return ['jobs', 'retry', job, ...again, ...reason];
    case 'fork':
      return ['jobs', 'fork', job, ...(form.to ? ['--at', form.to] : []), ...(form.id ? ['--id', form.id] : []), ...again];
  }
  return ['jobs', kind, job, ...reason];
}

/** The request for other clients. @param {Order} order */
export function requestOf(order) {
  const { kind, job, form } = order;
  const body = bodyOf(order);
  if (kind === 'fork') {
    const { id: _, ...fork } = /** @type {any} */ (body);
    return { cli: commandOf(order), verb: 'submit', nats: { ...(form.id ? { id: form.id } : {}), fork: { job, ...fork } }, method: 'POST', path: `jobs/${job}/forks`, body };
  }
  return { cli: commandOf(order), verb: 'signal', nats: { job, ...body }, method: 'POST', path: `jobs/${job}/signals`, body };
}
