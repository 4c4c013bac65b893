// `--data FOLDER`: folders that the code of one command sees, in the place of those of MCP_BRIDGE_DATA.

import { join } from 'node:path';
import {
  DATA_ONE,
  IS_WHOLE,
  openFolders,
  placedFolders,
  writtenFolders,
} from '../../settings/files/data-folders.js';
import type { Prepared } from '../serving/prepare.js';
import { usageError } from '../terminal/output.js';

/** `prepared`, with these folders where there are any; a path may be relative. Throws E_ARGUMENTS. */
export function withData(prepared: Prepared, said: readonly string[]): Prepared {
  if (said.length === 0) return prepared;
  const { discovery, settings: before } = prepared;
  const { host } = discovery;
  const wrong = (trouble: string) => usageError(`--data: ${trouble}`, `Name ${DATA_ONE}.`);
  const whole = said.map((text) => (IS_WHOLE.test(text) ? text : join(host.cwd, text)));
  const read = writtenFolders.safeParse(whole);
  if (!read.success) throw wrong(read.error.issues[0]?.message ?? '');
  const place = { ...host, stateDir: before.stateDir };
  const { folders, troubles } = openFolders(placedFolders(read.data, host), place);
  if (troubles.length > 0) throw wrong(troubles.join(' '));
  const settings = { ...before, data: folders };
  return { ...prepared, settings, discovery: { ...discovery, settings } };
}
