// Times, durations, numbers, sizes, and characters that are invisible. Pure.

import { settings, t } from './settings.js';

const UNITS = /** @type {[string, number][]} */ ([['d', 86_400_000], ['h', 3_600_000], ['m', 60_000], ['s', 1000]]);

/** A duration with at most two units. @param {number} ms */
export function duration(ms) {
  if (!Number.isFinite(ms) || ms < 0) return '–';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  let left = Math.round(ms / 1000) * 1000;
  const out = [];
  for (const [name, size] of UNITS) {
    const count = Math.floor(left / size);
    if (count || (out.length && out.length < 2)) {
      if (count) out.push(`${count} ${t(`unit_${name}`)}`);
      left -= count * size;
      if (out.length === 2 || (out.length && !count)) break;
    }
  }
  return out.join(' ');
}

/** A short relative age, such as `4 m`. @param {string | number} time @param {number} [now] */
export function ago(time, now = Date.now()) {
  const ms = now - +new Date(time);
  if (!Number.isFinite(ms)) return '–';
  if (ms < 5000) return t('now');
  for (const [name, size] of UNITS) if (ms >= size) return t('ago', { time: `${Math.floor(ms / size)} ${t(`unit_${name}`)}` });
  return t('now');
}

/**
 * A format for each language. A browser takes longer to create one than to use it a hundred times.
 * @template T
 * @param {(locale: string) => T} create @returns {() => T}
 */
function perLanguage(create) {
  /** @type {Map<string, T>} */
  const made = new Map();
  return () => {
    const locale = settings.language === 'zh' ? 'zh-CN' : 'en-GB';
    const format = made.get(locale) ?? create(locale);
    made.set(locale, format);
    return format;
  };
}
const CLOCK = perLanguage((locale) => new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false }));
const EXACT = perLanguage((locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium', hour12: false }));
const NUMBER = perLanguage((locale) => new Intl.NumberFormat(locale));

/** @param {string | number} time @param {() => Intl.DateTimeFormat} format */
const written = (time, format) => {
  const date = new Date(time);
  return Number.isNaN(+date) ? String(time) : format().format(date);
};
/** @param {string | number} time */
export const clock = (time) => written(time, CLOCK);
/** @param {string | number} time */
export const exact = (time) => written(time, EXACT);
/** @param {number} value */
export const number = (value) => NUMBER().format(value);
/** @param {number} count */
export const short = (count) => (count < 1000 ? String(count) : count < 1_000_000 ? `${+(count / 1000).toPrecision(3)} k` : `${+(count / 1_000_000).toPrecision(3)} M`);
/** @param {number} value */
export const money = (value) => `$${value < 1 ? value.toFixed(4) : value.toFixed(2)}`;
/** An amount of a budget's axis in its unit. @param {string} axis @param {number} value */
export const amount = (axis, value) => (axis === 'time' ? duration(value) : axis === 'money' ? money(value) : axis.startsWith('tokens') ? short(value) : number(value));
/** @param {number} bytes */
export const size = (bytes) => (bytes < 1024 ? t('bytes', { n: bytes }) : bytes < 1_048_576 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`);
/** @param {string} text */
export const byteLength = (text) => new TextEncoder().encode(text).length;

// Controls, bidirectional controls, zero-width and other default-ignorable characters.
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/** Cuts a text at its invisible characters; those come as `\u{…}`. @param {string} text @returns {{text: string, hidden: boolean}[]} */
export function visible(text) {
  const out = [];
  let from = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    const at = match.index ?? 0;
    if (at > from) out.push({ text: text.slice(from, at), hidden: false });
    out.push({ text: `\\u{${(match[0].codePointAt(0) ?? 0).toString(16)}}`, hidden: true });
    from = at + match[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), hidden: false });
  return out;
}

/** @param {any} value @param {number} [limit] */
export function json(value, limit = 200_000) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2) ?? '';
  return text.length > limit ? `${text.slice(0, limit)}\n… ${size(byteLength(text))}` : text;
}

/** Quotes a word for a POSIX shell. @param {string} word */
export const shell = (word) => (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** Milliseconds of a time stamp; time stamps have nanoseconds, and only three digits count. @param {string} [time] */
export const ms = (time) => (time ? Date.parse(time.replace(/(\.\d{3})\d+/, '$1')) : NaN);
