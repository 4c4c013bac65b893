// How long each host waits for the answer of a call, by the name under which it greets (clientInfo.name). docs/long-runs.md has
// the table, with how each figure was found (`npm run test:agents -- --long`).

import { isNamed } from './host-views.js';

export type HostPatience = {
  /** Seconds until it gives a call up that says nothing. */
  readonly silent: number;
  /** The same for one that tells of its progress, where it wants to be told; absent where that changes nothing. */
  readonly told?: number;
};

const HOUR = 3_600;

const HOSTS: Readonly<Record<string, HostPatience>> = {
  // Half an hour without a word over stdio, five minutes over HTTP, which is not told apart here.
  'claude-code': { silent: 300, told: 27 * HOUR },
  'codex-mcp-client': { silent: 300 },
  'gemini-cli-mcp-client': { silent: 600 },
  // What it waits for at least: nobody has tried longer.
  opencode: { silent: 60, told: 700 },
};

/** What the SDK's client waits where its program says nothing, and with it nearly everybody. */
const USUAL: HostPatience = { silent: 60 };
/** For the answer to be written, sent and read; of a long wait it is lost in it. */
const SPARE_SECONDS = 10;

/** Seconds after which a call of this client is to be answered. `isTold`: it hears of the call's progress. */
export function patienceOf(client: string, isTold: boolean): number {
  const { silent, told = silent } = hostPatience(client);
  return (isTold ? told : silent) - SPARE_SECONDS;
}

/** `client` is a name, or a name and a version behind a space. */
export function hostPatience(client: string): HostPatience {
  const name = Object.keys(HOSTS).find((known) => isNamed(client, known));
  return (name === undefined ? undefined : HOSTS[name]) ?? USUAL;
}
