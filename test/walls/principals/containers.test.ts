// The walls between principals that only runs in containers meet: what runs leave, hear of each other, and wait for.

import { runAttacks } from './attacks/runs.js';
import { tryAll } from './table.js';

tryAll(runAttacks);
