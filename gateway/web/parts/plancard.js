// The steps of a plan as a numbered list: what each does, with which tool and arguments, after which others.

import { html, nothing, ref, render } from '../lit.js';
import { settings, t } from '../settings.js';
import { plain } from './ui.js';

/** What each list shows. @type {WeakMap<Element, {steps: any[], language: string}>} */
const drawn = new WeakMap();

/** A plan may have 500 steps, and the page is drawn often, so the list is drawn once. @param {any[]} steps */
export function planList(steps) {
  const { language } = settings;
  return html`<ol class="plan-list" ${ref((/** @type {any} */ element) => {
    if (!(element instanceof HTMLElement)) return;
    const last = drawn.get(element);
    if (last?.steps === steps && last.language === language) return;
    drawn.set(element, { steps, language });
    render(rows(steps), element);
  })}></ol>`;
}

/** @param {any[]} steps */
function rows(steps) {
  const number = new Map(steps.map((step, i) => [step.id, i + 1]));
  return steps.map((step, i) => {
    const after = (step.depends_on ?? []).map((/** @type {string} */ id) => number.get(id) ?? id).sort((/** @type {any} */ a, /** @type {any} */ b) => a - b);
    const binding = step.binding ?? {};
    const args = step.args && Object.keys(step.args).length ? JSON.stringify(step.args) : '';
    return html`<li><span class="plan-number num">${i + 1}</span><div class="grow">
      <p class="plan-step">${plain(step.title || step.description)}${after.length ? html`<span class="muted"> · ${t('after', { steps: after.join(', ') })}</span>` : nothing}</p>
      ${step.title && step.description && step.title !== step.description ? html`<p class="muted">${plain(step.description)}</p>` : nothing}
      ${step.tool ? html`<p class="plan-call"><code class="tool-name">${plain(step.tool)}</code>${args ? html`<code class="plan-args">${plain(args.length > 400 ? `${args.slice(0, 400)} …` : args)}</code>` : nothing}${binding.effect === 'once' ? html`<span class="chip warn">${t('effect_once_short')}</span>` : nothing}${binding.approval === 'always' ? html`<span class="chip">${t('asks_before')}</span>` : nothing}</p>` : nothing}
    </div></li>`;
  });
}
