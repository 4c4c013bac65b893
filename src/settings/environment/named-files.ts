// Files and folders that settings name and that are not there. Looked for at the start, by their paths alone: whether what
// lies there can be used is for those who read it. Reads no file.

import { statSync } from 'node:fs';
import { problem, type SettingProblem, shownValue } from './setting-problems.js';
import type { Settings } from './settings.js';

type PathSettings = Pick<Settings, 'explicitlySet' | 'serversConfig' | 'snippetsDir' | 'runtime'>;

/** A problem for each path that leads nowhere, or to another kind of thing. */
export function absentFiles(settings: PathSettings): readonly SettingProblem[] {
  const { explicitlySet, serversConfig, snippetsDir } = settings;
  const files = serversConfig.flatMap((file) =>
    kindAt(file) === undefined
      ? [absent('MCP_SERVERS_CONFIG', file, 'a file that exists, or several separated as in PATH')]
      : [],
  );
  if (!explicitlySet.has('MCP_BRIDGE_SNIPPETS') || snippetsDir === undefined) return files;
  const found = kindAt(snippetsDir);
  if (found === 'folder') return files;
  return [
    ...files,
    found === undefined
      ? absent('MCP_BRIDGE_SNIPPETS', snippetsDir, 'a folder that exists')
      : problem(
          'MCP_BRIDGE_SNIPPETS',
          `MCP_BRIDGE_SNIPPETS is ${shownValue(snippetsDir)}, which is no folder; allowed: a folder that exists.`,
        ),
  ];
}

/** The engine's client, where its path is set. A command that runs code asks it at once, and says the same. */
export function absentEngine({ runtime }: PathSettings): readonly SettingProblem[] {
  if (runtime === undefined || !/[\\/]/.test(runtime) || kindAt(runtime) === 'file') return [];
  return [absent('MCP_BRIDGE_RUNTIME', runtime, 'auto, podman, docker or the path of a program that exists')];
}

const absent = (name: string, path: string, allowed: string): SettingProblem =>
  problem(name, `${name} is ${shownValue(path)}, which does not exist (ENOENT); allowed: ${allowed}.`);

/** Undefined where nothing is there; what may not be looked at counts as there. */
function kindAt(path: string): 'file' | 'folder' | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    return stat.isDirectory() ? 'folder' : 'file';
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ENOTDIR' ? undefined : 'file';
  }
}
