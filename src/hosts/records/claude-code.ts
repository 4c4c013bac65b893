// What the user has decided in Claude Code about servers: which are switched off, and which of a project's own
// file may start. Reads files that the user's own Claude Code writes: in the project, only its settings.local.json, and
// that only where the user has said to trust the folder, since a stranger's repository may bring one along.

import { z } from 'zod';
import { namesOf } from '../../base/json/records.js';
import type { Environment } from '../../base/process/environment.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { keyOfPath } from '../../settings/files/same-path.js';
import { checkoutRoot, filesOf, locate, withinCheckout } from './source-files.js';
import { CLAUDE_LOCAL, CLAUDE_SETTINGS } from './sources.js';

const names = z.array(z.string()).catch([]);
const namesOff = z.unknown().optional().transform(namesOf);
const decisions = z.looseObject({
  enabledMcpjsonServers: names,
  disabledMcpjsonServers: namesOff,
  disabledMcpServers: namesOff,
  enableAllProjectMcpServers: z.boolean().catch(false),
});
const trust = z.looseObject({ hasTrustDialogAccepted: z.boolean().catch(false) });
const state = z.looseObject({ projects: z.record(z.string(), z.unknown()).catch({}) });

export type ClaudeDecisions = {
  /** What the user decided on a server of a project's `.mcp.json`; undefined when not asked yet. */
  approval(name: string): 'approved' | 'refused' | undefined;
  /** Whether any server of Claude Code is switched off. */
  isOff(name: string): boolean;
};

/** `read` gives the parsed content of a file, or undefined. */
export function claudeDecisions(
  env: Environment,
  host: HostFacts,
  read: (file: string) => unknown,
): ClaudeDecisions {
  const [stateFile = ''] = filesOf(CLAUDE_LOCAL, env, host);
  const [settingsFile = ''] = locate(CLAUDE_SETTINGS, env, host);
  const projects = state.safeParse(read(stateFile)).data?.projects ?? {};
  const key = keyOfProject(projects, host);
  const entry = key === undefined ? undefined : projects[key];
  // Whoever trusts the home folder has not thereby read what is cloned below it.
  const isTrusted = withinCheckout(host).some((folder) => {
    const known = keyOf(projects, folder, host);
    return known !== undefined && trust.safeParse(projects[known]).data?.hasTrustDialogAccepted;
  });
  const local = isTrusted ? locate('./.claude/settings.local.json', env, host).map(read) : [];
  const said = [entry, read(settingsFile), ...local].flatMap(
    (value) => decisions.safeParse(value).data ?? [],
  );
  return {
    approval: (name) => {
      if (said.some((one) => one.disabledMcpjsonServers.includes(name))) return 'refused';
      const approved = said.some(
        (one) => one.enableAllProjectMcpServers || one.enabledMcpjsonServers.includes(name),
      );
      return approved ? 'approved' : undefined;
    },
    isOff: (name) => said.some((one) => one.disabledMcpServers.includes(name)),
  };
}

/**
 * The key of the current project in Claude Code's state: the root of the git checkout, else the folder itself, on Windows
 * with slashes; undefined when it knows nothing of the project.
 */
export function keyOfProject(
  projects: Readonly<Record<string, unknown>>,
  host: HostFacts,
): string | undefined {
  return keyOf(projects, checkoutRoot(host) ?? host.cwd, host);
}

/** When a folder is there in both spellings, the one that Claude Code writes today comes first. */
function keyOf(
  projects: Readonly<Record<string, unknown>>,
  folder: string,
  host: HostFacts,
): string | undefined {
  const written = host.platform === 'win32' ? folder.replaceAll('\\', '/') : folder;
  return keyOfPath(projects, written, host);
}
