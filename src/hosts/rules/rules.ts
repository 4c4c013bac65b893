// Rules of a host for a server beside the server's own entry, as adopt needs to know them. The words of the reasons stand with
// the host that has them. A rule that cannot be kept by a list of tools is a reason to leave the server alone.

import { namePattern } from '../../base/text/name-pattern.js';

/** A tool that is not to be called here, and what the host would have done with it. */
export type DeniedTool = { readonly tool: string; readonly why: string };

export type HostRules = {
  /** Why the server stays in the host; undefined where nothing speaks against moving it. */
  readonly leave?: string | undefined;
  /** The only tools that the host calls without asking, where it asks before the others; undefined means no such list. */
  readonly only?: { readonly tools: readonly string[]; readonly why: string } | undefined;
  readonly denied: readonly DeniedTool[];
};

export const NO_RULES: HostRules = { denied: [] };

/** Facts from which the rules of a host are read. */
export type RulesContext = {
  readonly server: string;
  readonly entry: Readonly<Record<string, unknown>>;
  /** Our own entry in the host and the name it has, or will have. */
  readonly own: { readonly name: string; readonly entry: Readonly<Record<string, unknown>> };
  /** Reads the file of this pattern (see source-files.ts), if the file is there; a broken one throws E_CONFIG. */
  readonly read: (pattern: string) => ReadonlyArray<{ readonly file: string; readonly value: unknown }>;
};

export type ReadRules = (context: RulesContext) => HostRules;

/** `*` stands for any characters. */
export function matchesGlob(pattern: string, text: string): boolean {
  // No host gives a backslash a meaning.
  return namePattern(pattern.replaceAll('\\', '\\\\'), 'exact')(text);
}

export const asked = (host: string): string => `${host} asks before it, which cannot be done here`;

/** The list where only some tools may be called unasked; a server of which none may stays. */
export function onlyUnasked(host: string, tools: readonly string[], why: string): HostRules {
  if (tools.length === 0) return { leave: why, denied: [] };
  return { only: { tools, why: `${host} asks before all others` }, denied: [] };
}
