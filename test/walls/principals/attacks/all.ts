// The whole table, but for what needs a run in a container.

import type { Attack } from '../attack.js';
import { credentialAttacks } from './credentials.js';
import { frontAttacks } from './front.js';
import { keptFileAttacks } from './kept-files.js';
import { loginAttacks } from './logins.js';
import { logAttacks } from './logs.js';
import { longRunAttacks } from './long-runs.js';
import { requestAttacks } from './requests.js';
import { serverAttacks } from './servers.js';
import { sessionAttacks } from './sessions.js';
import { shareAttacks } from './shares.js';
import { snippetAttacks } from './snippets.js';
import { taskAttacks } from './tasks.js';

export const attacks: readonly Attack[] = [
  ...keptFileAttacks,
  ...sessionAttacks,
  ...requestAttacks,
  ...taskAttacks,
  ...longRunAttacks,
  ...serverAttacks,
  ...snippetAttacks,
  ...loginAttacks,
  ...credentialAttacks,
  ...frontAttacks,
  ...shareAttacks,
  ...logAttacks,
];
