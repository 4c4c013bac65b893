// The id of the principal that a named token stands for.

import type { TokenRecord } from './token-file.js';

/** Its second part is the token's own, so that a later token of the same name is somebody else. */
export const principalIdOf = ({ name, id }: Pick<TokenRecord, 'name' | 'id'>): string =>
  `token:${name}#${id}`;
