/** Where commands of `execute` run, and leave what later ones are to find. */
export const WORK = '/work';
