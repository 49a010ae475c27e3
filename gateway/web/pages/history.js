// The revisions of an agent: what each changed, and the way back to one.

import { html, nothing } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { may } from '../state/rights.js';
import { t } from '../settings.js';
import { storing } from '../parts/agenteditor.js';
import { diffView } from '../parts/diff.js';
import { openDialog } from '../parts/dialog.js';
import { errorBox, plain, skeleton, toast, when } from '../parts/ui.js';

export class History {
  /** @param {string} name @param {(name: string) => void} changed */
  constructor(name, changed) {
    this.name = name;
    this.changed = changed;
    /** @type {{current?: number, revisions: {revision: number, time?: string, by?: string, dropped?: boolean}[]} | undefined} */
    this.reply = undefined;
    /** @type {any} */
    this.problem = undefined;
    /** Texts by revision; a removal has none. @type {Map<number, string>} */
    this.texts = new Map();
    this.load();
  }
  load() {
    api.revisions(this.name).then((reply) => { this.reply = reply; }, (problem) => { this.problem = problem; }).finally(emit);
  }
  /** @param {number | undefined} revision */
  async text(revision) {
    if (revision === undefined) return '';
    const kept = this.texts.get(revision);
    if (kept !== undefined) return kept;
    const text = (await api.revisions(this.name, revision)).revisions[0]?.text ?? '';
    this.texts.set(revision, text);
    return text;
  }
  /** Shows a change; the newest text can go back to what it was then. @param {number} n */
  async open(n) {
    const { revisions, current } = /** @type {NonNullable<History['reply']>} */ (this.reply);
    const one = revisions[n];
    try {
      const [before, after, now] = await Promise.all([this.text(revisions[n + 1]?.revision), this.text(one.revision), this.text(revisions[0]?.revision)]);
      const back = n > 0 && !one.dropped && may('set_agent');
      openDialog({
        title: t('revision_of', { name: this.name, n: one.revision }), wide: true, confirm: t('restore_revision'),
        body: () => html`<h3>${t('revision_changed')}</h3>${diffView(before, after)}${back ? html`<h3>${t('revision_restores')}</h3>${before === now ? nothing : html`<p class="muted">${t('say_save')}</p>`}${diffView(now, after)}${storing(this.name, after, current ?? 0)}` : nothing}`,
        ...(back ? { run: async () => {
          await api.setAgent(this.name, after, current ?? 0);
          toast(t('agent_saved', { name: this.name }));
          this.changed(this.name);
        } } : {}),
      });
    } catch (problem) {
      this.problem = problem;
      emit();
    }
  }
  view() {
    if (this.problem) return errorBox(this.problem);
    const revisions = this.reply?.revisions;
    if (!revisions) return skeleton(2);
    if (!revisions.length) return nothing;
    return html`<h2>${t('history')}</h2><ol class="history">${revisions.map((one, n) => html`<li><button class="step-row" @click=${() => this.open(n)}>
      <span class="num mono">${one.revision}</span><span class="grow">${t(one.dropped ? 'revision_dropped' : n + 1 === revisions.length || revisions[n + 1].dropped ? 'revision_created' : 'revision_edited')}${one.by ? html` <span class="muted">${plain(one.by)}</span>` : nothing}</span>
      ${one.revision === this.reply?.current ? html`<span class="chip">${t('in_force')}</span>` : nothing}<span class="num muted">${one.time ? when(one.time) : ''}</span></button></li>`)}</ol>`;
  }
}
