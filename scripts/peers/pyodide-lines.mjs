// Pyodide behind lines on stdin (openLines in place.mjs), in deno. argv: the folder of its package.

import process from 'node:process';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [, , indexURL = ''] = process.argv;
/** @type {any} */
const { loadPyodide } = await import(pathToFileURL(`${indexURL}pyodide.mjs`).href);
/** @type {string[]} */
let printed = [];
const pyodide = await loadPyodide({
  indexURL,
  stdout: (/** @type {string} */ line) => printed.push(line),
});

/** @param {object} answer */
const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

say({ id: 0 });
// One interpreter prints into one list, so one call follows the other.
for await (const line of createInterface({ input: process.stdin })) {
  const { id, code } = JSON.parse(line);
  printed = [];
  try {
    await pyodide.runPythonAsync(code);
    say({ id, text: printed.join('\n') });
  } catch (thrown) {
    say({ id, error: String(thrown) });
  }
}
process.exit();
