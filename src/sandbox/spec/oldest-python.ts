/** The oldest Python that the harness is written for. */
export const OLDEST_PYTHON = '3.9';
