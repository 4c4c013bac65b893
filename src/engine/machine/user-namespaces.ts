// Why the kernel gives a rootless podman no user namespace: told from podman's own words and from what the machine's files
// say, so that nothing is claimed that neither has shown. The remedy lets that one program through where it can; a switch
// that protects every other program stays as it is.

import { realpathSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { type ReadText, readText } from '../../base/files/read-text.js';
import { environmentWith } from '../../base/process/process.js';
import { findProgram } from '../../base/process/start-of.js';
import { whyNoNamespace } from './client-words.js';

/** Questions that are put to the machine. */
export type NamespaceMachine = {
  readonly read: ReadText;
  /** The file behind a program's name, which is what AppArmor goes by; `isOwn`: it belongs to this user. */
  readonly find: (program: string) => { readonly path: string; readonly isOwn: boolean } | undefined;
};

const PROFILES = '/etc/apparmor.d';
/** Where distributions put podman, and what theirs is called there. */
const USUAL = { program: '/usr/bin/podman', profile: `${PROFILES}/podman` } as const;
/** Says the same everywhere that a shell reads it, and nothing else than itself in a profile. */
const PLAIN_PATH = /^\/[\w./+-]+$/;
/** Enough for one user's containers; it is counted for each user. */
const NAMESPACES = 1024;
const ELSEWHERE = 'Or use an engine on another machine: MCP_BRIDGE_ENGINE_URL (docs/remote-engines.md).';

const OTHERWISE =
  'Leave the kernel setting as it is. If it still fails, `sudo dmesg | grep -i apparmor` shows why.';

const forAll = (setting: string, value: number): string =>
  `The setting is for all users, so ask whoever set it. \`sudo sysctl -w ${setting}=${value}\` changes it until the next start; a file in /etc/sysctl.d changes it for good. ${ELSEWHERE}`;

/** Causes in the order in which the kernel looks at them, the surest first. */
const CAUSES: ReadonlyArray<{
  /** The file that has to say it, and what. */
  readonly file: string;
  readonly value: string;
  /** How a call ends that is refused for this. */
  readonly said: RegExp;
  readonly reason: string;
  readonly remedy: (program: string, machine: NamespaceMachine) => string;
}> = [
  {
    file: '/proc/sys/kernel/unprivileged_userns_clone',
    value: '0',
    said: /not permitted/,
    reason: 'kernel.unprivileged_userns_clone is 0 here: only root may have any.',
    remedy: () => forAll('kernel.unprivileged_userns_clone', 1),
  },
  {
    file: '/proc/sys/user/max_user_namespaces',
    value: '0',
    said: /No space/,
    reason: 'user.max_user_namespaces is 0 here: nobody may have any.',
    remedy: () => forAll('user.max_user_namespaces', NAMESPACES),
  },
  {
    file: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    value: '1',
    said: /not permitted|denied/,
    reason:
      'kernel.apparmor_restrict_unprivileged_userns is 1 here, as on Ubuntu: a program needs an AppArmor profile that allows them.',
    remedy: allowAdvice,
  },
  {
    file: '/sys/module/apparmor/parameters/enabled',
    value: 'Y',
    // The kernel itself says otherwise; only a security module denies.
    said: /clone: Permission denied/,
    reason: 'AppArmor is active here, and it refuses in this way what a profile does not allow.',
    remedy: () =>
      `\`sudo dmesg | grep userns_create\` shows whether it was AppArmor, and which profile. Add the line \`userns,\` to that profile in ${PROFILES}, then run \`sudo apparmor_parser -r FILE\`.`,
  },
];

/** Undefined where `stderr` is about something else, or nothing here explains it. */
export function noUserNamespace(
  program: string,
  stderr: string,
  machine: NamespaceMachine = thisMachine,
): { readonly reason: string; readonly remedy: string } | undefined {
  const words = whyNoNamespace(stderr);
  if (words === undefined) return undefined;
  const cause = CAUSES.find(
    ({ file, value, said }) => said.test(words) && machine.read(file)?.trim() === value,
  );
  if (cause === undefined) return undefined;
  return {
    reason: `the kernel refuses it user namespaces (${words}), and it needs one for each container. ${cause.reason}`,
    remedy: cause.remedy(program, machine),
  };
}

/** Loads the profile that allows it, or writes one for this program and no other. */
function allowAdvice(program: string, { read, find }: NamespaceMachine): string {
  const found = find(program);
  if (found === undefined || !PLAIN_PATH.test(found.path))
    return `Give ${found?.path ?? program} an AppArmor profile with \`userns,\` (docs/platforms.md shows one). Leave the kernel setting as it is.`;
  const { path, isOwn } = found;
  const allows = (file: string, of: string) =>
    (read(file) ?? '').split(/[\s{}]+/).includes(of) && /\buserns,/.test(read(file) ?? '');
  const named = `${PROFILES}/${path.slice(1).replaceAll('/', '.')}`;
  const known = [`${PROFILES}/${basename(path)}`, named].find((file) => allows(file, path));
  if (known !== undefined)
    return `Load the profile that allows it: \`sudo apparmor_parser -r ${known}\`. ${OTHERWISE}`;
  const profile = `'abi <abi/4.0>,' '${path} flags=(unconfined) { userns, }'`;
  const other = allows(USUAL.profile, USUAL.program)
    ? ` Or use your distribution's ${USUAL.program}, which has a profile here.`
    : '';
  const own = isOwn ? ` ${path} belongs to you, so a program that replaces it may do the same.` : '';
  return `Allow it for this program: \`printf '%s\\n' ${profile} | sudo tee ${named} && sudo apparmor_parser -r ${named}\`.${other}${own} ${OTHERWISE}`;
}

const thisMachine: NamespaceMachine = {
  read: readText,
  find: (program) => {
    try {
      const path = realpathSync(findProgram(program, environmentWith({})) ?? program);
      return { path, isOwn: statSync(path).uid === process.getuid?.() };
    } catch {
      return undefined;
    }
  },
};
