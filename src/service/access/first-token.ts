// The token of a first start: a bridge that listens on this machine only, and that nobody could use yet, makes one for the
// user who started it, who alone sees it. It reaches all that this user's bridge reaches over stdio.

import { ownCommand, shellWord } from '../../base/process/own-command.js';

import { isExpired, TokenFile, type TokenRecord } from './token-file.js';

export const FIRST_TOKEN_NAME = 'first-start';

/** Ends `change` without one; never leaves this file. */
class NotFirst extends Error {}

/**
 * Makes the token where there is none that lets somebody in; undefined where another process was faster. Its text is
 * nowhere but in what this returns. Throws E_STATE, and the reason of `signal`.
 */
export async function makeFirstToken(
  stateDir: string,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly text: string } | undefined> {
  const file = new TokenFile(stateDir);
  const name = freeName(file.read());
  const conflict = (tokens: readonly TokenRecord[]) => {
    if (tokens.some((token) => !isExpired(token))) throw new NotFirst();
  };
  try {
    const { text } = await file.add(
      name,
      { servers: '*', scopes: [], expiresAtMs: undefined },
      conflict,
      signal,
    );
    return { name, text };
  } catch (thrown) {
    if (thrown instanceof NotFirst) return undefined;
    throw thrown;
  }
}

/** An expired token may have the name. */
function freeName(tokens: readonly TokenRecord[]): string {
  const taken = new Set(tokens.map(({ name }) => name));
  for (let count = 1; ; count++) {
    const name = count === 1 ? FIRST_TOKEN_NAME : `${FIRST_TOKEN_NAME}-${count}`;
    if (!taken.has(name)) return name;
  }
}

/** Text that tells the user of the token, once, on stderr; `endpoint` is the address of `/mcp`. Ends with a newline. */
export function firstTokenText(
  { name, text }: { readonly name: string; readonly text: string },
  endpoint: string,
): string {
  const header = `Authorization: Bearer ${text}`;
  const entry = {
    mcpServers: { sandbox: { type: 'http', url: endpoint, headers: { Authorization: `Bearer ${text}` } } },
  };
  return `
Nobody could use this bridge yet, so a token was made. It is shown only now:

  ${text}

A host is registered with it like this (Claude Code), or by an entry with the header:

  claude mcp add --transport http sandbox ${shellWord(endpoint)} --header ${shellWord(header)}
  ${JSON.stringify(entry)}

It reaches every server that this bridge may use. Others get tokens of their own, and this one can be revoked:

  ${ownCommand('token', 'create', 'NAME', '--servers', 'SERVER')}
  ${ownCommand('token', 'revoke', name)}

`;
}
