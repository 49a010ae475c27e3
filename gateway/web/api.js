// HTTP client of the gateway: JSON calls, problem documents as errors, and server-sent events over fetch.

import { parse } from './exact.js';
import { emit } from './state/bus.js';
import { settings } from './settings.js';

/** The state of the connection. `since` is the time of the first failed request since the last success. */
export const net = { since: 0, live: false };

const TOKEN = 'callboard.token';
export const token = () => sessionStorage.getItem(TOKEN) ?? '';
/** @param {string} value */
export const setToken = (value) => (value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN));

/** A refusal of the gateway, or a request that did not reach it (`code` is then `unreachable`). */
export class Problem extends Error {
  /** @param {Record<string, any>} body */
  constructor(body) {
    super(body.detail ?? body.title ?? 'The request failed.');
    this.code = body.code ?? 'internal';
    this.status = body.status ?? 0;
    this.field = body.field;
    this.hint = body.hint;
    this.winner = body.winner;
  }
}

/** @param {boolean} ok */
function reached(ok) {
  const before = net.since;
  net.since = ok ? 0 : net.since || Date.now();
  if (before !== net.since) emit();
}

/** @param {Record<string, string>} extra */
function headers(extra) {
  const value = token();
  // The language of the page, which may differ from that of the browser.
  const named = { ...extra, 'Accept-Language': settings.language };
  return value ? { ...named, Authorization: `Bearer ${value}` } : named;
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @param {Record<string, string>} [extra]
 */
async function send(path, init = {}, extra = {}) {
  let response;
  try {
    response = await fetch(path, { ...init, headers: headers(extra), cache: 'no-store', credentials: 'omit' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    reached(false);
    throw new Problem({ code: 'unreachable', detail: '' });
  }
  reached(true);
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const problem = new Problem({ status: response.status, title: response.statusText, ...body });
  if (response.status === 401) {
    const { goSignIn } = await import('./router.js');
    goSignIn();
  }
  throw problem;
}

/** @param {string} path @param {Record<string, any>} [query] */
function url(path, query = {}) {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) if (item !== undefined && item !== null && item !== '') params.append(key, String(item));
  }
  const text = params.toString();
  return `/v1/${path}${text ? `?${text}` : ''}`;
}

const id = encodeURIComponent;
/** @param {string} path @param {Record<string, any>} [query] */
const get = async (path, query) => parse(await getText(path, query));
/** @param {string} path @param {Record<string, any>} [query] */
export const getText = async (path, query) => (await send(url(path, query))).text();
/** @param {string} method @param {string} path @param {any} body @param {Record<string, string>} [extra] */
const write = async (method, path, body, extra = {}) =>
  (await send(url(path), { method, body: body === undefined ? undefined : JSON.stringify(body) }, { 'Content-Type': 'application/json', ...extra })).json();

export const api = {
  about: () => get('about'),
  /** @returns {Promise<{authorize: string, host: string} | undefined>} undefined where nobody signs in at an issuer */
  login: async () => {
    const response = await send(url('login'));
    return response.status === 204 ? undefined : response.json();
  },
  /** @param {{code: string, verifier: string, redirect: string}} body */
  redeem: (body) => write('POST', 'login', body),
  /** @param {Record<string, any>} query */
  jobs: (query) => get('jobs', query),
  count: () => get('jobs/count'),
  /** @param {any} body */
  submit: (body) => write('POST', 'jobs', body),
  /** @param {string} job @param {string | number} [at] */
  job: (job, at) => get(`jobs/${id(job)}`, { at }),
  /** @param {string} job @param {string | number} [at] */
  graph: (job, at) => get(`jobs/${id(job)}/graph`, { at }),
  /** The graph of a running job, with its definition as files. @param {string} job */
  graphFiles: (job) => get(`jobs/${id(job)}/graph`, { files: 1 }),
  /** @param {string} job @param {any} body */
  signal: (job, body) => write('POST', `jobs/${id(job)}/signals`, body),
  /** @param {string} job @param {any} body */
  fork: (job, body) => write('POST', `jobs/${id(job)}/forks`, body),
  /** What a signal would do. @param {string} job @param {any} body */
  foresee: (job, body) => write('POST', `jobs/${id(job)}/signals?dry_run=1`, body),
  /** What a fork would do. @param {string} job @param {any} body */
  foreseeFork: (job, body) => write('POST', `jobs/${id(job)}/forks?dry_run=1`, body),
  /** @param {string} job @param {number} after @param {number} limit */
  records: (job, after, limit) => get(`jobs/${id(job)}/records`, { after, limit }),
  /** Counts the jobs of a batch, or sends its signal to as many. @param {any} body */
  batch: (body) => write('POST', 'batches', body),
  inbox: () => get('inbox', { limit: 200 }),
  /** @param {string} job @param {string} ask @param {any} body */
  answer: (job, ask, body) => write('POST', `jobs/${id(job)}/questions/${id(ask)}/answers`, body),
  /** A link to the answer page of a question. @param {string} job @param {string} ask @param {{by?: string}} body */
  link: (job, ask, body) => write('POST', `jobs/${id(job)}/questions/${id(ask)}/links`, body),
  /** Revokes every link of a question. @param {string} job @param {string} ask */
  unlink: (job, ask) => write('DELETE', `jobs/${id(job)}/questions/${id(ask)}/links`, undefined),
  tools: () => get('tools'),
  crew: () => get('crew', { queues: 1 }),
  /** @param {string} [name] */
  agents: (name) => get('agents', { name }),
  /** @param {string} name @param {string} text @param {number} revision the one that the text takes the place of; 0 if the bucket has none */
  setAgent: (name, text, revision) => write('PUT', `agents/${id(name)}`, { text }, { 'If-Match': `"${revision}"` }),
  /** Checks an agent and stores nothing. @param {string} name @param {string} text */
  checkAgent: (name, text) => write('PUT', `agents/${id(name)}?check=1`, { text }),
  /** The changes of an agent, newest first, or one of them with its text. @param {string} name @param {number} [revision] */
  revisions: (name, revision) => get(`agents/${id(name)}/revisions`, { revision }),
  /** @param {string} name */
  dropAgent: (name) => write('DELETE', `agents/${id(name)}`, undefined),
  /** All workflows, or one with its text and its versions: the version in force unless another is given. @param {string} [name] @param {number} [version] */
  workflows: (name, version) => get(name ? `workflows/${id(name)}` : 'workflows', { version }),
  /** @param {string} name @param {string} text @param {number} revision the one that the text takes the place of; 0 if the bucket has none */
  setWorkflow: (name, text, revision) => write('PUT', `workflows/${id(name)}`, { text }, { 'If-Match': `"${revision}"` }),
  /** Checks a workflow and stores nothing. @param {string} name @param {string} text */
  checkWorkflow: (name, text) => write('PUT', `workflows/${id(name)}?check=1`, { text }),
  /** @param {string} name @param {number} revision */
  dropWorkflow: (name, revision) => write('DELETE', `workflows/${id(name)}`, undefined, { 'If-Match': `"${revision}"` }),
  dead: () => get('dead'),
  /** @param {Record<string, any>} query */
  usage: (query) => get('usage', query),
  /** A file of the submission, whole. @param {string} job @param {string} name */
  file: async (job, name) => (await send(url(`jobs/${id(job)}/files/${id(name)}`))).blob(),
  /** @param {string} sha256 @param {Blob} bytes */
  piece: async (sha256, bytes) => (await send(url(`pieces/${sha256}`), { method: 'PUT', body: bytes }, { 'Content-Type': 'application/octet-stream' })).json(),
};

/**
 * Splits a stream of bytes into frames of server-sent events. Pure; a test covers it.
 * @returns {(chunk: string) => {event: string, data: string, id?: string}[]}
 */
export function frames() {
  let rest = '';
  return (chunk) => {
    rest += chunk;
    const out = [];
    const parts = rest.split(/\r?\n\r?\n/);
    rest = parts.pop() ?? '';
    for (const part of parts) {
      /** @type {{event: string, data: string, id?: string}} */
      const frame = { event: 'message', data: '' };
      const data = [];
      for (const line of part.split(/\r?\n/)) {
        if (line.startsWith(':')) continue;
        const cut = line.indexOf(':');
        const field = cut < 0 ? line : line.slice(0, cut);
        const value = cut < 0 ? '' : line.slice(cut + 1).replace(/^ /, '');
        if (field === 'event') frame.event = value;
        else if (field === 'id') frame.id = value;
        else if (field === 'data') data.push(value);
      }
      frame.data = data.join('\n');
      if (frame.data) out.push(frame);
    }
    return out;
  };
}

/**
 * Reads a stream of server-sent events over any number of connections.
 * @param {string} path
 * @param {{frame: (frame: {event: string, data: string, id?: string}) => boolean | void, failed: (p: Problem) => void, headers?: () => Record<string, string>, query?: Record<string, any>, begun?: () => void, broken?: () => void}} on
 *   `frame` returns `true` at the end of the stream; `headers` are those of the next connection
 * @returns {() => void} stops it
 */
export function follow(path, on) {
  const abort = new AbortController();
  let wait = 500;
  let stopped = false;
  (async () => {
    while (!stopped) {
      const idle = new AbortController();
      let timer = 0;
      const alive = () => {
        clearTimeout(timer);
        timer = window.setTimeout(() => idle.abort(), 45_000);
      };
      try {
        const signal = AbortSignal.any([abort.signal, idle.signal]);
        alive();
        const response = await send(url(path, on.query), { signal }, { ...on.headers?.(), Accept: 'text/event-stream' });
        const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
        const decode = new TextDecoder();
        const split = frames();
        on.begun?.();
        while (!stopped) {
          const { done, value } = await reader.read();
          if (done) break;
          alive();
          wait = 500;
          for (const frame of split(decode.decode(value, { stream: true }))) if (on.frame(frame)) stopped = true;
        }
      } catch (error) {
        if (abort.signal.aborted) break;
        if (error instanceof Problem && ['not_found', 'forbidden', 'invalid_id', 'invalid_request'].includes(error.code)) {
          on.failed(error);
          break;
        }
        if (!(error instanceof Problem) || error.code === 'unreachable') reached(false);
      } finally {
        clearTimeout(timer);
        on.broken?.();
      }
      if (stopped) break;
      await new Promise((resolve) => setTimeout(resolve, wait + Math.random() * 250));
      wait = Math.min(wait * 2, 10_000);
    }
  })();
  return () => {
    stopped = true;
    abort.abort();
  };
}

/**
 * Watches a job: events once and in order over any number of connections, live text and views in between.
 * @param {string} job
 * @param {{event: (e: any) => void, live: (m: any) => void, view: (v: any) => void, end: () => void, failed: (p: Problem) => void}} on
 * @param {string} [after] the event after which the watch begins
 * @returns {() => void} stops the watch
 */
export function watch(job, on, after = '0.0') {
  let last = after;
  return follow(`jobs/${id(job)}/events`, {
    query: { live: 1 },
    headers: () => ({ 'Last-Event-ID': last }),
    failed: on.failed,
    begun: () => {
      net.live = true;
    },
    frame: (frame) => {
      const data = parse(frame.data);
      if (frame.event === 'event') {
        last = frame.id ?? data.id;
        on.event(data);
      } else if (frame.event === 'live') on.live(data);
      else if (frame.event === 'view') on.view(data.view ?? data);
      else if (frame.event === 'end' && !data.error) {
        on.end();
        return true;
      }
      return false;
    },
  });
}
