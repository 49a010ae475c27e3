// The figures of a bar chart of days. Pure; tests cover it.

const DAY = 86_400_000;

/**
 * Every day of a window, days without jobs included; at most `most` of them, the latest.
 * @param {{day: string, jobs: number, money?: number, usage?: any}[]} days @param {number} from @param {number} to milliseconds @param {number} [most]
 */
export function everyDay(days, from, to, most = 366) {
  const known = new Map(days.map((one) => [one.day, one]));
  const first = Math.max(Math.floor(from / DAY), Math.floor(to / DAY) - most + 1);
  const out = [];
  for (let at = first; at <= Math.floor(to / DAY); at++) {
    const day = new Date(at * DAY).toISOString().slice(0, 10);
    const { jobs = 0, money = 0, usage = {} } = known.get(day) ?? {};
    out.push({ day, jobs, money, input: usage.input_tokens ?? 0, output: usage.output_tokens ?? 0 });
  }
  return out;
}

/** The least of 1, 2 and 5 times a power of ten that is not below the value. @param {number} value */
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (/** @type {number} */ ([1, 2, 5, 10].find((step) => step * power >= value * (1 - 1e-9))) ?? 10);
}

/**
 * The bars of values in a box; each value has the same share of its width. A value above 0 is always visible.
 * @param {number[]} values @param {{width: number, height: number, gap: number}} box @param {number} top the value that has the whole height
 */
export function bars(values, box, top) {
  const share = box.width / Math.max(1, values.length);
  const width = share * (1 - box.gap);
  return values.map((value, n) => {
    const height = value > 0 ? Math.max(1, (Math.min(value, top) / top) * box.height) : 0;
    return { x: n * share + (share - width) / 2, y: box.height - height, width, height };
  });
}
