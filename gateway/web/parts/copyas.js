// An action as a command line, a NATS request and a curl command.

import { html } from '../lit.js';
import { emit } from '../state/bus.js';
import { t } from '../settings.js';
import { shell } from '../format.js';
import { token } from '../api.js';
import { copyButton, segments } from './ui.js';

let way = 'cli';

/** @typedef {{cli?: string[], verb: string, nats: any, method: string, path: string, body: any}} Request */

/** A request as commands of a shell. @param {Request} request @param {string} origin @param {boolean} hasToken */
export const commands = (request, origin, hasToken) => ({
  cli: request.cli ? ['callboard', ...request.cli].map(shell).join(' ') : '',
  nats: `nats req${hasToken ? ' -H "Callboard-Token: $CALLBOARD_TOKEN"' : ''} cb.svc.${request.verb} ${shell(JSON.stringify(request.nats))}`,
  curl: `curl -X ${request.method} ${shell(`${origin}/v1/${request.path}`)}${hasToken ? ' -H "Authorization: Bearer $CALLBOARD_TOKEN"' : ''} -H 'Content-Type: application/json'${request.body === undefined ? '' : ` -d ${shell(JSON.stringify(request.body))}`}`,
});

/** @param {Request} request */
export function copyAs(request) {
  const ways = commands(request, location.origin, token() !== '');
  const options = /** @type {[string, string][]} */ ([['cli', 'CLI'], ['nats', 'NATS'], ['curl', 'curl']].filter(([key]) => ways[/** @type {'cli'} */ (key)]));
  const shown = ways[/** @type {'cli'} */ (way)] || ways.nats;
  return html`<details class="copy-as"><summary>${t('copy_as')}</summary>
    <div class="line">${segments(t('copy_as'), options, ways[/** @type {'cli'} */ (way)] ? way : 'nats', (value) => { way = value; emit(); })}<span class="grow"></span>${copyButton(shown, t('copy'))}</div>
    <pre class="block">${shown}</pre></details>`;
}
