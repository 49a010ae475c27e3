// JSON as it was sent: finds a value in a document without parsing its numbers, and indents it. Pure.
// JSON.parse rounds numbers beyond 2^53; an approval must show the digits that will be used.

/** @param {string} s @param {number} i */
function space(s, i) {
  while (i < s.length && ' \n\r\t'.includes(s[i])) i++;
  return i;
}

/** The end of the string that begins at `i`. @param {string} s @param {number} i */
function endOfString(s, i) {
  for (i++; i < s.length && s[i] !== '"'; i++) if (s[i] === '\\') i++;
  return i + 1;
}

/** The end of the value that begins at `i`. @param {string} s @param {number} i */
function endOfValue(s, i) {
  if (s[i] === '"') return endOfString(s, i);
  if (s[i] !== '{' && s[i] !== '[') {
    while (i < s.length && !',]} \n\r\t'.includes(s[i])) i++;
    return i;
  }
  for (let depth = 0; i < s.length; ) {
    if (s[i] === '"') {
      i = endOfString(s, i);
      continue;
    }
    if (s[i] === '{' || s[i] === '[') depth++;
    if (s[i] === '}' || s[i] === ']') depth--;
    i++;
    if (!depth) break;
  }
  return i;
}

/**
 * The text of the value at a path, or `undefined`.
 * @param {string} s @param {(string | number)[]} path
 * @returns {string | undefined}
 */
export function rawAt(s, path) {
  let i = space(s, 0);
  for (const step of path) {
    const open = s[i];
    if (open !== '{' && open !== '[') return undefined;
    let found = -1;
    i = space(s, i + 1);
    for (let index = 0; i < s.length && s[i] !== '}' && s[i] !== ']'; index++) {
      /** @type {string | number} */
      let key = index;
      if (open === '{') {
        const end = endOfString(s, i);
        key = JSON.parse(s.slice(i, end));
        i = space(s, space(s, end) + 1);
      }
      if (key === step) {
        found = i;
        break;
      }
      i = space(s, endOfValue(s, i));
      if (s[i] === ',') i = space(s, i + 1);
    }
    if (found < 0) return undefined;
  }
  return s.slice(i, endOfValue(s, i));
}

/** The texts of the elements of the array at a path; none if there is no array. @param {string} s @param {(string | number)[]} path @returns {string[]} */
export function elements(s, path) {
  const array = rawAt(s, path) ?? '';
  const out = [];
  if (array[0] === '[')
    for (let i = space(array, 1); i < array.length && array[i] !== ']'; ) {
      const end = endOfValue(array, i);
      out.push(array.slice(i, end));
      i = space(array, end);
      if (array[i] === ',') i = space(array, i + 1);
    }
  return out;
}

/** Removes white space between tokens. @param {string} s */
export function compact(s) {
  let out = '';
  for (let i = 0; i < s.length; ) {
    if (s[i] === '"') {
      const end = endOfString(s, i);
      out += s.slice(i, end);
      i = end;
    } else {
      if (!' \n\r\t'.includes(s[i])) out += s[i];
      i++;
    }
  }
  return out;
}

/** Indents a value by two spaces a level; every token stays as it is. @param {string} source */
export function indent(source) {
  const s = compact(source);
  let out = '';
  let depth = 0;
  const line = () => `\n${'  '.repeat(Math.min(depth, 64))}`;
  for (let i = 0; i < s.length; ) {
    const c = s[i];
    if (c === '"') {
      const end = endOfString(s, i);
      out += s.slice(i, end);
      i = end;
      continue;
    }
    if (c === '{' || c === '[') {
      const close = c === '{' ? '}' : ']';
      if (s[i + 1] === close) {
        out += c + close;
        i += 2;
        continue;
      }
      depth++;
      out += c + line();
    } else if (c === '}' || c === ']') {
      depth--;
      out += line() + c;
    } else if (c === ',') out += c + line();
    else if (c === ':') out += ': ';
    else out += c;
    i++;
  }
  return out;
}
