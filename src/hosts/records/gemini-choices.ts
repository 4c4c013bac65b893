// What the user, or the machine's administrator, has decided in Gemini CLI: servers that are allowed or excluded, ones
// that are switched off, and folders that are trusted. A project's own settings decide nothing here.

import { z } from 'zod';
import { isRecord, namesOf, saysOff } from '../../base/json/records.js';
import type { Environment } from '../../base/process/environment.js';
import type { ConfigFile } from '../../settings/files/config-file.js';
import { type HostFacts, pathRules } from '../../settings/files/host-facts.js';
import { pathKey } from '../../settings/files/same-path.js';
import { GEMINI_HOME, GEMINI_SYSTEM, GEMINI_USER } from './command-lines.js';
import type { HostDecisions } from './host-decisions.js';
import { filesOf, locate, realPath } from './source-files.js';

const names = z
  .unknown()
  .optional()
  .transform((said) => (said === undefined || said === null ? undefined : namesOf(said)));
const settings = z.looseObject({
  mcp: z.looseObject({ allowed: names, excluded: names }).catch({ allowed: undefined, excluded: undefined }),
  security: z.looseObject({ folderTrust: z.unknown() }).catch({ folderTrust: undefined }),
});

const HOST = 'Gemini CLI';

// biome-ignore lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way
const TRUSTED_FOLDERS = '${GEMINI_CLI_TRUSTED_FOLDERS_PATH}';

/** Gemini CLI compares names so. */
const normal = (name: string): string => name.toLowerCase().trim();

export function geminiDecisions(
  env: Environment,
  host: HostFacts,
  open: (file: string) => ConfigFile,
): HostDecisions {
  const parsedIn = (file: string | undefined): readonly unknown[] => {
    const found = file === undefined ? undefined : open(file);
    return found?.state === 'parsed' ? [found.value] : [];
  };
  const contentOf = (file: string | undefined): unknown => parsedIn(file)[0] ?? {};
  // The administrator's word comes before the user's.
  const said = [GEMINI_SYSTEM, GEMINI_USER]
    .flatMap((source) => filesOf(source, env, host))
    .flatMap(parsedIn)
    .flatMap((content) => settings.safeParse(content).data ?? []);
  const allowed = said.map(({ mcp }) => mcp.allowed).find((list) => list !== undefined && list.length > 0);
  const excluded = said.flatMap(({ mcp }) => mcp.excluded ?? []).map(normal);

  const [switches = ''] = locate(`${GEMINI_HOME}/mcp-server-enablement.json`, env, host);
  const switchesRefused = open(switches).state === 'refused';
  const switchedOff = new Set(
    Object.entries(recordOf(contentOf(switches))).flatMap(([name, state]) =>
      isRecord(state) && saysOff(state['enabled']) ? [normal(name)] : [],
    ),
  );

  const [folders] = [TRUSTED_FOLDERS, `${GEMINI_HOME}/trustedFolders.json`].flatMap((pattern) =>
    locate(pattern, env, host),
  );
  const asks = said.every(
    ({ security: { folderTrust } }) => !isRecord(folderTrust) || folderTrust['enabled'] !== false,
  );
  const trust = asks ? trustOf(host.cwd, recordOf(contentOf(folders)), host) : undefined;

  return {
    approval: () => (trust === undefined ? undefined : trust ? 'approved' : 'refused'),
    reasonOff: (name) => {
      if (trust === false) return { kind: 'folder-not-trusted', host: HOST };
      if (excluded.includes(normal(name))) return { kind: 'excluded', host: HOST, setting: 'mcp.excluded' };
      if (allowed !== undefined && !allowed.map(normal).includes(normal(name))) {
        return { kind: 'not-among-allowed', host: HOST, setting: 'mcp.allowed' };
      }
      // A file that cannot be read may have switched the server off.
      if (switchesRefused) return { kind: 'perhaps-disabled', host: HOST, file: switches };
      return switchedOff.has(normal(name)) ? { kind: 'disabled-in-host', host: HOST } : undefined;
    },
  };
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

/** The rule with the longest path above `folder` decides, as in Gemini CLI; undefined when none is. */
function trustOf(
  folder: string,
  rules: Readonly<Record<string, unknown>>,
  host: HostFacts,
): boolean | undefined {
  const { dirname, relative, isAbsolute } = pathRules(host);
  const below = pathKey(realPath(folder), host);
  const above = Object.entries(rules)
    .filter(([path, level]) => {
      const reach = relative(pathKey(realPath(level === 'TRUST_PARENT' ? dirname(path) : path), host), below);
      return reach !== '..' && !/^\.\.[/\\]/.test(reach) && !isAbsolute(reach);
    })
    .sort(([one], [other]) => other.length - one.length);
  const level = above[0]?.[1];
  if (level === 'DO_NOT_TRUST') return false;
  return level === 'TRUST_FOLDER' || level === 'TRUST_PARENT' ? true : undefined;
}
