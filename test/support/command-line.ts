// Our command line in the test's own process, as if dist/cli/main.js had been started: it loads the rest of the program.

import { fileURLToPath } from 'node:url';
import { runHere, type Said, type Surroundings } from './in-this-process.js';

const source = (name: string) => fileURLToPath(new URL(`../../src/cli/${name}`, import.meta.url));
const MAIN = source('main.ts');
const PROGRAM = source('program.ts');

export const commandLine = (args: readonly string[], surroundings: Surroundings): Promise<Said> =>
  runHere(PROGRAM, args, { ...surroundings, script: MAIN });
