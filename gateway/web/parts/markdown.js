// A subset of Markdown as lit templates: no HTML, no images; links only http and https, with their host.

import { html, nothing } from '../lit.js';

/** @param {string} text @returns {unknown[]} */
export function inline(text) {
  const out = [];
  const pattern = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|!?\[([^\]\n]{0,500})\]\(([^()\s]{1,2000})\)|\*\*([^*\n]+)\*\*|(?<![\w*])\*([^*\n]+)\*(?![\w*])|(?<!\w)_([^_\n]+)_(?!\w)|\bhttps?:\/\/[^\s<>"'`)\]]{1,2000}/g;
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    const at = match.index ?? 0;
    if (at > from) out.push(text.slice(from, at));
    from = at + match[0].length;
    if (match[2] !== undefined) out.push(html`<code>${match[2]}</code>`);
    else if (match[4] !== undefined) out.push(match[0].startsWith('!') ? match[3] || match[4] : link(match[4], match[3]));
    else if (match[5] !== undefined) out.push(html`<strong>${inline(match[5])}</strong>`);
    else if (match[6] ?? match[7]) out.push(html`<em>${match[6] ?? match[7]}</em>`);
    else out.push(link(match[0], ''));
  }
  if (from < text.length) out.push(text.slice(from));
  return out;
}

/** @param {string} address @param {string} words */
function link(address, words) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return words || address;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return words ? `${words} (${address})` : address;
  return html`<a href=${url.href} target="_blank" rel="noopener noreferrer">${words || address}</a>${words ? html`<span class="host"> ${url.host}</span>` : nothing}`;
}

/** @param {string} source @returns {unknown} */
export function markdown(source) {
  const text = source.length > 100_000 ? `${source.slice(0, 100_000)} …` : source;
  const lines = text.split('\n');
  const out = [];
  for (let i = 0; i < lines.length; ) {
    const row = lines[i];
    const fence = /^\s*(```+|~~~+)/.exec(row);
    if (fence) {
      const body = [];
      for (i++; i < lines.length && !lines[i].trim().startsWith(fence[1]); i++) body.push(lines[i]);
      i++;
      out.push(html`<pre class="block">${body.join('\n')}</pre>`);
      continue;
    }
    if (!row.trim()) {
      i++;
      continue;
    }
    const head = /^(#{1,6})\s+(.*)$/.exec(row);
    if (head) {
      out.push(head[1].length < 3 ? html`<h3>${inline(head[2])}</h3>` : html`<h4>${inline(head[2])}</h4>`);
      i++;
      continue;
    }
    const item = /^\s*([-*+]|\d{1,9}[.)])\s+/;
    if (item.test(row)) {
      const ordered = /^\s*\d/.test(row);
      const items = [];
      for (; i < lines.length && (item.test(lines[i]) || (/^\s{2,}\S/.test(lines[i]) && items.length)); i++) {
        if (item.test(lines[i])) items.push(lines[i].replace(item, ''));
        else items[items.length - 1] += `\n${lines[i].trim()}`;
      }
      const list = items.map((each) => html`<li>${inline(each)}</li>`);
      out.push(ordered ? html`<ol class="md" start=${parseInt(row, 10)}>${list}</ol>` : html`<ul class="md">${list}</ul>`);
      continue;
    }
    if (/^\s*>/.test(row)) {
      const body = [];
      for (; i < lines.length && /^\s*>/.test(lines[i]); i++) body.push(lines[i].replace(/^\s*>\s?/, ''));
      out.push(html`<blockquote>${inline(body.join('\n'))}</blockquote>`);
      continue;
    }
    const body = [];
    for (; i < lines.length && lines[i].trim() && !/^\s*(```|~~~|#{1,6}\s|>|[-*+]\s|\d{1,9}[.)]\s)/.test(lines[i]); i++) body.push(lines[i]);
    if (!body.length) body.push(lines[i++]);
    out.push(html`<p>${inline(body.join('\n'))}</p>`);
  }
  return html`<div class="prose">${out}</div>`;
}
