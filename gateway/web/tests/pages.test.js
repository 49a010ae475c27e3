import { render } from '../lit.js';
import { mistakesOf } from '../parts/codeeditor.js';
import { added } from '../parts/files.js';
import { byStep } from '../pages/chat.js';
import { JobsPage } from '../pages/jobs.js';
import { filterOf } from '../state/jobfilter.js';
import { equal, ok, test } from './assert.js';

test('calls of one step that follow each other are one group', () => {
  const call = (/** @type {string | undefined} */ step) => ({ kind: 'call', call: { step } });
  const groups = byStep([{ kind: 'thought' }, call('a'), call('a'), { kind: 'told' }, call('a'), call('b'), call(undefined), { kind: 'thought' }]);
  equal(groups.map(({ step, lines }) => `${step ?? '-'}${lines.length}`), ['-1', 'a2', '-1', 'a1', 'b1', '-2']);
});

test('a mistake of an agent is found at its line', () => {
  equal(mistakesOf('bucket:careful:2:9: max_turns: expected a number\nno agent is called x').map((one) => one.line), [2, 0]);
});

test('of two files with one name the first is attached', () => {
  const files = [new File(['a'], 'a.md'), new File(['b'], 'b.md')];
  const list = /** @type {any} */ ([new File(['other'], 'a.md'), new File(['c'], 'c.md')]);
  equal(added(files, list).map((file) => `${file.name} ${file.size}`), ['a.md 1', 'b.md 1', 'c.md 1']);
});

test('of ten thousand jobs only those in and around the visible part are in the document', () => {
  const main = document.createElement('main');
  main.id = 'main';
  Object.assign(main.style, { height: '600px', overflow: 'auto', position: 'relative' });
  document.body.append(main);
  const page = new JobsPage();
  page.rows = Array.from({ length: 10_000 }, (_, n) => ({ job: `j${n}`, state: 'working', goal: `Goal ${n}`, agent: 'default', steps: 2, steps_done: 1, created: '2026-03-01T09:00:00Z', updated: '2026-03-01T09:00:00Z' }));
  page.loaded = JSON.stringify(filterOf(new URLSearchParams(location.search)));
  page.readAt = Date.now();
  const draw = () => render(page.view(), main);
  const rows = () => main.querySelectorAll('.job-item').length;
  const shows = (/** @type {number} */ n) => [...main.querySelectorAll('.c-goal')].some((cell) => cell.textContent?.trim() === `Goal ${n}`);
  draw();
  ok(rows() <= 200 && shows(0), `${rows()} rows before the list is measured`);
  draw();
  ok(rows() < 150 && main.querySelectorAll('*').length < 5000, `${rows()} rows, ${main.querySelectorAll('*').length} elements`);
  main.scrollTop = main.scrollHeight;
  draw();
  ok(rows() < 150 && shows(9999) && !shows(0), `${rows()} rows at the end`);
  page.scrollTo(5000);
  draw();
  ok(rows() < 150 && shows(5000) && !shows(9999), `${rows()} rows in the middle`);
  page.close();
  main.remove();
});
