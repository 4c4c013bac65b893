// The walls between principals that only runs in containers meet: what runs leave, hear of each other, and wait for, and what
// sessions hold.

import { codeSessionAttacks } from './attacks/code-sessions.js';
import { dataAttacks } from './attacks/data.js';
import { runAttacks } from './attacks/runs.js';
import { tryAll } from './table.js';

tryAll([...runAttacks, ...dataAttacks, ...codeSessionAttacks]);
