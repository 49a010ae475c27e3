import { html, render } from '../lit.js';
import { virtual } from '../parts/virtual.js';
import { equal, ok, test } from './assert.js';

await test('a list that keeps its end in sight begins there, without another drawing', async () => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('.virtual { height: 300px; overflow: auto }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const box = document.createElement('div');
  document.body.append(box);
  const rows = Array.from({ length: 1000 }, (_, n) => n);
  render(virtual('end', rows, 30, (n) => html`<div class="row">${n}</div>`, { stick: true, label: 'rows' }), box);
  equal([...box.querySelectorAll('.row')].at(-1)?.textContent, '999');
  await Promise.resolve();
  const list = /** @type {HTMLElement} */ (box.querySelector('.virtual'));
  ok(list.scrollTop + list.clientHeight >= 30_000 - 30, `${list.scrollTop}`);
  box.remove();
});
