// What a user chose on this machine: theme, language, folded rail.

import { emit } from './state/bus.js';

/** Words by language; those of a language load when it is first chosen. @type {Record<string, Record<string, string>>} */
const WORDS = { en: {}, zh: {} };
/** @typedef {() => Promise<{default: Record<string, string>}>} Load */
/** What each language has yet to load. @type {Record<string, Load[]>} */
const LOAD = { en: [() => import('./words/en.js')], zh: [() => import('./words/zh.js')] };
/** @param {string} language */
const loadWords = async (language) => {
  // A module that did not arrive is asked for again.
  for (let load; (load = LOAD[language][0]); ) {
    Object.assign(WORDS[language], (await load()).default);
    if (LOAD[language][0] === load) LOAD[language].shift();
  }
};
/** Pages whose words were added. @type {Set<Record<'en' | 'zh', Load>>} */
const ADDED = new Set();
/** Adds the words of a page, which load with it. @param {Record<'en' | 'zh', Load>} words */
export async function addWords(words) {
  if (!ADDED.has(words)) {
    ADDED.add(words);
    LOAD.en.push(words.en);
    LOAD.zh.push(words.zh);
  }
  await loadWords(settings.language);
}
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

