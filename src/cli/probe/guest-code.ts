// Makes programs of the Python that lies beside this: a file as it is, and a call of one of its functions. What that is given goes
// as JSON, so that no value is ever part of the code.

import { textBeside } from '../../base/files/read-text.js';
import type { Canaries } from './canaries.js';
import type { ProbedSandbox } from './control.js';
import type { Arguments, Wall } from './wall.js';

const WALLS_CODE = textBeside(new URL('./walls.py', import.meta.url));

/** A last line, whose value is what the function returns. A text of JSON is a literal of Python, too. */
export const pythonCall = (name: string, given: Arguments): string =>
  `import json\n${name}(**json.loads(${JSON.stringify(JSON.stringify(given))}))\n`;

/** One program of many attempts. Its value is {control: answer}. */
export function guestCode(walls: readonly Wall[], canaries: Canaries, probed: ProbedSandbox): string {
  const asked = walls.map(({ control, attempt, given }) => [
    control,
    attempt,
    given?.(canaries, probed) ?? {},
  ]);
  return `${WALLS_CODE}\n${pythonCall('answers', { asked })}`;
}
