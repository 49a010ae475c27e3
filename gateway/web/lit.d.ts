// The types of lit.js, from the package of the vendored library. tools/install fetches it; no page is served this file.
export { html, svg, nothing, render } from 'lit-html';
export { repeat } from 'lit-html/directives/repeat.js';
export { ref, createRef } from 'lit-html/directives/ref.js';
