import { CodeEditor, isAboutText, mistakesOf, offsetOf } from '../parts/codeeditor.js';
import { commands } from '../parts/copyas.js';
import { FlowEditor, lineOf, nameOf } from '../parts/floweditor.js';
import { flowGraph } from '../parts/flowgraph.js';
import { api } from '../api.js';
import { keepsEdit, unless } from '../pages/job.js';
import { bodyOf, GraphEdit, requestOf } from '../pages/job/editgraph.js';
import { formOf } from '../pages/job/flow.js';
import { storedOf } from '../pages/workflows.js';
import { actionsOf } from '../parts/actions.js';
import { render } from '../lit.js';
import { equal, ok, test } from './assert.js';

const TEXT = `workflow: greet
state:
  hello: {schema: {type: string}}
start: hello
nodes:
  hello:
    type: set
    write:
      hello: hi
    next: other
  other: {type: end}
`;

test('a mistake is found at its line and column, with or without a place', () => {
  equal(mistakesOf('greet.yaml:3:12: nodes.a: unknown\nworkflow:4:1: start: missing\nbucket:careful:2:9: max_turns\nno agent is called x'), [
    { line: 3, column: 12, text: '3:12: nodes.a: unknown' },
    { line: 4, column: 1, text: '4:1: start: missing' },
    { line: 2, column: 9, text: '2:9: max_turns' },
    { line: 0, column: 0, text: 'no agent is called x' },
  ]);
});

test('a column counts characters, also those outside of the basic plane', () => {
  equal([offsetOf('ab\ncd', 2, 2), offsetOf('ab\n🙂cd', 2, 2), offsetOf('ab', 9, 9), offsetOf('ab', 1, 1)], [4, 5, 2, 0]);
});

test('a node is found in both spellings, and not a key of its name elsewhere', () => {
  equal([lineOf(TEXT, 'hello'), lineOf(TEXT, 'other'), lineOf(TEXT, 'hell'), lineOf('', 'x')], [6, 11, 0, 0]);
  const listed = 'name: e\nnodes:\n  - id: one\n    type: set\n  - {id: two, type: end}\nedges: []\n';
  equal([lineOf(listed, 'one'), lineOf(listed, 'two')], [3, 5]);
});

const JSON_TEXT = JSON.stringify({ about: 'x', nodes: { hello: { next: 'state', type: 'set', write: { other: 1 } }, other: { type: 'workflow', workflow: 'sub' }, state: { type: 'end' } }, start: 'hello', state: { hello: { schema: {} } }, workflow: 'greet' }, null, 2);

test('a node and the name are found in JSON of many lines', () => {
  const lines = JSON_TEXT.split('\n');
  const at = (/** @type {string} */ text, /** @type {string} */ id) => text.split('\n')[lineOf(text, id) - 1]?.trim();
  equal(['hello', 'other', 'state', 'none'].map((id) => at(JSON_TEXT, id)), ['"hello": {', '"other": {', '"state": {', undefined]);
  equal(lineOf(JSON_TEXT, 'hello'), lines.findIndex((line) => line.includes('"hello": {')) + 1);
  // A key of the state has the depth of a node.
  equal(lineOf(JSON_TEXT.replace('"hello": {\n      "next"', '"hi": {\n      "next"'), 'hello'), 0);
  const listed = JSON.stringify({ name: 'e-1', nodes: [{ id: 'one', type: 'set' }, { type: 'end', id: 'two' }], edges: [] }, null, 2);
  equal([at(listed, 'one'), at(listed, 'two')], ['"id": "one",', '"id": "two"']);
  equal([nameOf(JSON_TEXT), nameOf(listed), nameOf(JSON.stringify({ nodes: { a: { workflow: 'sub' } } }, null, 2))], ['greet', 'e-1', '']);
});

test('the name of a workflow is that of its text', () => {
  equal([nameOf(TEXT), nameOf('about: x\nname: "e-1" # edges\n'), nameOf('nodes: {}'), nameOf('  workflow: nested')], ['greet', 'e-1', '', '']);
});

await test('an answer about an earlier text is dropped', async () => {
  /** @type {((reply: any) => void)[]} */
  const replies = [];
  const code = new CodeEditor({ id: 'c', text: 'first', checked: 'ok', check: () => new Promise((resolve) => replies.push(resolve)) });
  const first = code.check();
  code.write('second');
  clearTimeout(code.timer);
  replies[0]({ warnings: ['of the first'] });
  await first;
  equal([code.mistakes, code.warnings], [undefined, []]);
  const second = code.check();
  replies[1]({ warnings: ['w'] });
  await second;
  equal([code.mistakes, code.warnings], [[], ['w']]);
});

