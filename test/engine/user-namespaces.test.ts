// Why a kernel gives podman no user namespace, from podman's own words and from what files of the machine say.

import { describe, expect, it } from 'vitest';
import { type NamespaceMachine, noUserNamespace } from '../../src/engine/machine/user-namespaces.js';

const RESTRICT = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns';
const CLONE = '/proc/sys/kernel/unprivileged_userns_clone';
const MOST = '/proc/sys/user/max_user_namespaces';
const APPARMOR = '/sys/module/apparmor/parameters/enabled';
/** As podman 4.3 and 5.4 end where the kernel refuses; before it may stand warnings. */
const refusal = (errno: string, more = '') =>
  `time="…" level=warning msg="\\"/\\" is not a shared mount"\ncannot clone: ${errno}\n${more}Error: cannot re-exec process\n`;
const DENIED = refusal('Permission denied');
const NOT_PERMITTED = refusal('Operation not permitted');
const NO_SPACE = refusal('No space left on device', `user namespaces are not enabled in ${MOST}\n`);

/** A machine with these files, whose podman is root's at `program`. */
const machine = (
  files: Readonly<Record<string, string>>,
  program = '/usr/local/bin/podman',
  isOwn = false,
): NamespaceMachine => ({
  read: (path) => files[path],
  find: () => ({ path: program, isOwn }),
});
const trouble = (words: string, ...facts: Parameters<typeof machine>) =>
  noUserNamespace('podman', words, machine(...facts));

describe('where AppArmor is told to restrict user namespaces, as on Ubuntu', () => {
  it.each([
    ['the call is refused', DENIED],
    ['the call is refused by the missing capability', NOT_PERMITTED],
    ['podman may not be started again in it', 'failed to reexec: Permission denied\n'],
    [
      'ids cannot be mapped',
      'newuidmap: write to uid_map failed: Operation not permitted\nError: cannot set up namespace using "/usr/bin/newuidmap": exit status 1\n',
    ],
    ['the mapped ids cannot be taken', 'cannot setresgid: Operation not permitted\n'],
  ])('%s: the cause is named, and a profile for that program alone', (_title, words) => {
    const found = trouble(words, { [RESTRICT]: '1\n', [CLONE]: '1\n', [MOST]: '11814\n', [APPARMOR]: 'Y\n' });
    expect(found?.reason).toContain('kernel.apparmor_restrict_unprivileged_userns is 1');
    expect(found?.reason).toContain('AppArmor');
    expect(found?.remedy).toContain(
      "'/usr/local/bin/podman flags=(unconfined) { userns, }' | sudo tee /etc/apparmor.d/usr.local.bin.podman && sudo apparmor_parser -r /etc/apparmor.d/usr.local.bin.podman",
    );
    expect(found?.remedy).not.toMatch(/sysctl|=\s*0/);
  });

  it('quotes what podman said of it, and not its warnings', () => {
    expect(trouble(DENIED, { [RESTRICT]: '1' })?.reason).toMatch(/\(cannot clone: Permission denied\)/);
  });

  it("a profile that is there already, as Ubuntu's for /usr/bin/podman, is loaded", () => {
    const profile = 'profile podman /usr/bin/podman flags=(unconfined) {\n  userns,\n}\n';
    const files = { [RESTRICT]: '1', '/etc/apparmor.d/podman': profile };
    const own = trouble(DENIED, files, '/usr/bin/podman');
    expect(own?.remedy).toContain('sudo apparmor_parser -r /etc/apparmor.d/podman`');
    expect(own?.remedy).not.toContain('tee');
    const other = trouble(DENIED, files, '/usr/local/bin/podman');
    expect(other?.remedy).toContain('sudo tee /etc/apparmor.d/usr.local.bin.podman');
    expect(other?.remedy).toContain('/usr/bin/podman');
  });

  it('says that a program which is the user’s own may be replaced by any other', () => {
    expect(trouble(DENIED, { [RESTRICT]: '1' }, '/home/me/bin/podman', true)?.remedy).toMatch(
      /belongs to you/,
    );
    expect(trouble(DENIED, { [RESTRICT]: '1' })?.remedy).not.toMatch(/belongs to you/);
  });

  it.each([
    ['/opt/my podman/podman'],
    ["/opt/it's/podman"],
    ['/opt/{a,b}/podman'],
    ['/opt/*/podman'],
    [undefined],
  ])('puts no odd or unknown path into a command: %s', (path) => {
    const remedy = noUserNamespace('podman', DENIED, {
      read: (file) => (file === RESTRICT ? '1' : undefined),
      find: () => (path === undefined ? undefined : { path, isOwn: false }),
    })?.remedy;
    expect(remedy).toMatch(/profile with `userns,`/);
    expect(remedy).not.toMatch(/sudo/);
  });
});

it('a profile without the right refuses also where the switch is unknown: the log says which', () => {
  const found = trouble(DENIED, { [APPARMOR]: 'Y\n', [CLONE]: '1\n', [MOST]: '11814\n' });
  expect(found?.reason).toMatch(/AppArmor is active here/);
  expect(found?.reason).not.toContain('restrict_unprivileged_userns');
  expect(found?.remedy).toMatch(/sudo dmesg \| grep userns_create.*`userns,`.*apparmor_parser -r/);
});

it('a kernel that keeps them from everybody is told apart from one that allows none', () => {
  const clone = trouble(NOT_PERMITTED, { [CLONE]: '0\n', [MOST]: '11814\n', [APPARMOR]: 'Y\n' });
  expect(clone?.reason).toContain('kernel.unprivileged_userns_clone is 0');
  expect(clone?.reason).not.toContain('AppArmor');
  expect(clone?.remedy).toMatch(/kernel\.unprivileged_userns_clone=1.*MCP_BRIDGE_ENGINE_URL/);
  const most = trouble(NO_SPACE, { [CLONE]: '1\n', [MOST]: '0\n', [APPARMOR]: 'Y\n', [RESTRICT]: '1\n' });
  expect(most?.reason).toContain('user.max_user_namespaces is 0');
  expect(most?.reason).not.toContain('AppArmor');
  expect(most?.remedy).toMatch(/user\.max_user_namespaces=\d+.*MCP_BRIDGE_ENGINE_URL/);
});

it.each([
  ['another trouble of podman', 'Error: mkdir /run/user/1000: permission denied\n', { [RESTRICT]: '1' }],
  ['nothing said', '', { [RESTRICT]: '1', [MOST]: '0', [CLONE]: '0' }],
  ['no switch and no AppArmor', DENIED, { [MOST]: '1000' }],
  ['AppArmor off', DENIED, { [APPARMOR]: 'N\n' }],
  ['an error that AppArmor does not give', NO_SPACE, { [RESTRICT]: '1', [APPARMOR]: 'Y', [MOST]: '9' }],
  ['a switch that is not set', NOT_PERMITTED, { [RESTRICT]: '0', [CLONE]: '1', [APPARMOR]: 'Y' }],
  ['a filter of system calls', NOT_PERMITTED, { [APPARMOR]: 'Y\n' }],
])('claims nothing for %s', (_title, words, files) => {
  expect(trouble(words, files as Readonly<Record<string, string>>)).toBeUndefined();
});
