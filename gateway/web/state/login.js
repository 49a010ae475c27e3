// Sign-in at the issuer of tokens: authorization code with PKCE (RFC 7636). What binds the answer to this tab
// stays in its sessionStorage until then.

import { api } from '../api.js';

const PENDING = 'callboard.login';

/** @param {Uint8Array} bytes */
const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** @param {string} verifier */
export const challenge = async (verifier) => base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));

/** The redirect address, as the issuer knows it. */
const redirect = () => `${location.origin}/signin`;

/** Leaves for the issuer's page. @param {{authorize: string}} offer @param {string} to page of the console to return to */
export async function begin(offer, to) {
  const pending = { verifier: random(), state: random(), to };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const page = new URL(offer.authorize);
  page.searchParams.set('redirect_uri', redirect());
  page.searchParams.set('state', pending.state);
  page.searchParams.set('code_challenge', await challenge(pending.verifier));
  location.assign(page);
}

/**
 * Reads the issuer's answer in the address of the sign-in page. An answer that this tab did not ask for counts as
 * none: somebody else may have made the link.
 * @param {URLSearchParams} query @param {string | null} stored
 * @returns {{code: string, verifier: string, to: string} | {refused: string, to: string} | undefined}
 */
export function answered(query, stored) {
  const pending = stored ? JSON.parse(stored) : undefined;
  if (!pending || !query.get('state') || query.get('state') !== pending.state) return undefined;
  const code = query.get('code');
  if (code) return { code, verifier: pending.verifier, to: pending.to };
  return { refused: query.get('error_description') ?? query.get('error') ?? '', to: pending.to };
}

/** Takes the answer once. @param {URLSearchParams} query */
export function take(query) {
  const answer = answered(query, sessionStorage.getItem(PENDING));
  if (answer) sessionStorage.removeItem(PENDING);
  return answer;
}

/** @param {{code: string, verifier: string}} answer @returns {Promise<string>} the token */
export const redeem = async ({ code, verifier }) => (await api.redeem({ code, verifier, redirect: redirect() })).token;
