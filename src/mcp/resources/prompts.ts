// Prompts of the user's servers as a host lists them, out of what is kept of each server: starts nothing, asks nothing. Loaded
// with the first list of prompts, which hosts ask for at their start, so it imports little. What policy denies is not there.

import { clipHarmlessLine } from '../../base/text/text.js';
import type { Discovery } from '../../hosts/discovery/discover.js';
import type { Policy } from '../../policy/rules/policy.js';
import { promptNames, serverAliases } from '../../servers/catalog/catalog.js';
import { keptPrompts, type ServerPrompt } from '../../servers/catalog/kept-prompts.js';

/** A prompt of a server, and what hosts are told of it. */
export type OfferedPrompt = {
  readonly server: string;
  /** The server's own name of it. */
  readonly prompt: string;
  /** A Prompt of MCP; its name is `<alias>.<prompt>`, which no other one has. */
  readonly shown: {
    readonly name: string;
    readonly title: string;
    readonly description?: string;
    readonly arguments?: ServerPrompt['arguments'];
  };
};

/** More are no menu; those of the servers that are configured last are left out. */
const MAX_OFFERED = 2_000;
/** A menu has one line for it. */
const MAX_TITLE_CHARS = 200;

/** In the order of the configuration. `stateDir` is the folder of whoever has the servers. */
export function offeredPrompts({
  servers,
  stateDir,
}: {
  readonly servers: { readonly discovery: Pick<Discovery, 'ready'>; policy(): Pick<Policy, 'request'> };
  readonly stateDir: string;
}): readonly OfferedPrompt[] {
  const { ready } = servers.discovery;
  const policy = servers.policy();
  const aliases = serverAliases(ready.map(({ name }) => name));
  const isAllowed = (server: string) =>
    policy.request(server, 'prompts/list').allowed && policy.request(server, 'prompts/get').allowed;
  return ready
    .filter(({ name, takesName }) => takesName !== true && isAllowed(name))
    .flatMap((spec) => offeredBy(spec.name, aliases.get(spec.name) ?? spec.name, keptPrompts(stateDir, spec)))
    .slice(0, MAX_OFFERED);
}

function offeredBy(
  server: string,
  alias: string,
  prompts: readonly ServerPrompt[],
): readonly OfferedPrompt[] {
  const names = promptNames(prompts.map(({ name }) => name));
  return prompts.map(({ name, title, description, arguments: args }) => ({
    server,
    prompt: name,
    shown: {
      name: `${alias}.${names.get(name) ?? name}`,
      title: clipHarmlessLine(`${server}: ${title ?? name}`, MAX_TITLE_CHARS),
      ...(description === undefined ? {} : { description }),
      ...(args.length === 0 ? {} : { arguments: args }),
    },
  }));
}
