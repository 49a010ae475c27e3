// The one signal of the console: something changed, draw again.

/** @type {() => void} */
let draw = () => {};
let due = false;

/** @param {() => void} run */
export const onChange = (run) => {
  draw = run;
};

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
