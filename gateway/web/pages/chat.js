// A conversation as a thread of jobs: words become tasks, answers or instructions; slash commands call tools.

import { html, nothing, ref, repeat } from '../lit.js';
import { api } from '../api.js';
import { emit } from '../state/bus.js';
import { cached } from '../state/cache.js';
import { JobStream } from '../state/stream.js';
import { may } from '../state/rights.js';
import { Unfit, cancels, read, resolve } from '../state/slash.js';
import { go } from '../router.js';
import { settings, t } from '../settings.js';
import { hasEnded, mark, shown } from '../parts/mark.js';
import { added, fileList, filesOf } from '../parts/files.js';
import { markdown } from '../parts/markdown.js';
import { offer } from '../parts/palette.js';
import { draftOf, questionCard, sendAnswer } from '../parts/question.js';
import { command, denied, empty, errorBox, grow, icon, plain, skeleton, toast, when } from '../parts/ui.js';
import { sentence } from '../parts/why.js';
import { liveTexts, transcript } from './job/said.js';

/** Lines of a task that are shown, the newest. */
const SAID = 24;
/** @typedef {import('../state/slash.js').Command} Command */
/** @param {Command} command */
const aboutOf = (command) => command.about_in?.[settings.language] ?? command.about;
/** The first of a command's own words in the language of the page. @param {Command} command */
function wordOf({ words = [] }) {
  const isChinese = (/** @type {string} */ word) => /[^\x00-\x7f]/.test(word);
  const word = words.find((word) => isChinese(word) === (settings.language === 'zh')) ?? words[0];
  return word ? ` ${word}` : '';
}
/** @param {Unfit} unfit */
const unfitWords = ({ key, names, command }) => t(key, { ...names, ...(command ? { about: aboutOf(command) } : {}) });
const newName = () => `chat-${Date.now().toString(36)}`;

