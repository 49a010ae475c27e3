// Text that models write at this moment, by the rules of docs/events.md#live-output. Pure.

/** @typedef {{work: string, step?: string, attempt: number, index: number, text: string, thought: string, tool: string, at: number}} LiveText */

export class Live {
  /** @param {Map<string, number>} [over] highest attempt of each work that has ended */
  constructor(over = new Map()) {
    /** @type {Map<string, LiveText>} */
    this.texts = new Map();
    this.over = over;
  }

  /** @param {any} m @param {number} now */
  take(m, now) {
    const attempt = m.attempt ?? 1;
    if (attempt <= (this.over.get(m.work) ?? 0)) return false;
    let live = this.texts.get(m.work);
    if (live && attempt < live.attempt) return false;
    if (!live || attempt > live.attempt || m.index === 0) {
      live = { work: m.work, step: m.step, attempt, index: -1, text: '', thought: '', tool: '', at: now };
      this.texts.set(m.work, live);
    }
    if (m.index <= live.index) return false;
    live.index = m.index;
    if (m.what === 'text') live.text += m.text;
    else if (m.what === 'thought') live.thought += m.text;
    else if (m.what === 'tool') live.tool += m.text;
    return true;
  }

  /** Drops texts that an event ends. @param {any} e */
  event(e) {
    if ((e.type === 'usage' || e.type === 'error') && e.work && !e.tool) {
      const attempt = e.attempt ?? 1;
      this.over.set(e.work, Math.max(attempt, this.over.get(e.work) ?? 0));
      const live = this.texts.get(e.work);
      if (live && live.attempt <= attempt) this.texts.delete(e.work);
    } else if (e.type === 'step' && e.phase !== 'started' && e.phase !== 'waiting' && e.phase !== 'resumed') {
      for (const [work, live] of this.texts) if (live.step === e.step) this.texts.delete(work);
    } else if (e.type === 'job' && ['completed', 'failed', 'canceled', 'rejected'].includes(e.state)) this.texts.clear();
  }
}
