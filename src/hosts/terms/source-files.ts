// Which files a row of the table of sources stands for on this machine. Finds them by name only; what is in them is
// the business of the readers.

import { readdirSync, realpathSync } from 'node:fs';
import { noteLink } from '../../base/files/asked-paths.js';
import type { Environment } from '../../base/process/environment.js';
import { absolutePath, type HostFacts, pathRules } from '../../settings/files/host-facts.js';
import { expand } from './expansions.js';
import type { Source } from './host.js';

/** The files of a source on this machine, absolute and in order of precedence; most of them need not exist. */
export function filesOf(source: Pick<Source, 'files'>, env: Environment, host: HostFacts): string[] {
  const { any = [], darwin = [], linux = [], win32 = [] } = source.files;
  const own = host.platform === 'darwin' ? darwin : host.platform === 'win32' ? win32 : linux;
  return [...any, ...own].flatMap((pattern) => locate(pattern, env, host));
}

/** The files that one pattern stands for. */
export function locate(pattern: string, env: Environment, host: HostFacts): readonly string[] {
  const places = placesBy(env, host);
  const place = places.get(pattern) ?? placeOf(pattern, env, host);
  places.set(pattern, place);
  return typeof place === 'function' ? place(host) : place;
}

/** Files of a pattern, wherever files are; or how to find them where that depends on what is there now. */
type Located = readonly string[] | ((host: HostFacts) => readonly string[]);

/** Places of patterns: each run asks for all of them, and neither the environment nor the machine's facts change under a bridge. */
const known = new WeakMap<
  Environment,
  Pick<HostFacts, 'cwd' | 'home' | 'platform'> & { readonly places: Map<string, Located> }
>();

function placesBy(env: Environment, { cwd, home, platform }: HostFacts): Map<string, Located> {
  const last = known.get(env);
  if (last?.cwd === cwd && last.home === home && last.platform === platform) return last.places;
  const places = new Map<string, Located>();
  known.set(env, { cwd, home, platform, places });
  return places;
}

function placeOf(pattern: string, env: Environment, host: HostFacts): Located {
  const [, prefix, rest = ''] = /^(\.\.\.|\^)\/(.*)$/.exec(pattern) ?? [];
  const { join } = pathRules(host);
  if (prefix === '^') return (now) => withinCheckout(now).map((folder) => join(folder, rest));
  if (prefix !== undefined) return ancestors(host).map((folder) => join(folder, rest));
  const parts = pattern.split('/');
  const star = parts.findIndex((part) => part.includes('*'));
  // Only a star of the pattern itself stands for names, not one that a variable brings.
  const start = star === -1 ? pattern : parts.slice(0, star).join('/');
  const { text, missing } = expand(start, namedIn(start, env));
  if (missing.length > 0) return [];
  const begin = absolutePath(text, host.cwd, host);
  return star === -1 ? [begin] : (now) => filesMatching(begin, parts.slice(star), now);
}

/** The variables that `text` names. An empty one means unset, as XDG asks. Each look at the environment is a system call. */
function namedIn(text: string, env: Environment): Environment {
  const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name);
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

function filesMatching(folder: string, [part = '', ...rest]: readonly string[], host: HostFacts): string[] {
  const { join } = pathRules(host);
  const names = part.includes('*') ? namesIn(folder, part, host) : [part];
  return names.flatMap((name) =>
    rest.length === 0 ? [join(folder, name)] : filesMatching(join(folder, name), rest, host),
  );
}

function namesIn(folder: string, part: string, host: HostFacts): string[] {
  if (!host.exists(folder)) return [];
  const [start = '', end = ''] = part.split('*');
  try {
    return readdirSync(folder)
      .filter((name) => name.startsWith(start) && name.endsWith(end) && !name.startsWith('.'))
      .sort();
  } catch {
    // Unreadable or not a folder: nobody put servers there.
    return [];
  }
}

/** The current folder and its parents, nearest first. */
export function ancestors(host: HostFacts): string[] {
  const rules = pathRules(host);
  const folders = [host.cwd];
  for (let folder = host.cwd; rules.dirname(folder) !== folder; ) {
    folder = rules.dirname(folder);
    folders.push(folder);
  }
  return folders;
}

/** The root of the git checkout around the current folder; undefined outside of one. */
export function checkoutRoot(host: HostFacts): string | undefined {
  const { join } = pathRules(host);
  return ancestors(host).find((folder) => host.exists(join(folder, '.git')));
}

/** The current folder and its parents up to the root of its checkout; outside of one, the current folder alone. */
export function withinCheckout(host: HostFacts): string[] {
  const root = checkoutRoot(host);
  const folders = ancestors(host);
  return root === undefined ? [host.cwd] : folders.slice(0, folders.indexOf(root) + 1);
}

/** The folder of the project that a project's file belongs to: the nearest of ours that holds it. */
export function workspaceOf(file: string, host: HostFacts): string {
  const { sep } = pathRules(host);
  const holder = ancestors(host).find((folder) =>
    file.startsWith(folder.endsWith(sep) ? folder : folder + sep),
  );
  return holder ?? host.cwd;
}

/** Where relative paths in a project's file begin: beside the file, but outside of the hidden folder that a host keeps. */
export function projectFolder(file: string, workspace: string, host: HostFacts): string {
  const { dirname, relative } = pathRules(host);
  const folder = dirname(file);
  return relative(workspace, folder).startsWith('.') ? workspace : folder;
}

/** The path without symbolic links, as hosts note folders; one that cannot be looked at stays as it is. */
export function realPath(path: string): string {
  noteLink(path);
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
