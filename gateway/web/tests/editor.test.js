import { CodeEditor, mistakesOf, offsetOf } from '../parts/codeeditor.js';
import { commands } from '../parts/copyas.js';
import { FlowEditor, lineOf, nameOf } from '../parts/floweditor.js';
import { flowGraph } from '../parts/flowgraph.js';
import { bodyOf, requestOf } from '../pages/job/editgraph.js';
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

test('the name of a workflow is that of its text', () => {
  equal([nameOf(TEXT), nameOf('about: x\nname: "e-1" # edges\n'), nameOf('nodes: {}'), nameOf('  workflow: nested')], ['greet', 'e-1', '', '']);
});

test('an answer about an earlier text is dropped', async () => {
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

const shape = (/** @type {string[]} */ ids) => ({ start: ids[0], nodes: ids.map((id) => ({ id, label: `The ${id}`, type: 'set' })), edges: ids.slice(1).map((id, n) => ({ from: ids[n], to: id, kind: 'next' })) });

test('the graph is that of the last text without mistakes', async () => {
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
