// Gemini CLI. Its user, or the machine's administrator, can have allowed or excluded servers, switched some off, and trusted
// folders; a project's own settings decide nothing of it.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { z } from 'zod';
import { isObject, namesOf, saysOff, textsOf } from '../../base/json/records.js';
import { type HostFacts, pathKey, pathRules } from '../../settings/files/host-facts.js';
import { MS, PROGRAM, REMOTE, timeout } from '../terms/dialect.js';
import { type Host, PROGRAM_FIELDS, plainEntry, REMOTE_FIELDS, type ReadDecisions } from '../terms/host.js';
import { filesOf, locate, realPath } from '../terms/source-files.js';

const TITLE = 'Gemini CLI';
/** Where Gemini CLI keeps the user's side. */
export const HOME = '${GEMINI_CLI_HOME:-~}/.gemini';

/** The administrator's, which comes before all others. */
const SYSTEM: Host['sources'][number] = {
  scope: 'managed',
  files: {
    darwin: ['${GEMINI_CLI_SYSTEM_SETTINGS_PATH:-/Library/Application Support/GeminiCli/settings.json}'],
    linux: ['${GEMINI_CLI_SYSTEM_SETTINGS_PATH:-/etc/gemini-cli/settings.json}'],
    win32: ['${GEMINI_CLI_SYSTEM_SETTINGS_PATH:-C:\\ProgramData\\gemini-cli\\settings.json}'],
  },
};
const USER: Host['sources'][number] = { scope: 'user', files: { any: [`${HOME}/settings.json`] } };

const names = z
  .unknown()
  .optional()
  .transform((said) => (said === undefined || said === null ? undefined : namesOf(said)));
const settings = z.looseObject({
  mcp: z.looseObject({ allowed: names, excluded: names }).catch({ allowed: undefined, excluded: undefined }),
  security: z.looseObject({ folderTrust: z.unknown() }).catch({ folderTrust: undefined }),
});

const TRUSTED_FOLDERS = '${GEMINI_CLI_TRUSTED_FOLDERS_PATH}';

/** Gemini CLI compares names so. */
const normaliseName = (name: string): string => name.toLowerCase().trim();

const decisions: ReadDecisions = (env, host, open) => {
  const parsedIn = (file: string | undefined): readonly unknown[] => {
    const found = file === undefined ? undefined : open(file);
    return found?.state === 'parsed' ? [found.value] : [];
  };
  const contentOf = (file: string | undefined): unknown => parsedIn(file)[0] ?? {};
  // The administrator's word comes before the user's.
  const said = [SYSTEM, USER]
    .flatMap((source) => filesOf(source, env, host))
    .flatMap(parsedIn)
    .flatMap((content) => settings.safeParse(content).data ?? []);
  const allowed = said.map(({ mcp }) => mcp.allowed).find((list) => list !== undefined && list.length > 0);
  const excluded = said.flatMap(({ mcp }) => mcp.excluded ?? []).map(normaliseName);

  const [switches = ''] = locate(`${HOME}/mcp-server-enablement.json`, env, host);
  const switchesRefused = open(switches).state === 'refused';
  const switchedOff = new Set(
    Object.entries(recordOf(contentOf(switches))).flatMap(([name, state]) =>
      isObject(state) && saysOff(state['enabled']) ? [normaliseName(name)] : [],
    ),
  );

  const [folders] = [TRUSTED_FOLDERS, `${HOME}/trustedFolders.json`].flatMap((pattern) =>
    locate(pattern, env, host),
  );
  const asks = said.every(
    ({ security: { folderTrust } }) => !isObject(folderTrust) || folderTrust['enabled'] !== false,
  );
  const trust = asks ? trustOf(host.cwd, recordOf(contentOf(folders)), host) : undefined;

  return {
    approval: () => (trust === undefined ? undefined : trust ? 'approved' : 'refused'),
    reasonOff: (name) => {
      if (trust === false) return { kind: 'folder-not-trusted', host: TITLE };
      if (excluded.includes(normaliseName(name)))
        return { kind: 'excluded', host: TITLE, setting: 'mcp.excluded' };
      if (allowed !== undefined && !allowed.map(normaliseName).includes(normaliseName(name))) {
        return { kind: 'not-among-allowed', host: TITLE, setting: 'mcp.allowed' };
      }
      // A file that cannot be read may have switched the server off.
      if (switchesRefused) return { kind: 'perhaps-disabled', host: TITLE, file: switches };
      return switchedOff.has(normaliseName(name)) ? { kind: 'disabled-in-host', host: TITLE } : undefined;
    },
  };
};

const recordOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});

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

export const geminiCli: Host = {
  title: TITLE,
  dialect: {
    types: { stdio: 'stdio', http: 'http', sse: 'sse' },
    addresses: { httpUrl: 'http', url: 'sse' },
    fields: { ...PROGRAM, ...REMOTE, only: 'includeTools', except: 'excludeTools' },
    callTimes: timeout(MS),
    startTimes: [],
    refuse: ({ authProviderType: provider }) =>
      typeof provider === 'string' && provider !== 'dynamic_discovery'
        ? { kind: 'host-sign-in', host: TITLE, provider }
        : undefined,
    // `name(arguments)` allows a tool for certain arguments only, and is the tool's name nevertheless.
    reshape: (entry) =>
      Array.isArray(entry['includeTools'])
        ? { ...entry, includeTools: textsOf(entry['includeTools']).map((name) => name.replace(/\(.*$/s, '')) }
        : entry,
  },
  expansion: 'gemini-cli',
  sources: [SYSTEM, { scope: 'project', files: { any: ['./.gemini/settings.json'] } }, USER],
  decisions,
  client: {
    name: 'gemini-cli-mcp-client',
    // Shows `structuredContent` beside the text when a call has failed. Of more than 40,000 characters, it keeps head and tail.
    // Gemini CLI's read_mcp_resource knows only resources that resources/list has named; it asks again when told of a change.
    view: { roomBytes: 39_500, paths: true, links: false, showsStructured: true },
    patience: { silent: 600 },
    // Gemini CLI tells its model to set this argument, heeds it when it orders the calls of one turn, and passes it on.
    addedArguments: ['wait_for_previous'],
  },
  install: {
    id: 'gemini',
    programs: ['gemini'],
    // Antigravity has its files in the same folder.
    signs: [`${HOME}/settings.json`],
    isDesktop: false,
    entry: plainEntry,
    adopt: {
      fields: [
        ...[...PROGRAM_FIELDS, ...REMOTE_FIELDS, 'httpUrl', 'type', 'timeout', 'trust'],
        ...['includeTools', 'excludeTools'],
      ],
      handsOnVariables: false,
    },
  },
};
