// Environment variables, by the rules of a system: Windows spells `Path` in any case and means one variable, everywhere else
// `Path` and `PATH` are two; and where Linux has what a variable would name. Reads no environment itself.

export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a variable in a plain object that holds an environment of Windows, whatever the case of its name there. */
export function windowsVariable(env: Environment, name: string): string | undefined {
  const wanted = name.toUpperCase();
  // Node hands the first in alphabetical order to a program when several spellings are there, so that one counts.
  const spelling = Object.keys(env)
    .filter((one) => one.toUpperCase() === wanted)
    .sort()[0];
  return spelling === undefined ? undefined : env[spelling];
}

/** `base` with `own` on top. On Windows a variable of `own` replaces every other spelling of its name in `base`. */
export function mergedVariables<T extends string | undefined>(
  base: Readonly<Record<string, T>>,
  own: Readonly<Record<string, T>>,
  platform: NodeJS.Platform,
): Record<string, T> {
  if (platform !== 'win32') return { ...base, ...own };
  const names = new Set(Object.keys(own).map((name) => name.toUpperCase()));
  const others = Object.entries(base).filter(([name]) => !names.has(name.toUpperCase()));
  return { ...Object.fromEntries(others), ...own };
}

/** A program in the system's own folder of Windows, by its full path: a bare name could be a file in the working directory. */
export function windowsSystemProgram(name: string, env: Environment): string {
  const root = windowsVariable(env, 'SystemRoot');
  // Each user and program may set it; only a path with a drive is what Windows itself sets.
  const folder = root !== undefined && /^[A-Za-z]:\\/.test(root) ? root : 'C:\\Windows';
  return `${folder.replace(/\\$/, '')}\\System32\\${name}`;
}

/** Address of the session bus of a user: what the environment says, or else the first of its usual places that is there. */
export function sessionBus(
  { DBUS_SESSION_BUS_ADDRESS: said, XDG_RUNTIME_DIR: runtime }: Environment,
  uid: number | undefined,
  exists: (path: string) => boolean,
): string | undefined {
  if (said) return said;
  const folders = [runtime, uid === undefined ? undefined : `/run/user/${uid}`];
  const usual = folders.flatMap((folder) => (folder ? [`${folder}/bus`] : []));
  const found = usual.find(exists);
  return found === undefined ? undefined : `unix:path=${found}`;
}
