// Sessions of a real bridge that code is called in, each of its own name.

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { TestBridge } from '../../support/start-bridge.js';

export type Answer = { readonly text: string };
export type Session = {
  readonly name: string;
  readonly call: (code: string, args?: Readonly<Record<string, unknown>>) => Promise<Answer>;
};

let made = 0;

/** A new session; `first` are arguments of its calls. */
export async function sessionIn(
  bridge: TestBridge,
  first: Readonly<Record<string, unknown>> = {},
): Promise<Session> {
  const name = `s${++made}`;
  const call: Session['call'] = async (code, args = {}) => {
    const { content } = (await bridge.call({ session: name, code, ...first, ...args })) as CallToolResult;
    const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    return { text };
  };
  await call('0');
  return { name, call };
}

/** Lines, and lists of lines. */
export const codeOf = (...parts: ReadonlyArray<string | readonly string[]>): string =>
  parts.flat().join('\n');
