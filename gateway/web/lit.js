// The one import of the vendored library.
export { html, svg, nothing, render } from './vendor/lit-html/lit-html.js';
export { repeat } from './vendor/lit-html/directives/repeat.js';
export { ref, createRef } from './vendor/lit-html/directives/ref.js';
