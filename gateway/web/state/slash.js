// The grammar of slash commands in a chat, which proto/src/slash.rs has for the command line. Pure; tests/slash.cases.js holds for both.

import { parse } from '../exact.js';

/** @typedef {{name: string, words?: string[], about: string, about_in?: Record<string, string>, argument?: string, whole?: boolean, split?: {argument: string, after: string[]}}} Command */
/** @typedef {{name: string, schema?: any, commands?: Command[]}} Tool */
/** @typedef {{tool: string, args: any}} Call */

/** The reason for which the text after a command cannot become arguments: a key of the words, with what it names. */
export class Unfit extends Error {
  /** @param {string} key @param {Record<string, any>} names @param {Command} [command] */
  constructor(key, names, command) {
    super(key);
    this.key = key;
    this.names = names;
    this.command = command;
  }
}

/** `true` for a line that cancels the current task. @param {string} line */
export function cancels(line) {
  const bare = line.trim().toLowerCase().replace(/[.!。！]+$/, '');
  return /^\/cancel(\s|$)/.test(bare) || ['cancel', 'cancel the current task', '取消当前任务'].includes(bare);
}

/** The name of a command and the text after it; nothing for a path or a code comment. @param {string} line @returns {{name: string, rest: string} | undefined} */
export function read(line) {
  const found = /^\/([^/\s]\S*)(?:\s+([^]*))?$/.exec(line.trim());
  return found ? { name: found[1], rest: (found[2] ?? '').trim() } : undefined;
}

/**
 * The call that a line means. A command with words of its own, such as `/todo list`, goes before one that takes any text.
 * @param {Tool[]} tools @param {string} name @param {string} rest @returns {Call}
 */
export function resolve(tools, name, rest) {
  const declared = tools.flatMap((tool) => (tool.commands ?? []).filter((command) => command.name === name).map((command) => ({ tool, command })));
  for (const { tool, command } of declared) {
    const after = afterWord(command, rest);
    if (after === undefined) continue;
    try {
      return { tool: tool.name, args: argumentsOf(command, after) };
    } catch (unfit) {
      // The words may be the text of a command that takes any.
      if (!(unfit instanceof Unfit)) throw unfit;
    }
  }
  const plain = declared.find(({ command }) => !command.words?.length);
  if (plain) return { tool: plain.tool.name, args: argumentsOf(plain.command, rest) };
  const tool = tools.find((tool) => tool.name === name);
  if (!tool) throw new Unfit('slash_unknown', { name });
  return { tool: name, args: ofTool(tool, rest) };
}

/** The text after one of the command's own words. @param {Command} command @param {string} rest */
function afterWord(command, rest) {
  const [word] = rest.split(/\s/, 1);
  return command.words?.includes(word.toLowerCase()) ? rest.slice(word.length).trim() : undefined;
}

/** @param {Command} command @param {string} rest */
function argumentsOf(command, rest) {
  const { name, argument, whole, split } = command;
  if (rest.startsWith('{') && !whole) return objectOf(name, rest);
  if (!argument) {
    if (rest) throw new Unfit('slash_object', { name }, command);
    return {};
  }
  if (whole) return { [argument]: `/${name} ${rest}`.trimEnd() };
  if (!rest) throw new Unfit('slash_words', { name }, command);
  if (!split) return { [argument]: rest };
  const parts = partsOf(split.after, rest);
  if (!parts) throw new Unfit('slash_parts', { name, argument: split.argument, word: split.after[0] ?? '' }, command);
  return { [argument]: parts[0], [split.argument]: parts[1] };
}

/** The text before and after the last of these words that has text on both sides. @param {string[]} after @param {string} text @returns {[string, string] | undefined} */
function partsOf(after, text) {
  const words = [...text.matchAll(/\S+/g)].reverse();
  for (const word of words) {
    if (!after.includes(word[0].toLowerCase())) continue;
    const [before, rest] = [text.slice(0, word.index).trim(), text.slice(word.index + word[0].length).trim()];
    if (before && rest) return [before, rest];
  }
  return undefined;
}

/** The arguments of a tool that declares no command. @param {Tool} tool @param {string} rest */
function ofTool(tool, rest) {
  if (rest.startsWith('{')) return objectOf(tool.name, rest);
  if (!rest) return {};
  const properties = Object.keys(tool.schema?.properties ?? {});
  const required = tool.schema?.required ?? [];
  const only = required.length === 1 ? required[0] : required.length === 0 && properties.length === 1 ? properties[0] : undefined;
  const schema = only === undefined ? undefined : tool.schema?.properties?.[only];
  if (!schema || (schema.type ?? 'string') !== 'string') throw new Unfit('slash_only_object', { name: tool.name, names: properties.join(', ') || '–' });
  return { [only]: rest };
}

/** @param {string} name @param {string} text */
function objectOf(name, text) {
  try {
    return parse(text);
  } catch (why) {
    throw new Unfit('slash_json', { name, why: /** @type {Error} */ (why).message });
  }
}
