// What a user chose on this machine: theme, language, folded rail.

import { emit } from './state/bus.js';

/** Words by language; each language loads when it is first chosen. @type {Record<string, Record<string, string>>} */
const WORDS = {};
const LOAD = /** @type {Record<string, () => Promise<{default: Record<string, string>}>>} */ ({ en: () => import('./words/en.js'), zh: () => import('./words/zh.js') });
/** @param {string} language */
const loadWords = async (language) => {
  WORDS[language] ??= (await LOAD[language]()).default;
};
/** @param {string} key @param {string} [otherwise] */
const read = (key, otherwise = '') => {
  try {
    return localStorage.getItem(`callboard.${key}`) ?? otherwise;
  } catch {
    return otherwise;
  }
};
/** @param {string} key @param {string} value */
const keep = (key, value) => {
  try {
    localStorage.setItem(`callboard.${key}`, value);
  } catch {
    // A browser without storage forgets the choice.
  }
};

export const settings = {
  theme: read('theme', 'system'),
  language: read('language', globalThis.navigator?.language?.startsWith('zh') ? 'zh' : 'en'),
  rail: read('rail', 'open'),
  name: read('name'),
  /** Filters of the list of jobs under names, as JSON. */
  views: read('views'),
};

if (!(settings.language in LOAD)) settings.language = 'en';
await loadWords(settings.language);

/** @param {'theme' | 'language' | 'rail' | 'name' | 'views'} key @param {string} value */
export async function set(key, value) {
  if (key === 'language') await loadWords(value);
  settings[key] = value;
  keep(key, value);
  apply();
  emit();
}

export function apply() {
  const root = document.documentElement;
  root.lang = settings.language === 'zh' ? 'zh-CN' : 'en';
  if (settings.theme === 'system') delete root.dataset.theme;
  else root.dataset.theme = settings.theme;
}

/**
 * A text in the user's language. With `n` the form `<key>_one` is taken for 1, if it exists.
 * @param {string} key @param {Record<string, any>} [args]
 * @returns {string}
 */
export function t(key, args) {
  const words = WORDS[settings.language];
  const text = (args?.n === 1 ? words[`${key}_one`] : undefined) ?? words[key] ?? key;
  return args ? text.replace(/\{(\w+)\}/g, (whole, name) => (args[name] === undefined ? whole : String(args[name]))) : text;
}

