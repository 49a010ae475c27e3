// A minimal test runner: works in a browser and in any runtime with ES modules.

/** Runs a test. One that waits for something is awaited by its module, so that its failure is seen. @template {void | Promise<void>} T @param {string} name @param {() => T} run @returns {T} */
export function test(name, run) {
  const failed = (/** @type {unknown} */ error) => {
    console.log(`not ok - ${name}`);
    throw error;
  };
  try {
    const result = run();
    if (result instanceof Promise) return /** @type {T} */ (result.then(() => console.log(`ok - ${name}`), failed));
    console.log(`ok - ${name}`);
    return result;
  } catch (error) {
    return failed(error);
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
