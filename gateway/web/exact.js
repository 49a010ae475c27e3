// JSON without loss: a number that a double cannot hold keeps its digits, and is written with them again. Pure.

/** The text of a number in JSON. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** A document that may have such a number: a value with 16 digits and points, or with an exponent. */
const SUSPECT = /(?:"\s*:|[,[]|^)\s*-?(?:\d[\d.]{15}|\d+(?:\.\d+)?[eE])/;

/** A number with its digits. It counts as its nearest double. */
export class Exact {
  /** @param {string} digits */
  constructor(digits) {
    this.digits = digits;
    Object.freeze(this);
  }
  toString() {
    return this.digits;
  }
  valueOf() {
    return Number(this.digits);
  }
  toJSON() {
    const { rawJSON } = /** @type {any} */ (JSON);
    return rawJSON ? rawJSON(this.digits) : Number(this.digits);
  }
}

/** Sign, digits without zeros at their ends, and power of ten: equal for texts of the same value. @param {string} text */
function value(text) {
  const [, sign, whole, part = '', power = '0'] = /** @type {RegExpExecArray} */ (/^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text));
  const digits = (whole + part).replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  return short && `${sign}${short}e${BigInt(power) - BigInt(part.length) + BigInt(digits.length - short.length)}`;
}

/** A number, as a double if that has the same value. @param {string} text @param {boolean} [spelled] also keeps another spelling, such as `1.0` */
export function numberOf(text, spelled = false) {
  const near = Number(text);
  if (String(near) === text) return near;
  if (!NUMBER.test(text)) return near;
  if (!spelled && Number.isFinite(near) && value(text) === value(String(near))) return near;
  return new Exact(text);
}

/**
 * Reads JSON. A browser that does not tell the text of numbers rounds them.
 * @param {string} text @param {boolean} [spelled] keeps the spelling of every number, for texts that go back as they are
 */
export function parse(text, spelled = false) {
  if (!spelled && !SUSPECT.test(text)) return JSON.parse(text);
  return JSON.parse(text, /** @type {any} */ ((/** @type {string} */ _key, /** @type {unknown} */ found, /** @type {{source?: string} | undefined} */ context) => (typeof found === 'number' && context?.source !== undefined ? numberOf(context.source, spelled) : found)));
}
