// New text for screen readers: whole words, at most once a second. Pure.

/** Shortest time between two announcements, in milliseconds. */
const EVERY = 1000;

export class Announcer {
  constructor() {
    /** Lengths that were said, by work and attempt. @type {Map<string, number>} */
    this.told = new Map();
    this.at = -Infinity;
    this.text = '';
  }

  /** What to say now; the same until a second has passed. @param {import('./live.js').LiveText[]} live @param {number} now */
  say(live, now) {
    if (now - this.at < EVERY) return this.text;
    const keys = live.map((one) => `${one.work} ${one.attempt}`);
    for (const key of [...this.told.keys()]) if (!keys.includes(key)) this.told.delete(key);
    const fresh = live.flatMap((one, n) => {
      const from = this.told.get(keys[n]) ?? 0;
      // A word whose end has not arrived waits for it.
      const upTo = Math.max(...[...one.text.matchAll(/[\s\p{P}\p{Script=Han}]/gu)].map((match) => (match.index ?? 0) + match[0].length), 0);
      if (upTo <= from) return [];
      this.told.set(keys[n], upTo);
      return [one.text.slice(from, upTo).trim()];
    });
    const text = fresh.filter(Boolean).join(' ');
    if (!text) return this.text;
    this.at = now;
    this.text = text;
    return text;
  }
}
