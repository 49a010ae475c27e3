// A form for the fields of a question, or for the properties of a JSON schema. Other schemas get a JSON editor.

import { html, nothing } from '../lit.js';
import { emit } from '../state/bus.js';
import { settings, t } from '../settings.js';
import { numberOf, parse } from '../exact.js';
import { growing } from './ui.js';

/** @typedef {{key: string, label: string, type: string, required?: boolean, description?: string, default?: any, options?: {value: any, label?: string}[], multiple?: boolean, multiline?: boolean, min?: number, max?: number, integer?: boolean, min_length?: number, max_length?: number}} Field */

/** Fields for a JSON schema, or nothing if a form cannot express it. @param {any} schema @param {any} [tool] @returns {Field[]} */
export function fieldsOf(schema, tool) {
  const words = tool?.translations?.[settings.language]?.arguments ?? {};
  const required = new Set(schema?.required ?? []);
  return Object.entries(schema?.properties ?? {}).map(([key, spec]) => {
    const s = /** @type {any} */ (spec);
    const types = [s.type ?? 'json'].flat();
    const type = s.enum ? 'select' : types.includes('string') && types.length === 1 ? 'text' : types.length === 1 && ['integer', 'number'].includes(types[0]) ? 'number' : types[0] === 'boolean' ? 'boolean' : types.includes('string') ? 'either' : 'json';
    return { key, label: key, type, required: required.has(key), description: words[key] ?? s.description, default: s.default, options: s.enum?.map((/** @type {any} */ value) => ({ value, label: String(value) })), min: s.minimum, max: s.maximum, integer: types[0] === 'integer', min_length: s.minLength, max_length: s.maxLength, multiline: (s.maxLength ?? 0) > 2000 && !/(^|_)(url|path|name|id)$/.test(key) };
  });
}

/** @param {Field[]} fields @returns {Record<string, any>} */
export const startValues = (fields) => Object.fromEntries(fields.filter((f) => f.default !== undefined).map((f) => [f.key, f.type === 'json' ? JSON.stringify(f.default) : f.default]));

/** The value of the form, or the mistakes by field. @param {Field[]} fields @param {Record<string, any>} values @returns {{value: any, mistakes: Record<string, string>}} */
export function read(fields, values) {
  /** @type {any} */
  const value = {};
  /** @type {Record<string, string>} */
  const mistakes = {};
  for (const field of fields) {
    const given = values[field.key];
    const none = given === undefined || given === '' || (Array.isArray(given) && !given.length);
    if (none) {
      if (field.required && field.type === 'boolean') value[field.key] = false;
      else if (field.required) mistakes[field.key] = t('must_fill');
      continue;
    }
    if (field.type === 'number') {
      const number = Number(given);
      if (!Number.isFinite(number) || (field.integer && !Number.isInteger(number))) mistakes[field.key] = t('must_number');
      else if ((field.min !== undefined && number < field.min) || (field.max !== undefined && number > field.max)) mistakes[field.key] = t('must_between', { min: field.min ?? '−∞', max: field.max ?? '∞' });
      else value[field.key] = numberOf(String(given).trim(), true);
    } else if (field.type === 'json') {
      try {
        value[field.key] = parse(given, true);
      } catch {
        mistakes[field.key] = t('must_json');
      }
    } else if (field.type === 'text') {
      const length = [...given].length;
      if (field.min_length !== undefined && length < field.min_length) mistakes[field.key] = t('must_longer', { n: field.min_length });
      else if (field.max_length !== undefined && length > field.max_length) mistakes[field.key] = t('must_shorter', { n: field.max_length });
      else value[field.key] = given;
    } else if (field.type === 'either') value[field.key] = /^-?\d+$/.test(given) ? numberOf(given) : given;
    else value[field.key] = given;
  }
  return { value, mistakes };
}

/** @param {string} name @param {Field[]} fields @param {Record<string, any>} values @param {Record<string, string>} mistakes @param {boolean} [off] */
export function schemaForm(name, fields, values, mistakes, off = false) {
  return fields.map((field) => {
    const id = `${name}-${field.key}`.replace(/[^\w-]/g, '_');
    const wrong = mistakes[field.key];
    const set = (/** @type {any} */ v) => {
      values[field.key] = v;
      delete mistakes[field.key];
      emit();
    };
    const common = { id, described: wrong ? `${id}-wrong` : field.description ? `${id}-about` : nothing };
    let control;
    if (field.type === 'boolean') {
      return html`<div class="field"><label class="check"><input type="checkbox" id=${id} ?disabled=${off} .checked=${!!values[field.key]} @change=${(/** @type {any} */ e) => set(e.target.checked)}><span>${field.label}</span></label>${field.description ? html`<p class="about">${field.description}</p>` : nothing}</div>`;
    } else if (field.type === 'select' && field.multiple) {
      const chosen = new Set(values[field.key] ?? []);
      control = html`<div class="options" role="group" aria-label=${field.label}>${field.options?.map((o) => html`<label class="check"><input type="checkbox" ?disabled=${off} .checked=${chosen.has(o.value)} @change=${(/** @type {any} */ e) => { e.target.checked ? chosen.add(o.value) : chosen.delete(o.value); set([...chosen]); }}><span>${o.label ?? o.value}</span></label>`)}</div>`;
    } else if (field.type === 'select') {
      control = html`<select id=${id} ?disabled=${off} aria-invalid=${wrong ? 'true' : 'false'} @change=${(/** @type {any} */ e) => set(field.options?.[e.target.selectedIndex - 1]?.value)}><option value="">${t('choose')}</option>${field.options?.map((o) => html`<option .selected=${o.value === values[field.key]}>${o.label ?? o.value}</option>`)}</select>`;
    } else if (field.type === 'json' || field.multiline) {
      control = html`<textarea id=${id} rows="3" ?disabled=${off} class=${field.type === 'json' ? 'mono' : ''} placeholder=${field.type === 'json' ? 'JSON' : ''} aria-invalid=${wrong ? 'true' : 'false'} aria-describedby=${common.described} .value=${values[field.key] ?? ''} ${growing} @input=${(/** @type {any} */ e) => set(e.target.value)}></textarea>`;
    } else {
      control = html`<input id=${id} ?disabled=${off} inputmode=${field.type === 'number' ? 'decimal' : 'text'} aria-invalid=${wrong ? 'true' : 'false'} aria-describedby=${common.described} .value=${String(values[field.key] ?? '')} placeholder=${field.type === 'number' && (field.min !== undefined || field.max !== undefined) ? `${field.min ?? ''} … ${(field.max ?? 0) > 1e12 ? '' : field.max ?? ''}` : ''} @input=${(/** @type {any} */ e) => set(e.target.value)}>`;
    }
    return html`<div class="field"><label for=${id}><span>${field.label}${field.required ? html`<i class="must" title=${t('must_fill')}> *</i>` : nothing}</span></label>${control}
      ${wrong ? html`<p class="wrong" id="${id}-wrong">${wrong}</p>` : nothing}${field.description ? html`<p class="about" id="${id}-about">${field.description}</p>` : nothing}</div>`;
  });
}