test('only a refusal of the text itself tells its mistakes', () => {
  equal(['invalid_request', 'too_large', 'limited', 'unavailable', 'forbidden', 'unreachable'].filter((code) => isAboutText({ code })), ['invalid_request', 'too_large']);
});

/** An element of a drawn part. @param {unknown} part @param {string} selector */
function drawn(part, selector) {
  const at = document.createElement('div');
  render(part, at);
  return /** @type {HTMLElement | null} */ (at.querySelector(selector));
}

await test('a check that the server did not make is shown, and made again on request', async () => {
  /** @type {any} */
  let problem = { code: 'limited', message: 'Too many requests.' };
  const code = new CodeEditor({ id: 'c', text: 'one', checked: 'accepted', check: async () => { if (problem) throw problem; return {}; } });
  await code.check();
  equal([code.mistakes, code.problem?.code, drawn(code.verdict(), '[role=status]')?.getAttribute('aria-busy')], [undefined, 'limited', 'false']);
  // The refusal of the check says nothing about the text that was accepted before.
  equal(drawn(code.verdict(), '.checked'), null);
  problem = undefined;
  drawn(code.verdict(), '.error-box button')?.click();
  await new Promise((resolve) => setTimeout(resolve));
  equal([code.mistakes, code.problem], [[], undefined]);
  problem = { code: 'unavailable', message: 'No front door.' };
  code.write('two');
  code.close();
  await code.check();
  equal([code.shown, code.problem?.code], [undefined, 'unavailable']);
  problem = { code: 'invalid_request', message: 'x:1:1: wrong' };
  await code.check();
  equal([code.shown?.mistakes.length, code.problem], [1, undefined]);
});

await test('a text that the caller may not check is neither refused nor called accepted', async () => {
  const code = new CodeEditor({ id: 'c', text: 'one', checked: 'accepted', mayCheck: () => false, check: async () => { throw new Error('asked'); } });
  await code.check();
  equal([code.mistakes, code.problem, drawn(code.verdict(), '.checked')], [[], undefined, null]);
  equal([drawn(code.area(true), 'textarea')?.hasAttribute('readonly'), drawn(code.area(), 'textarea')?.hasAttribute('readonly')], [true, false]);
});

const shape = (/** @type {string[]} */ ids) => ({ start: ids[0], nodes: ids.map((id) => ({ id, label: `The ${id}`, type: 'set' })), edges: ids.slice(1).map((id, n) => ({ from: ids[n], to: id, kind: 'next' })) });

await test('the graph is that of the last text without mistakes', async () => {
  /** @type {any} */
  let answer = { graph: shape(['a', 'b']) };
  const editor = new FlowEditor({ text: 'one', shape: shape(['a']), check: async () => { if (answer.code) throw answer; return answer; } });
  await editor.code.check();
  equal([editor.shape?.nodes.length, editor.isRight], [2, true]);
  answer = { code: 'invalid_request', message: 'x:1:1: wrong' };
  editor.code.write('broken');
  editor.close();
  await editor.code.check();
  equal([editor.shape?.nodes.length, editor.isRight, editor.code.shown?.mistakes[0].line], [2, false, 1]);
  // While the next text is checked, what was said about this one stays.
  editor.code.write('mended');
  editor.close();
  equal([editor.isRight, editor.code.shown?.mistakes.length], [false, 1]);
});

await test('a front door that tells no graph leaves the one that is known', async () => {
  const editor = new FlowEditor({ text: 'one', shape: shape(['a']), check: async () => ({ warnings: [] }) });
  await editor.code.check();
  equal([editor.shape?.nodes.length, editor.isRight], [1, true]);
});

test('the form of a graph is kept as long as its definition is the same', () => {
  const reply = (/** @type {string} */ digest) => ({ digest, definition: { start: 'a' }, nodes: [], edges: [], visits: [] });
  const first = formOf(undefined, reply('d'));
  equal([formOf(first, reply('d')) === first, formOf(first, reply('e')) === first, first.start], [true, false, 'a']);
});

