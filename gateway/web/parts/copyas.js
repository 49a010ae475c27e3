// An action as a command line, a NATS request and a curl command.

import { html } from '../lit.js';
import { emit } from '../state/bus.js';
import { cached } from '../state/cache.js';
import { t } from '../settings.js';
import { shell } from '../format.js';
import { token } from '../api.js';
import { copyButton, segments } from './ui.js';

let way = 'cli';

/** @typedef {{cli?: string[], input?: string, by?: string, verb: string, nats: any, method: string, path: string, body: any, revision?: number}} Request `input` is what the command reads, `by` who sends it where nobody has a token, `revision` the one that a request without a body counts for; without a `verb` or a `method` there is no command for NATS or curl */

/**
 * A request as commands of a shell.
 * @param {Request} request @param {string} origin @param {boolean} hasToken @param {string | undefined} prefix that of the subjects; without it there is no command for NATS
 */
export function commands(request, origin, hasToken, prefix) {
  const { cli, input, by, revision } = request;
  const pipe = input === undefined ? '' : `printf %s ${shell(input)} | `;
  const who = by && !hasToken ? `USER=${shell(by)} ` : '';
  const condition = revision === undefined ? '' : ` -H ${shell(`If-Match: "${revision}"`)}`;
  // The command `nats` fills in what is in double braces. Only a string of JSON has them.
  const nats = JSON.stringify(request.nats).replaceAll('{{', '{\\u007b');
  return {
    cli: cli ? pipe + who + ['callboard', ...cli].map(shell).join(' ') : '',
    nats: prefix && request.verb ? `nats req${hasToken ? ' -H "Callboard-Token: $CALLBOARD_TOKEN"' : ''} ${shell(`${prefix}.svc.${request.verb}`)} ${shell(nats)}` : '',
    curl: !request.method ? '' : `curl -X ${request.method} ${shell(`${origin}/v1/${request.path}`)}${hasToken ? ' -H "Authorization: Bearer $CALLBOARD_TOKEN"' : ''} -H 'Content-Type: application/json'${condition}${request.body === undefined ? '' : ` -d ${shell(JSON.stringify(request.body))}`}`,
  };
}

/** @param {Request} request */
export function copyAs(request) {
  const { prefix } = cached('about', 60_000).value ?? {};
  const ways = commands(request, location.origin, token() !== '', prefix);
  const options = /** @type {[string, string][]} */ ([['cli', 'CLI'], ['nats', 'NATS'], ['curl', 'curl']].filter(([key]) => ways[/** @type {'cli'} */ (key)]));
  const chosen = options.some(([key]) => key === way) ? way : options[0][0];
  const shown = ways[/** @type {'cli'} */ (chosen)];
  return html`<details class="copy-as"><summary>${t('copy_as')}</summary>
    <div class="line">${segments(t('copy_as'), options, chosen, (value) => { way = value; emit(); })}<span class="grow"></span>${copyButton(shown, t('copy'))}</div>
    <pre class="block">${shown}</pre></details>`;
}
