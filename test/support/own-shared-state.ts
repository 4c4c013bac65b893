// Where two files of container tests run at once, the bridges of each share a state directory of their own: none meets what the
// other's are learning of servers and keeping meanwhile.

import { join } from 'node:path';
import { makeUsed } from './used-state.js';

const { VITEST_POOL_ID: worker = '1', TEST_ROOT: root } = process.env;
if (worker !== '1' && root !== undefined)
  process.env['TEST_STATE_DIR'] = makeUsed(join(root, `state-${worker}`));
