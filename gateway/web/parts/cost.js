// The cost of jobs in words. A part without a known price never shows as zero.

import { html } from '../lit.js';
import { t } from '../settings.js';
import { money, number, short } from '../format.js';

/** @typedef {{usage?: {input_tokens: number, cached_tokens?: number, output_tokens: number}, money?: number, unpriced?: {input_tokens: number, output_tokens: number}}} Spent */

/** @param {{input_tokens: number, output_tokens: number} | undefined} usage */
export const tokens = (usage) => (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);

/** The cost as a short text: `$0.12`, `$0.12 + ?`, `?` where no price is known, `$0` where nothing was spent. @param {Spent} spent */
export function costText(spent) {
  const lacks = tokens(spent.unpriced) > 0;
  if (spent.money === undefined) return lacks ? '?' : '$0';
  return lacks ? `${money(spent.money)} + ?` : money(spent.money);
}

/** The same, with the missing part as a sentence. @param {Spent} spent */
export function cost(spent) {
  const lacks = tokens(spent.unpriced);
  if (!lacks) return costText(spent);
  const why = t('costs_unpriced', { n: lacks === 1 ? 1 : number(lacks) });
  return html`<span title=${why}>${costText(spent)}<span class="sr"> ${why}</span></span>`;
}

/** The tokens, with their parts on hover. @param {Spent} spent */
export function tokenCount({ usage }) {
  const { input_tokens = 0, cached_tokens = 0, output_tokens = 0 } = usage ?? {};
  return html`<span title=${t('costs_tokens', { in: number(input_tokens), cached: number(cached_tokens), out: number(output_tokens) })}>${short(input_tokens + output_tokens)}</span>`;
}

/** The cost of a job in a list: money where a price is known, else tokens. @param {Spent | undefined} spent */
export function rowCost(spent) {
  const count = tokens(spent?.usage);
  if (!spent || (!count && spent.money === undefined)) return html`<span class="muted">–</span>`;
  if (spent.money !== undefined) return cost(spent);
  return html`<span class="muted" title=${t('costs_unpriced', { n: count === 1 ? 1 : number(count) })}>${t('costs_short', { n: short(count) })}</span>`;
}