await test('a read that fails leaves the editor and its text, and the next one clears the problem', async () => {
  const stored = { ...api };
  const graph = { revision: 3, digest: 'd', definition: { workflow: 'greet', start: 'hello' }, nodes: [], edges: [], files: { source: 'workflow: greet\n' } };
  /** @type {any} */
  let problem;
  api.graphFiles = async () => { if (problem) throw problem; return graph; };
  api.checkWorkflow = async () => ({});
  try {
    const edit = new GraphEdit('j1', { closed: () => {}, done: () => {} });
    await edit.read();
    equal([edit.before?.base, edit.isChanged], [3, false]);
    edit.editor?.code.write('mine');
    edit.close();
    problem = { code: 'unavailable', message: 'No front door.' };
    await edit.read();
    equal([edit.problem?.code, edit.isChanged, edit.editor?.code.text], ['unavailable', true, 'mine']);
    edit.editor?.close();
    const at = document.createElement('div');
    render(edit.view(false), at);
    ok(at.querySelector('.error-box[role=alert] button') && at.querySelector('.code-edit'), 'the error and the text');
    problem = undefined;
    await edit.read();
    equal([edit.problem, edit.editor?.code.text], [undefined, 'mine']);
  } finally {
    Object.assign(api, stored);
  }
});

test('keys that leave the present are off while the graph is edited, and an address that does is known', () => {
  let isOff = true;
  let pressed = 0;
  const keys = unless({ '[': () => pressed++ }, () => isOff);
  keys['[']();
  isOff = false;
  keys['[']();
  equal(pressed, 1);
  equal(['/jobs/j1?edit=graph', '/jobs/j1?edit=graph&tab=log', '/jobs/j1?edit=graph&at=3', '/jobs/j1', '/jobs/j2?edit=graph', '/jobs'].map((to) => keepsEdit(to, 'j1')), [true, true, false, false, false, false]);
});

await test('nothing is stored of a workflow that was deleted meanwhile, and other problems are told', async () => {
  equal(await storedOf(async () => ({ workflows: [{ text: 'x', revision: 4 }] })), { before: 'x', revision: 4 });
  equal(await storedOf(async () => ({ workflows: [{ text: 'built-in' }] })), { before: 'built-in', revision: 0 });
  equal(await storedOf(async () => { throw { code: 'not_found' }; }), { before: '', revision: 0 });
  equal(await storedOf(async () => { throw { code: 'unavailable' }; }).catch((problem) => problem.code), 'unavailable');
});

test('the removal of a workflow counts for one revision on every way', () => {
  const removal = { cli: ['workflow', 'drop', 'greet', '--expect', '3'], verb: 'drop_workflow', nats: { name: 'greet', expected_revision: 3 }, method: 'DELETE', path: 'workflows/greet', body: undefined, revision: 3 };
  equal(commands(removal, 'http://host', false, 'cb').curl, `curl -X DELETE http://host/v1/workflows/greet -H 'Content-Type: application/json' -H 'If-Match: "3"'`);
});

test('the graph of a definition has no states', () => {
  const at = document.createElement('div');
  /** @type {string[]} */
  const chosen = [];
  render(flowGraph(shape(['a', 'b']), { chosen: 'b', choose: (id) => chosen.push(id) }), at);
  const nodes = [...at.querySelectorAll('.node')];
  equal(nodes.map((node) => [node.querySelector('.node-title')?.textContent, node.getAttribute('aria-pressed'), node.querySelector('.mark') === null]), [['The a', 'false', true], ['The b', 'true', true]]);
  /** @type {HTMLElement} */ (nodes[0]).click();
  equal(chosen, ['a']);
});

test('a change of a graph is the same request for every client', () => {
  const change = { base: 2, source: 'workflow: notes\n', workflows: {} };
  equal(bodyOf(change, '', ''), { signal: { migrate: { base: 2, source: 'workflow: notes\n' } } });
  equal(bodyOf({ ...change, base: 0, workflows: { sub: 'x' } }, 'why', 'ann'), { signal: { migrate: { source: 'workflow: notes\n', workflows: { sub: 'x' } } }, reason: 'why', by: 'ann' });
  const ways = commands(requestOf('j1', change, '-x', ''), 'http://host', false, 'cb');
  equal(ways.cli, 'callboard workflow migrate j1 notes.yaml --base 2 --reason=-x');
  ok(ways.nats.startsWith(`nats req cb.svc.signal '{"job":"j1","signal":{"migrate":`) && ways.curl.includes('/v1/jobs/j1/signals'));
});

test('only a running job with a workflow offers another graph', () => {
  const offers = (/** @type {any} */ job) => actionsOf(job).includes('edit_graph');
  equal([offers({ state: 'working', graph: {} }), offers({ state: 'working' }), offers({ state: 'completed', graph: {} })], [true, false, false]);
});
