// The steps of a plan as a numbered list: what each does, with which tool and arguments, after which others.

import { html, nothing } from '../lit.js';
import { t } from '../settings.js';
import { plain } from './ui.js';

/** @param {any[]} steps */
export function planList(steps) {
  const number = new Map(steps.map((step, i) => [step.id, i + 1]));
  return html`<ol class="plan-list">${steps.map((step, i) => {
    const after = (step.depends_on ?? []).map((/** @type {string} */ id) => number.get(id) ?? id).sort((/** @type {any} */ a, /** @type {any} */ b) => a - b);
    const binding = step.binding ?? {};
    const args = step.args && Object.keys(step.args).length ? JSON.stringify(step.args) : '';
    return html`<li><span class="plan-number num">${i + 1}</span><div class="grow">
      <p class="plan-step">${plain(step.title || step.description)}${after.length ? html`<span class="muted"> · ${t('after', { steps: after.join(', ') })}</span>` : nothing}</p>
      ${step.title && step.description && step.title !== step.description ? html`<p class="muted">${plain(step.description)}</p>` : nothing}
      ${step.tool ? html`<p class="plan-call"><code class="tool-name">${plain(step.tool)}</code>${args ? html`<code class="plan-args">${plain(args.length > 400 ? `${args.slice(0, 400)} …` : args)}</code>` : nothing}${binding.effect === 'once' ? html`<span class="chip warn">${t('effect_once_short')}</span>` : nothing}${binding.approval === 'always' ? html`<span class="chip">${t('asks_before')}</span>` : nothing}</p>` : nothing}
    </div></li>`;
  })}</ol>`;
}