export class ChatPage {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    /** @type {any[] | undefined} */
    this.recent = undefined;
    /** Jobs of the conversation, oldest first. @type {any[] | undefined} */
    this.jobs = undefined;
    /** @type {Map<string, JobStream>} */
    this.streams = new Map();
    this.holdsStream = id !== '';
    /** Views of jobs that have ended. @type {Map<string, any>} */
    this.views = new Map();
    this.text = '';
    /** Files for the next task. @type {File[]} */
    this.files = [];
    this.busy = false;
    this.at = 0;
    /** @type {any} */
    this.problem = undefined;
    this.readAt = 0;
    this.stick = true;
    this.keys = { '/': () => /** @type {HTMLElement | null} */ (document.querySelector('.composer textarea'))?.focus() };
    this.help = /** @type {[string, string][]} */ ([['/', 'key_compose'], ['Enter', 'send'], ['Shift Enter', 'key_newline']]);
    offer(() => []);
    this.load();
  }
  close() {
    for (const stream of this.streams.values()) stream.close();
  }
  title() {
    return this.id || t('nav_chat');
  }
  tick() {
    if (Date.now() - this.readAt > 4000) this.load();
  }
  async load() {
    this.readAt = Date.now();
    try {
      if (!this.id) {
        this.recent = (await api.jobs({ limit: 300 })).jobs;
      } else {
        const reply = await api.jobs({ conversation: this.id, limit: 100 });
        this.jobs = reply.jobs.filter((/** @type {any} */ job) => !job.parent).reverse();
        const list = this.jobs ?? [];
        for (const job of list) {
          if (!hasEnded(job.state) || job === list.at(-1)) this.watch(job.job);
          else if (!this.streams.has(job.job) && !this.views.has(job.job)) {
            this.views.set(job.job, undefined);
            api.job(job.job).then((view) => { this.views.set(job.job, view); emit(); }, () => this.views.delete(job.job));
          }
        }
      }
      this.problem = undefined;
    } catch (problem) {
      this.problem = problem;
    }
    emit();
  }
  /** @param {string} job */
  watch(job) {
    if (!this.streams.has(job)) this.streams.set(job, new JobStream(job));
  }
  /** The current task: the newest job that has not ended and is no command. */
  current() {
    for (const job of [...(this.jobs ?? [])].reverse()) {
      const view = this.streams.get(job.job)?.view ?? job;
      if (!hasEnded(view.state) && !String(view.goal).startsWith('/')) return view;
    }
    return undefined;
  }
  /** The slash commands that tools declare. @returns {{word: string, about: string, tool?: any}[]} */
  commands() {
    const tools = cached('tools', 60_000).value?.tools ?? [];
    const own = [{ word: '/cancel', about: t('cancel_task') }];
    const declared = tools.flatMap((/** @type {any} */ tool) => (tool.commands ?? []).map((/** @type {any} */ command) => ({ word: `/${command.name}${wordOf(command)}`, about: aboutOf(command), tool })));
    const plainTools = tools.filter((/** @type {any} */ tool) => !tool.commands?.length).map((/** @type {any} */ tool) => ({ word: `/${tool.name}`, about: tool.translations?.[settings.language]?.description ?? tool.description, tool }));
    return [...declared, ...own, ...plainTools];
  }
  /** Whether the menu of commands is open: some match, and none is followed by words. */
  menu() {
    const found = this.matches();
    return found.length > 0 && !found.some((c) => this.text.startsWith(`${c.word} `)) ? found : [];
  }
  matches() {
    if (!this.text.startsWith('/') || this.text.includes('\n')) return [];
    const text = this.text.toLowerCase();
    return this.commands().filter((c) => c.word.startsWith(text) || text.startsWith(`${c.word} `)).slice(0, 8);
  }
  /** A slash line as a tool call; nothing for words. @param {string} line */
  async callOf(line) {
    const found = read(line);
    if (!found) return undefined;
    const { tools } = cached('tools', 60_000).value ?? (await api.tools());
    return resolve(tools, found.name, found.rest);
  }
  async send() {
    const line = this.text.trim();
    if (!line || this.busy || !may('submit')) return;
    this.busy = true;
    this.problem = undefined;
    emit();
    const task = this.current();
    const stream = task && this.streams.get(task.job);
    const question = stream?.view?.questions?.[0];
    try {
      const isCancel = cancels(line);
      const call = isCancel ? undefined : await this.callOf(line);
      if (isCancel) {
        if (task) await api.signal(task.job, { signal: 'cancel', reason: t('canceled_in_chat') });
        toast(t(task ? 'task_canceled' : 'no_task'), task ? 'done' : 'wait');
      } else if (call) {
        await this.submit({ goal: line, call });
      } else if (question && task && ['question', 'plan_check', 'choice'].includes(question.kind)) {
        if (question.kind === 'plan_check') {
          const yes = ['c', 'ok', '确认执行'].includes(line.toLowerCase());
          await sendAnswer(task.job, question, yes ? { decision: 'approve', digest: question.digest } : line === 'x' ? { decision: 'reject' } : { decision: 'respond', text: line });
        } else if (question.kind === 'choice') {
          const option = question.options.find((/** @type {any} */ o, /** @type {number} */ n) => [String(n + 1), o.value, o.label].includes(line));
          await sendAnswer(task.job, question, { value: question.multiple ? [option?.value ?? line] : option?.value ?? line });
        } else await sendAnswer(task.job, question, { value: line });
        const { problem } = draftOf(task.job, question);
        if (problem) throw problem;
      } else if (task && !question && !this.files.length) {
        await api.signal(task.job, { signal: { steer: { text: line } }, ...(settings.name ? { by: settings.name } : {}) });
      } else if (task) {
        toast(t(question ? 'answer_above' : 'files_later'), 'wait');
        return;
      } else await this.submit({ goal: line });
      this.text = '';
      this.stick = true;
    } catch (problem) {
      this.problem = problem instanceof Unfit ? { code: 'invalid_request', message: unfitWords(problem) } : problem;
    } finally {
      this.busy = false;
      emit();
      setTimeout(() => {
        const box = /** @type {HTMLElement | null} */ (document.querySelector('.composer textarea'));
        grow(box ?? undefined);
        if (innerWidth > 720) box?.focus();
      }, 60);
    }
  }
  /** @param {any} body */
  async submit(body) {
    const conversation = this.id || newName();
    const reply = await api.submit({ ...body, conversation, ...(await filesOf(this.files)) });
    this.files = [];
    if (!this.id) go(`/chat/${conversation}`);
    else {
      this.watch(reply.job);
      await this.load();
    }
  }
  view() {
    return this.id ? this.thread() : this.start();
  }
  start() {
    /** @type {Map<string, any[]>} */
    const groups = new Map();
    for (const job of this.recent ?? []) if (job.conversation && !job.parent) groups.set(job.conversation, [...(groups.get(job.conversation) ?? []), job]);
    return html`<div class="page narrow"><header class="page-head"><h1>${t('nav_chat')}</h1></header>
      <p class="muted">${t('chat_about')}</p>${this.composer()}
      <h2 class="section-head">${t('conversations')}</h2>
      ${this.recent === undefined && !this.problem ? skeleton(3) : groups.size ? html`<div class="talks">${[...groups].map(([id, jobs]) => html`<a class="talk" href="/chat/${id}">${mark(shown(jobs[0]))}<span class="grow cut"><strong>${plain(jobs.at(-1).goal)}</strong><span class="muted"> · ${plain(id)}</span></span><span class="muted num">${t('tasks_count', { n: jobs.length })}</span><span class="muted num">${when(jobs[0].updated)}</span></a>`)}</div>` : empty(t('no_talks'), t('no_talks_text'), html`<div class="commands">${command('callboard chat --conversation trip')}</div>`)}</div>`;
  }
  composer() {
    const found = this.menu();
    const menu = found.length > 0;
    const task = this.current();
    const question = task && this.streams.get(task.job)?.view?.questions?.[0];
    const hint = question ? (question.kind === 'plan_check' ? t('compose_plan') : t('compose_answer')) : task ? t('compose_steer') : t('compose_task');
    const add = (/** @type {FileList | null | undefined} */ list) => { this.files = added(this.files, list); emit(); };
    return html`<div class="composer" @dragover=${(/** @type {Event} */ e) => e.preventDefault()} @drop=${(/** @type {DragEvent} */ e) => { e.preventDefault(); add(e.dataTransfer?.files); }}>
      ${denied('submit')}${errorBox(this.problem)}
      ${menu ? html`<div class="slash" role="listbox" aria-label=${t('commands')}>${found.map((c, n) => html`<button role="option" aria-selected=${n === this.at ? 'true' : 'false'} @click=${() => { this.text = `${c.word} `; this.at = 0; emit(); /** @type {HTMLElement | null} */ (document.querySelector('.composer textarea'))?.focus(); }}><code>${c.word}</code><span class="muted cut">${c.about}</span></button>`)}</div>` : nothing}
      ${this.files.length ? html`<div class="compose-files">${fileList(this.files, (files) => { this.files = files; })}</div>` : nothing}
      <div class="compose-box"><label class="attach" title=${t('attach')}>${icon('file-text')}<span class="sr">${t('attach')}</span><input type="file" multiple class="sr" ?disabled=${this.busy || !may('submit')} @change=${(/** @type {any} */ e) => { add(e.target.files); e.target.value = ''; }}></label><textarea rows="1" aria-label=${hint} placeholder=${hint} .value=${this.text} ?disabled=${this.busy || !may('submit')}
        @input=${(/** @type {any} */ e) => { this.text = e.target.value; this.at = 0; grow(e.target); emit(); }}
        @keydown=${(/** @type {KeyboardEvent} */ e) => {
          if (e.isComposing) return;
          const found = this.menu();
          const menu = found.length > 0;
          if (menu && (e.key === 'ArrowDown' || e.key === 'ArrowUp')) {
            e.preventDefault();
            this.at = (this.at + (e.key === 'ArrowDown' ? 1 : found.length - 1)) % found.length;
            emit();
          } else if (menu && (e.key === 'Tab' || (e.key === 'Enter' && !found.some((c) => c.word === this.text.trim())))) {
            e.preventDefault();
            this.text = `${found[Math.min(this.at, found.length - 1)].word} `;
            emit();
          } else if (e.key === 'Enter' && !e.shiftKey) {
            e.preventDefault();
            this.send();
          }
        }}></textarea><button class="primary" aria-label=${t('send')} ?disabled=${this.busy || !this.text.trim()} @click=${() => this.send()}>${icon('arrow-up')}</button></div></div>`;
  }
  thread() {
    const jobs = this.jobs;
    return html`<div class="chat"><header class="chat-head line"><a class="button ghost small" href="/chat" aria-label=${t('conversations')}>${icon('chevron-left')}</a><h1 class="cut grow">${plain(this.id)}</h1><a class="button small" href="/jobs?conversation=${this.id}">${t('nav_jobs')}</a></header>
      <div class="thread" aria-live="polite" @scroll=${(/** @type {Event} */ e) => { const box = /** @type {HTMLElement} */ (e.currentTarget); this.stick = box.scrollTop + box.clientHeight > box.scrollHeight - 60; }} ${ref((/** @type {any} */ element) => { if (element instanceof HTMLElement && this.stick) requestAnimationFrame(() => { element.scrollTop = element.scrollHeight; }); })}>
        <div class="thread-inner">${jobs === undefined ? (this.problem ? nothing : skeleton(3)) : jobs.length ? repeat(jobs, (/** @type {any} */ job) => job.job, (/** @type {any} */ job) => this.task(job)) : empty(t('talk_empty'), t('chat_about'))}</div></div>
      ${this.composer()}</div>`;
  }
  /** @param {any} job */
  task(job) {
    const stream = this.streams.get(job.job);
    const view = stream?.view ?? this.views.get(job.job);
    const state = shown(view ?? job);
    const steps = view?.plan?.steps ?? [];
    const done = steps.filter((/** @type {any} */ s) => ['completed', 'skipped'].includes(s.state)).length;
    const running = steps.find((/** @type {any} */ s) => ['running', 'waiting'].includes(s.state));
    const ended = hasEnded((view ?? job).state);
    const outcome = view?.outcome;
    const lines = (stream?.fold.lines ?? []).filter((/** @type {any} */ line) => ['thought', 'call', 'told', 'notice'].includes(line.kind));
    const result = outcome?.summary || (outcome?.results && !outcome.summary ? JSON.stringify(outcome.results, null, 2) : '') || outcome?.message || outcome?.reason;
    return html`<section class="task"><div class="say person"><div class="bubble" dir="auto">${plain(job.goal)}</div></div>
      ${steps.length > 0 ? html`<details class="plan-bar" ?open=${false}><summary class="line">${mark(state)}<span class="plan-badge">${t('plan_badge')}</span><span class="cut grow">${plain(ended ? view.plan.title : running ? running.title || running.description : view.plan.title)}</span><span class="num muted">${done}/${steps.length}</span></summary>
        <ol class="plan-list">${steps.map((/** @type {any} */ s, /** @type {number} */ n) => html`<li><span class="plan-number num">${n + 1}</span>${mark(s.success === false && s.state === 'completed' ? 'unsuccessful' : s.state)}<span class="grow">${plain(s.title || s.description)}${s.tool ? html` <code class="tool-name">${s.tool}</code>` : nothing}</span></li>`)}</ol><p class="plan-open"><a href="/jobs/${job.job}">${t('open')}</a></p></details>` : nothing}
      ${lines.length ? html`<div class="said brief">${this.said(lines.slice(-SAID), stream?.fold, (step) => go(`/jobs/${job.job}?step=${step}`))}</div>` : nothing}
      ${stream ? html`<div class="said brief">${liveTexts([...stream.live.texts.values()].filter((text) => text.text || text.thought), stream.fold)}</div>` : nothing}
      ${(view?.questions ?? []).map((/** @type {any} */ q) => html`<div class="card ask">${questionCard(job.job, q, {})}</div>`)}
      ${ended ? html`<div class="task-end ${state}"><div class="line">${mark(state, true)}<strong>${t(state === 'completed' ? 'run_done' : state === 'failed' ? 'run_failed' : `state_${state}`)}</strong><a class="end muted" href="/jobs/${job.job}">${t('open')}</a></div>${result ? markdown(String(result)) : nothing}</div>` : view && !view.questions?.length ? html`<p class="muted line task-why">${mark(state, true)}${plain(sentence(view))}<a class="end" href="/jobs/${job.job}">${t('open')}</a></p>` : nothing}
    </section>`;
  }
  /** What was said, with the calls of a step together. @param {any[]} lines @param {any} fold @param {(step: string) => void} open */
  said(lines, fold, open) {
    return byStep(lines).map(({ step, lines }) => {
      if (!step) return transcript(lines, open, true);
      const { title, state } = fold.steps.get(step) ?? { title: step, state: 'running' };
      return html`<section class="step-calls" aria-label=${title}><button class="link" @click=${() => open(step)}>${mark(state)}${plain(title)}</button><div class="line wrap">${transcript(lines, open, true)}</div></section>`;
    });
  }
}

/** Lines in their order; the calls of one step that follow each other are one group. @param {any[]} lines @returns {{step?: string, lines: any[]}[]} */
export function byStep(lines) {
  /** @type {{step?: string, lines: any[]}[]} */
  const groups = [];
  for (const line of lines) {
    const step = line.kind === 'call' ? line.call.step : undefined;
    const last = groups.at(-1);
    if (last && last.step === step) last.lines.push(line);
    else groups.push({ step, lines: [line] });
  }
  return groups;
}
