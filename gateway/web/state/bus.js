// The one signal of the console: something changed, draw again.

/** @type {() => void} */
let draw = () => {};
let due = false;

/** @param {() => void} run */
export const onChange = (run) => {
  draw = run;
};

let restsUntil = 0;

/** A scroll goes on: what only tells the time is drawn after it. */
export const rest = () => {
  restsUntil = Date.now() + 200;
};
export const rests = () => Date.now() < restsUntil;

/** Draws once in the next frame, however often it is called. */
export function emit() {
  if (due) return;
  due = true;
  const run = () => {
    if (!due) return;
    due = false;
    draw();
  };
  if (document.hidden) setTimeout(run, 50);
  else requestAnimationFrame(run);
}
