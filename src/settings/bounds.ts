// Between which numbers a limit may lie, wherever an operator may set it: a variable, or a file that is imported.

import { MB_BYTES } from '../base/text/sizes.js';

/** CPython with asyncio needs 20 MiB before the user's first line; below this every run would end out of memory. */
export const MIN_MEMORY_BYTES = 32 * MB_BYTES;
/** The harness alone takes four processes or threads; beyond the upper end the kernel's own default limit rules. */
export const PIDS = { min: 16, max: 32_768 } as const;
/** Below a hundredth of a processor engines refuse; the upper end is a typing error. */
export const CPUS = { min: 0.01, max: 4096 } as const;
/** Nothing of a run lasts longer. */
export const DAY_SECONDS = 86_400;
/**
 * Limits in bytes for each output stream of a command. The minimum leaves room for the line that says what is missing.
 */
export const OUTPUT_BYTES = { min: 100, max: 64 * MB_BYTES } as const;
/**
 * Matches a name that is handed to an engine, such as an image. It must not begin with a dash, or the engine would read
 * an option.
 */
export const WORD = /^[^\s-]\S*$/;
