// An action as a command line, a NATS request and a curl command.

import { html } from '../lit.js';
import { emit } from '../state/bus.js';
import { t } from '../settings.js';
import { shell } from '../format.js';
import { token } from '../api.js';
import { copyButton, segments } from './ui.js';

let way = 'cli';

/** @param {{cli?: string[], verb: string, nats: any, method: string, path: string, body: any}} request */
export function copyAs(request) {
  const ways = {
    cli: request.cli ? ['callboard', ...request.cli].map(shell).join(' ') : '',
    nats: `nats req cb.svc.${request.verb} ${shell(JSON.stringify(request.nats))}`,
    curl: `curl -X ${request.method} ${shell(`${location.origin}/v1/${request.path}`)}${token() ? ' -H "Authorization: Bearer $CALLBOARD_TOKEN"' : ''} -H 'Content-Type: application/json'${request.body === undefined ? '' : ` -d ${shell(JSON.stringify(request.body))}`}`,
  };
  const options = /** @type {[string, string][]} */ ([['cli', 'CLI'], ['nats', 'NATS'], ['curl', 'curl']].filter(([key]) => ways[/** @type {'cli'} */ (key)]));
  const shown = ways[/** @type {'cli'} */ (way)] || ways.nats;
  return html`<details class="copy-as"><summary>${t('copy_as')}</summary>
    <div class="line">${segments(t('copy_as'), options, ways[/** @type {'cli'} */ (way)] ? way : 'nats', (value) => { way = value; emit(); })}<span class="grow"></span>${copyButton(shown, t('copy'))}</div>
    <pre class="block">${shown}</pre></details>`;
}
