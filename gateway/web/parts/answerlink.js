// A link with which one person answers one question, without a token.

import { html, nothing } from '../lit.js';
import { api, token } from '../api.js';
import { emit } from '../state/bus.js';
import { settings, t } from '../settings.js';
import { copyAs } from './copyas.js';
import { openDialog } from './dialog.js';
import { option } from './orders.js';
import { copyButton, toast, when } from './ui.js';

/** A link as a request. Pure; a test covers it. @param {string} job @param {string} ask @param {string} by who will answer; a token says that itself @returns {import('./copyas.js').Request} */
export function linkRequest(job, ask, by) {
  const body = by ? { by } : {};
  return { cli: ['inbox', 'link', job, ask, ...(by ? option('--by', by) : [])], verb: 'link', nats: { job, ask, ...body }, method: 'POST', path: `jobs/${job}/questions/${ask}/links`, body };
}

/** Opens the dialog that makes a link. @param {string} job @param {any} q */
export function openLink(job, q) {
  let by = token() ? '' : settings.name;
  openDialog({
    title: t('answer_link'),
    confirm: t('make_link'),
    ready: () => token() !== '' || by.trim() !== '',
    body: () => html`<p class="consequence">${t('say_link')}</p>
      ${token() ? nothing : html`<label class="field"><span>${t('link_for')}</span><input id="link-for" .value=${by} maxlength="64" required @input=${(/** @type {any} */ e) => { by = e.target.value; emit(); }}></label>`}
      ${copyAs(linkRequest(job, q.id, by.trim()))}`,
    run: async () => shownOnce(job, q.id, await api.link(job, q.id, by.trim() ? { by: by.trim() } : {})),
  });
}

/** Shows a new link, whose address nobody can read again. @param {string} job @param {string} ask @param {any} made */
function shownOnce(job, ask, made) {
  const address = `${location.origin}${made.path}`;
  const revoke = async () => {
    const { revoked } = await api.unlink(job, ask);
    toast(t('links_revoked', { n: revoked }));
  };
  openDialog({
    title: t('answer_link'),
    confirm: t('revoke_links'),
    danger: true,
    body: () => html`<p>${t('link_made', { by: made.by })} ${when(made.expires)}</p>
      <div class="line"><code class="break grow" id="link-address">${address}</code>${copyButton(address, t('copy'))}</div>`,
    run: revoke,
  });
}
