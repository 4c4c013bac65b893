// The deadline of a run whose expiry is what a test is about: it comes after the code has got to where its end is to find it.

import { coldSandboxes } from '../support/time.js';

/**
 * Whole seconds in which code that has its sandbox gets there on this machine: five sandboxes are made, each with an interpreter
 * that starts, before one that is made already has begun its code's first lines.
 */
export const REACH_SECONDS = Math.max(1, Math.ceil(coldSandboxes(5) / 1000));
