// One watched job: its fold, its live text and its newest view.

import { api, watch } from '../api.js';
import { emit } from './bus.js';
import { Fold } from './fold.js';
import { Live } from './live.js';

export class JobStream {
  /** @param {string} job */
  constructor(job) {
    this.job = job;
    /** @type {any} */
    this.view = undefined;
    this.fold = new Fold();
    this.live = new Live();
    /** @type {any} */
    this.problem = undefined;
    this.ended = false;
    /** Time of the last message. */
    this.fresh = 0;
    this.#open();
  }

  #open() {
    this.ended = false;
    this.fold = new Fold();
    this.live = new Live();
    this.stop = watch(this.job, {
      event: (e) => {
        this.fold.apply(e);
        this.live.event(e);
        this.fresh = Date.now();
        emit();
      },
      live: (m) => {
        if (this.live.take(m, Date.now())) emit();
      },
      view: (view) => {
        this.view = view;
        this.fresh = Date.now();
        emit();
      },
      end: () => {
        this.ended = true;
        emit();
      },
      failed: (problem) => {
        this.problem = problem;
        emit();
      },
    });
    api.job(this.job).then(
      (view) => {
        if (!this.view || view.seq > this.view.seq) this.view = view;
        emit();
      },
      (problem) => {
        if (problem.code !== 'unreachable') this.problem = problem;
        emit();
      },
    );
  }

  /** Watches again after a signal that may have reopened an ended job. */
  resume() {
    if (!this.ended) return;
    this.#open();
  }

  close() {
    this.stop?.();
  }
}
