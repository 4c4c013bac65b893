// The other end of openLines in place.mjs: answers each line of stdin, many at once, until it ends.

import { createInterface } from 'node:readline';

/** @param {object} answer */
const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

/**
 * @param {(code: string) => Promise<unknown>} run  the value of the code
 * @param {number} definitionChars
 */
export async function answerLines(run, definitionChars) {
  say({ id: 0, definitionChars });
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, code } = JSON.parse(line);
    run(code).then(
      (value) => say({ id, text: typeof value === 'string' ? value : JSON.stringify(value) }),
      (thrown) => say({ id, error: thrown.message }),
    );
  }
}
