// The walls between principals: each attack of one on what is another's is tried at a real `serve --http`, and its control where
// the wall does not stand in the way. `npm run walls:principals` runs this file and prints the table.

import { attacks } from './attacks/all.js';
import { tryAll } from './table.js';

tryAll(attacks);
