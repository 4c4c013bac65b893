// Short texts drawn by lot, which people and models copy: no letter or digit is taken for another one.

import { randomInt } from 'node:crypto';

const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

/** `count` random letters and digits; each has nearly five bits. */
export const drawnLetters = (count: number): string =>
  Array.from({ length: count }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('');
