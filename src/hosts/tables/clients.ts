// Facts about hosts as clients of the bridge, by the name under which each greets (clientInfo.name), and what holds for all
// other clients. The records' facts about Claude Code, Codex, Gemini CLI and OpenCode were seen in the real programs: the views
// by `npm run test:agents` (docs/hosts.md has the table), the patience by `npm run test:agents -- --long` (docs/long-runs.md).

import type { HostClient, HostPatience, HostView } from '../terms/host.js';
import { ALL_HOSTS } from './all-hosts.js';

/** Safe wherever nobody has looked: both addresses in the text, and links for hosts that make buttons of them. */
const UNKNOWN: HostView = { paths: true, links: true, showsStructured: false };

/** The time that the SDK's client waits where its program sets none, and with it nearly every client. */
const USUAL: HostPatience = { silent: 60 };
/** For the answer to be written, sent and read; of a long wait it is lost in it. */
const SPARE_SECONDS = 10;

/**
 * Arguments that hosts add to the schema of every tool, whoever calls, since programs that were made from one of these hosts do
 * the same under names of their own.
 */
export const ADDED_ARGUMENTS: ReadonlySet<string> = new Set(
  ALL_HOSTS.flatMap(({ client }) => client?.addedArguments ?? []),
);

/** `client` is a name, or a name and a version behind a space. */
export const hostView = (client: string): HostView => knownClient(client)?.view ?? UNKNOWN;

/** Seconds after which a call of this client is to be answered. `isTold`: it hears of the call's progress. */
export function patienceOf(client: string, isTold: boolean): number {
  const { silent, told = silent } = knownClient(client)?.patience ?? USUAL;
  return (isTold ? told : silent) - SPARE_SECONDS;
}

function knownClient(client: string): HostClient | undefined {
  const isNamed = (known: string) => client === known || client.startsWith(`${known} `);
  return ALL_HOSTS.find((host) => host.client !== undefined && isNamed(host.client.name))?.client;
}
