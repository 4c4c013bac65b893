// A case of the table of errors in a real sandbox: what CPython says of it, and the next step that stands beside it.

import { expect } from 'vitest';
import { ERROR_CASES } from '../run/outcome/error-cases.js';
import { OWN, type TestBridge } from '../support/start-bridge.js';

type Runnable = {
  readonly about: string;
  readonly code: string;
  readonly error: string;
  readonly remedy: string;
};

const runnable: readonly Runnable[] = ERROR_CASES.flatMap(({ code, ...rest }) =>
  code === undefined ? [] : [{ code, ...rest }],
);
/** They take all the processes of their user that they get, which sandboxes beside them may miss. */
const isGreedy = ({ about }: Runnable): boolean => about === 'processes' || about === 'threads';

export const GREEDY_CASES = runnable.filter(isGreedy);
export const OTHER_CASES = runnable.filter((each) => !isGreedy(each));

/** Runs the code of the case with the server `h`. */
export async function expectError(bridge: TestBridge, { code, error, remedy }: Runnable): Promise<void> {
  const { error: said, remedy: next, traceback } = await bridge.run(code, { servers: ['h'], timeout: 60 });
  const nothing = error.startsWith('SyntaxError') ? 'Nothing was run. ' : '';
  const ours = remedy.replaceAll('`mcp-sandbox-bridge ', `\`${OWN} `);
  expect({ error: said, remedy: next }).toEqual({ error, remedy: `${nothing}${ours}` });
  expect(traceback?.join('\n')).not.toMatch(/\/ipc\/harness/);
}
