// The OCI configuration that the engine has made for a template, as the configuration of one sandbox: with a control group and
// files of its own, and otherwise as it is. What two sandboxes could not share without seeing each other is refused. Pure.

import { z } from 'zod';

const mount = z.looseObject({
  destination: z.string(),
  type: z.string().optional(),
  source: z.string().optional(),
});

const ociConfig = z.looseObject({
  process: z.looseObject({
    selinuxLabel: z.string().optional(),
    user: z.looseObject({ uid: z.number(), gid: z.number(), additionalGids: z.array(z.number()).optional() }),
  }),
  root: z.looseObject({ path: z.string() }),
  mounts: z.array(mount),
  hooks: z.record(z.string(), z.array(z.unknown()).nullish()).nullish(),
  linux: z.looseObject({
    cgroupsPath: z.string().optional(),
    namespaces: z.array(z.looseObject({ type: z.string(), path: z.string().optional() })),
  }),
});
export type OciConfig = z.infer<typeof ociConfig>;

/** Throws for what is no configuration of a container on Linux. */
export const parseConfig = (text: string): OciConfig => ociConfig.parse(JSON.parse(text));

/** Namespaces without which a sandbox would share something with the host, or with another sandbox. */
const NAMESPACES = ['pid', 'network', 'ipc', 'uts', 'mount', 'user', 'cgroup'];
/** Letters that separate what is said of an overlay. */
const SEPARATORS = /[,:\\\n]/;

/** The reason why no sandbox can be made of the template `id` with this configuration; undefined where one can. */
export function whyUnfit({ process, root, hooks, linux }: OciConfig, id: string): string | undefined {
  const { cgroupsPath, namespaces } = linux;
  // The engine gives each container categories of its own, by which SELinux keeps it from the others.
  if ((process.selinuxLabel ?? '') !== '') return 'SELinux labels each container of the engine for itself';
  if (Object.values(hooks ?? {}).some((list) => (list ?? []).length > 0))
    return 'hooks run with each container of the engine';
  const shared = namespaces.find(({ path = '' }) => path !== '');
  if (shared !== undefined) return `its ${shared.type} namespace is made by the engine`;
  const missing = NAMESPACES.find((wanted) => !namespaces.some(({ type }) => type === wanted));
  if (missing !== undefined) return `it has no ${missing} namespace of its own`;
  if (cgroupsPath !== undefined && !cgroupsPath.includes(id)) return 'its control group is not its own';
  if (SEPARATORS.test(root.path)) return 'the path of its root has a comma, a colon or a backslash';
  return undefined;
}

/** Whether the runtime has to ask systemd for a control group. */
export const isBySystemd = ({ linux }: OciConfig): boolean => /^[^/]*:[^/]*:/.test(linux.cgroupsPath ?? '');

/** Paths of the files that the engine has made for the container `id` and for no other. */
export const ownFiles = ({ mounts }: OciConfig, id: string): readonly string[] =>
  mounts.flatMap(({ source, type }) => (type === 'bind' && source?.includes(id) === true ? [source] : []));

/** A user and a group of the container. */
export type InnerUser = { readonly uid: number; readonly gid: number };

/** The configuration of the sandbox `name` of `user`, which has the file `placeOf(path)` for each that is the template's own. */
export function configFor(
  config: OciConfig,
  {
    id,
    name,
    user,
    placeOf,
  }: { id: string; name: string; user: InnerUser; placeOf: (path: string) => string },
): OciConfig {
  const own = new Set(ownFiles(config, id));
  const { mounts, linux, process } = config;
  const group = linux.cgroupsPath?.replace(/[^/:]*$/, name);
  return {
    ...config,
    process: { ...process, user: asUser(process.user, user) },
    mounts: mounts.map((one) =>
      one.source !== undefined && own.has(one.source) ? { ...one, source: placeOf(one.source) } : one,
    ),
    linux: { ...linux, ...(group === undefined ? {} : { cgroupsPath: group }) },
  };
}

const asUser = (template: OciConfig['process']['user'], { uid, gid }: InnerUser): typeof template => ({
  ...template,
  uid,
  gid,
  ...(template.additionalGids === undefined
    ? {}
    : { additionalGids: template.additionalGids.map((one) => (one === template.gid ? gid : one)) }),
});

/**
 * The engine's list of users or of groups (/etc/passwd, /etc/group) for another user: the engine adds a line for one whom the image
 * does not know, named by its id. Other files are as they were.
 */
export function listFor(text: string, template: InnerUser, { uid, gid }: InnerUser): string {
  if (template.uid === uid && template.gid === gid) return text;
  return text
    .split('\n')
    .map((line) => {
      const words = line.split(':');
      const [name, , id, group] = words;
      const isUser = words.length === 7 && name === String(template.uid) && id === name;
      if (isUser && group === String(template.gid))
        return [uid, words[1], uid, gid, ...words.slice(4)].join(':');
      const isGroup = words.length === 4 && name === String(template.gid) && id === name;
      const members = group === String(template.uid) ? String(uid) : group;
      return isGroup ? [gid, words[1], gid, members].join(':') : line;
    })
    .join('\n');
}
