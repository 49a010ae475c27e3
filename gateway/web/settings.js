// What a user chose on this machine: theme, language, folded rail.

import { emit } from './state/bus.js';
import en from './words/en.js';
import zh from './words/zh.js';

const WORDS = { en, zh };
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
};

/** @param {'theme' | 'language' | 'rail' | 'name'} key @param {string} value */
export function set(key, value) {
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
  const words = /** @type {Record<string, string>} */ (WORDS[settings.language === 'zh' ? 'zh' : 'en']);
  const text = (args?.n === 1 ? words[`${key}_one`] : undefined) ?? words[key] ?? key;
  return args ? text.replace(/\{(\w+)\}/g, (whole, name) => (args[name] === undefined ? whole : String(args[name]))) : text;
}

/** Whether a text with this key exists. @param {string} key */
export const has = (key) => key in en;
