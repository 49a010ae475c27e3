import cases from './slash.cases.js';
import { Unfit, cancels, read, resolve } from '../state/slash.js';
import { equal, ok, test } from './assert.js';

const { tools } = /** @type {any} */ (cases);
/** @param {string} line */
const tried = (line) => {
  const found = read(line);
  if (!found) return undefined;
  try {
    return resolve(tools, found.name, found.rest);
  } catch (unfit) {
    ok(unfit instanceof Unfit, String(unfit));
    return /** @type {Unfit} */ (unfit).key;
  }
};

test('a slash line is the call that the command line makes of it', () => {
  for (const { line, tool, args } of cases.calls) equal(tried(line), { tool, args });
  for (const line of cases.unfit) ok(['slash_words', 'slash_parts', 'slash_json'].includes(/** @type {any} */ (tried(line))), `${line}: ${JSON.stringify(tried(line))}`);
  for (const line of cases.texts) ok([undefined, 'slash_unknown'].includes(/** @type {any} */ (tried(line))), line);
});

test('a tool that declares no command takes an object, or the one text that it has', () => {
  const echo = { name: 'echo', schema: { properties: { value: { type: 'string' }, times: { type: 'number' } }, required: ['value'] } };
  const count = { name: 'count', schema: { properties: { to: { type: 'number' } } } };
  equal(resolve([echo], 'echo', 'hello  you'), { tool: 'echo', args: { value: 'hello  you' } });
  equal(JSON.stringify(resolve([count], 'count', '{"to": 12345678901234567890}').args), '{"to":12345678901234567890}');
  equal(resolve([count], 'count', ''), { tool: 'count', args: {} });
  for (const rest of ['7', 'seven'])
    try {
      resolve([count], 'count', rest);
      ok(false, rest);
    } catch (unfit) {
      equal([/** @type {any} */ (unfit).key, /** @type {any} */ (unfit).names], ['slash_only_object', { name: 'count', names: 'to' }]);
    }
});

test('a task is canceled in both languages', () => {
  for (const line of ['cancel', '/cancel', '/CANCEL it', 'Cancel the current task.', '取消当前任务。']) ok(cancels(line), line);
  for (const line of ['cancel my flight', '/cancelled', 'please cancel']) ok(!cancels(line), line);
});
