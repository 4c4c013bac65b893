// The whole table, in the order in which it is run.

import type { Attack } from '../attack.js';
import { pairAttacks } from './between-runs.js';
import { dataAttacks } from './data.js';
import { fileAttacks } from './files.js';
import { firstProcessAttacks } from './first-process.js';
import { frameAttacks } from './frames.js';
import { kernelAttacks } from './kernel.js';
import { kernelMemoryAttacks } from './kernel-memory.js';
import { networkAttacks, socketAttacks, streamAttacks } from './network.js';
import { outputAttacks } from './output.js';
import { privilegeAttacks } from './privileges.js';
import { processAttacks } from './processes.js';
import { resourceAttacks } from './resources.js';

export const attacks: readonly Attack[] = [
  ...kernelAttacks,
  ...kernelMemoryAttacks,
  ...privilegeAttacks,
  ...fileAttacks,
  ...dataAttacks,
  ...networkAttacks,
  ...socketAttacks,
  ...streamAttacks,
  ...processAttacks,
  ...firstProcessAttacks,
  ...pairAttacks,
  ...frameAttacks,
  ...outputAttacks,
  ...resourceAttacks,
];
