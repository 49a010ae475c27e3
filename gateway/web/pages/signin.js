// Sign in: a token for this tab, and the name that answers carry where the server does not know its callers.

import { html } from '../lit.js';
import { api, setToken, token } from '../api.js';
import { emit } from '../state/bus.js';
import { stale } from '../state/cache.js';
import { go, route } from '../router.js';
import { set, settings, t } from '../settings.js';
import { begin, redeem, take } from '../state/login.js';
import { command, errorBox } from '../parts/ui.js';

/** Throws the refusal of a token that names nobody. A person of any role is known. */
async function known() {
  const { roles } = await api.about();
  if (!roles?.length) await api.jobs({ limit: 1 });
}

export class SignInPage {
  constructor() {
    this.text = '';
    this.name = settings.name;
    this.busy = false;
    /** @type {any} */
    this.problem = undefined;
    /** @type {{authorize: string, host: string} | undefined} */
    this.offer = undefined;
    this.arrive();
  }
  /** Takes the answer of the issuer, or asks whether there is one. */
  async arrive() {
    const answer = take(route().query);
    try {
      if (answer) {
        const to = `/signin?to=${encodeURIComponent(answer.to)}`;
        // The code has no use in the history.
        go(to, { replace: true });
        if ('refused' in answer) throw { detail: answer.refused };
        this.busy = true;
        setToken(await redeem(answer));
        await known();
        this.back();
        return;
      }
    } catch (problem) {
      this.problem = problem;
    } finally {
      this.busy = false;
      emit();
    }
    this.offer = await api.login().catch(() => undefined);
    emit();
  }
  title() {
    return t('identity');
  }
  back() {
    // Another caller has other rights.
    stale('about');
    const to = route().query.get('to') ?? '/jobs';
    go(to.startsWith('/') && !to.startsWith('//') ? to : '/jobs', { replace: true });
  }
  async enter() {
    this.busy = true;
    this.problem = undefined;
    const before = token();
    emit();
    try {
      set('name', this.name.trim());
      if (this.text.trim()) setToken(this.text.trim());
      await known();
      this.back();
    } catch (problem) {
      setToken(before);
      this.problem = problem;
    } finally {
      this.busy = false;
      emit();
    }
  }
  view() {
    return html`<div class="signin"><form class="card stack wide-gap" @submit=${(/** @type {Event} */ e) => { e.preventDefault(); this.enter(); }}>
      <div class="brand"><svg class="logo" viewBox="0 0 16 16" aria-hidden="true"><rect x="1" y="1" width="14" height="14" rx="3.5"/><path d="M4.5 5.2h7M4.5 8h4.6M4.5 10.8h5.8" stroke-width="1.5" stroke-linecap="round"/></svg><span>Callboard</span></div>
      <h1>${t('sign_in')}</h1>
      ${this.offer ? html`<button type="button" class="primary" ?disabled=${this.busy} @click=${() => { this.busy = true; emit(); begin(/** @type {any} */ (this.offer), route().query.get('to') ?? '/jobs'); }}>${t('sign_in_at', { host: this.offer.host })}</button>` : ''}
      <p class="muted">${t('sign_in_text')}</p>
      <label class="field"><span>${t('token')}</span><input type="password" autocomplete="off" autofocus .value=${this.text} @input=${(/** @type {any} */ e) => { this.text = e.target.value; emit(); }}></label>
      <label class="field"><span>${t('your_name')}</span><input maxlength="64" autocomplete="username" .value=${this.name} @input=${(/** @type {any} */ e) => { this.name = e.target.value; emit(); }}><span class="about">${t('your_name_text')}</span></label>
      ${errorBox(this.problem)}
      <div class="line"><button class=${this.offer ? '' : 'primary'} ?disabled=${this.busy}>${t('sign_in')}</button><button type="button" @click=${() => this.back()}>${t('back')}</button>${token() ? html`<button type="button" class="end" @click=${() => { setToken(''); stale('about'); }}>${t('sign_out')}</button>` : ''}</div>
      <details><summary>${t('token_where')}</summary><p class="muted">${t('token_where_text')}</p>${command("printf %s \"$TOKEN\" | sha256sum")}</details>
    </form></div>`;
  }
}
