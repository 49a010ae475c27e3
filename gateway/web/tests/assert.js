// A minimal test runner: works in a browser and in any runtime with ES modules.

/** @param {string} name @param {() => void} run */
export function test(name, run) {
  try {
    run();
    console.log(`ok - ${name}`);
  } catch (error) {
    console.log(`not ok - ${name}`);
    throw error;
  }
}
/** @param {unknown} value @param {string} [message] */
export function ok(value, message = 'must hold') {
  if (!value) throw new Error(message);
}
/** @param {unknown} left @param {unknown} right */
export function equal(left, right) {
  const [a, b] = [JSON.stringify(left), JSON.stringify(right)];
  if (a !== b) throw new Error(`${a} is not ${b}`);
}
