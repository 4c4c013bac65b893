// Which entries are one and the same server under several names or in several hosts. Judges definitions by their words;
// connects to nothing.

import type { DownstreamSpec } from '../downstream-spec.js';

/**
 * Two entries are one server when they say the same of everything that the server sees of them, and leave out the same
 * tools. One variable more may be what makes a server read only, and whoever wrote two entries means two.
 */
export class Definitions {
  readonly #known = new Map<string, DownstreamSpec>();

  /** The first one added that is the same server. */
  twinOf(spec: DownstreamSpec): DownstreamSpec | undefined {
    return this.#known.get(identityOf(spec));
  }

  add(spec: DownstreamSpec): void {
    const identity = identityOf(spec);
    if (!this.#known.has(identity)) this.#known.set(identity, spec);
  }
}

/** Not the name, the description and the time limits: those are for us and not for the server. */
function identityOf(spec: DownstreamSpec): string {
  const { only, except } = spec.toolFilter;
  const tools = [only && [...only].sort(), [...except].sort()];
  if (spec.transport === 'stdio')
    return JSON.stringify([tools, spec.command, spec.args, spec.cwd ?? null, inOrder(spec.env)]);
  const headers = Object.entries(spec.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const { headersHelper = null, oauth } = spec;
  const login = oauth && [{ ...oauth, scopes: [...oauth.scopes].sort() }];
  return JSON.stringify([
    tools,
    new URL(spec.url).href,
    inOrder(Object.fromEntries(headers)),
    headersHelper,
    login,
  ]);
}

const inOrder = (values: Readonly<Record<string, string>>): ReadonlyArray<readonly [string, string]> =>
  Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1));
