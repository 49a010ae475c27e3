// One watched job: its fold, its live text and its newest view. A hidden tab gives its connection back, and goes on after the last
// event when it is shown again.

import { api, watch } from '../api.js';
import { emit } from './bus.js';
import { due } from './feed.js';
import { Fold } from './fold.js';
import { Live } from './live.js';

/** Time after which a hidden tab gives its connection back, in milliseconds. */
const HIDDEN = 30_000;
/** Interval of drawings while the history of a job arrives, in milliseconds. */
const LOADING = 250;
/** Time after which the view is asked for if none has come with the history, in milliseconds. */
const LATE = 1_000;
/** Age at which an ended job is asked whether it goes on, where nothing tells of changes, in milliseconds. */
const AGE = 15_000;

/** What a stream needs of its page; tests bring their own. */
const PAGE = {
  watch,
  job: api.job,
  now: () => Date.now(),
  hidden: () => document.hidden,
  /** @param {() => void} run @param {number} ms */
  later: (run, ms) => window.setTimeout(run, ms),
  /** @param {number} timer */
  forget: (timer) => clearTimeout(timer),
  /** @param {() => void} run @returns {() => void} ends it */
  onVisibility: (run) => {
    document.addEventListener('visibilitychange', run);
    return () => document.removeEventListener('visibilitychange', run);
  },
};

export class JobStream {
  /** @param {string} job @param {typeof PAGE} [page] */
  constructor(job, page = PAGE) {
    this.job = job;
    this.page = page;
    /** @type {any} */
    this.view = undefined;
    this.fold = new Fold();
    this.live = new Live();
    /** @type {any} */
    this.problem = undefined;
    /** `true` once the job has ended and every event is here. */
    this.ended = false;
    /** Time of the last message. */
    this.fresh = 0;
    /** Time at which the view of the ended job was asked for. */
    this.asked = 0;
    /** `true` until everything stored is here, after which every event is drawn at once. */
    this.loading = true;
    this.drawn = 0;
    this.busy = false;
    /** `true` once the page is left. */
    this.closed = false;
    /** @type {(() => void) | undefined} */
    this.stop = undefined;
    this.timer = 0;
    this.late = 0;
    this.unlisten = page.onVisibility(() => this.#visibility());
    this.#open();
    if (page.hidden()) this.#visibility();
  }

  /** Watches from the last event on. */
  #open() {
    this.ended = false;
    this.loading = true;
    this.stop = this.page.watch(
      this.job,
      {
        event: (e) => {
          this.fold.apply(e);
          this.live.event(e);
          this.fresh = this.page.now();
          if (this.loading && this.fresh - this.drawn < LOADING) return;
          this.drawn = this.fresh;
          emit();
        },
        live: (m) => {
          if (this.live.take(m, this.page.now())) emit();
        },
        view: (view) => {
          this.view = view;
          this.loading = false;
          this.fresh = this.page.now();
          emit();
        },
        end: () => {
          this.ended = true;
          this.stop = undefined;
          this.asked = this.page.now();
          emit();
        },
        failed: (problem) => {
          this.problem = problem;
          emit();
        },
      },
      this.fold.events.at(-1)?.id,
    );
    // The log is read once for both where the stream brings the view soon.
    this.page.forget(this.late);
    this.late = this.page.later(() => {
      if (this.loading) this.#look();
    }, LATE);
  }

  /** Asks for the view. One that is newer than the end of the job means that the job goes on. */
  #look() {
    if (this.busy) return;
    this.busy = true;
    this.page.job(this.job).then(
      (view) => {
        const grew = !this.view || view.seq > this.view.seq;
        if (grew) this.view = view;
        this.busy = false;
        if (grew && this.ended && !this.closed) {
          this.#open();
          if (this.page.hidden()) this.#visibility();
        }
        emit();
      },
      (problem) => {
        this.busy = false;
        if (problem.code !== 'unreachable') this.problem = problem;
        emit();
      },
    );
  }

  #visibility() {
    this.page.forget(this.timer);
    if (this.page.hidden())
      this.timer = this.page.later(() => {
        this.stop?.();
        this.stop = undefined;
        // What is written meanwhile does not arrive, and a text with a hole would mislead.
        this.live = new Live(this.live.over);
      }, HIDDEN);
    else if (!this.stop && !this.ended) this.#open();
  }

  /** Watches an ended job again after a signal that may have reopened it. */
  resume() {
    if (this.ended) this.#open();
  }

  /** Sees whether somebody else reopened a job that has ended. */
  tick() {
    const now = this.page.now();
    if (!this.ended || !due(this.asked, AGE, now)) return;
    this.asked = now;
    this.#look();
  }

  close() {
    this.closed = true;
    this.page.forget(this.timer);
    this.page.forget(this.late);
    this.unlisten();
    this.stop?.();
  }
}
