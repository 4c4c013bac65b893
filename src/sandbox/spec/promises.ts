// Facts about every sandbox that descriptions of tools repeat. Imports nothing, since a list of tools loads it.

/** Where commands of `execute` run, and leave what later ones are to find. */
export const WORK = '/work';
/** The oldest Python that the harness is written for. */
export const OLDEST_PYTHON = '3.9';
