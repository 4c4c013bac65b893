import { chmodSync, chownSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findExchangeable, isOnlyOurs } from '../../src/base/files/only-ours.js';
import { tempHome } from '../support/start-bridge.js';

const uid = process.getuid?.() ?? 0;
const gid = process.getgid?.() ?? 0;
const STRANGER = 65_533;

/** A folder with this mode, whatever the umask is. */
function folder(path: string, mode = 0o700): string {
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
  return path;
}

/** As the machine's files would list them: by default our group is nobody else's. */
const listed =
  (passwd = `me:x:${uid}:${gid}:::`, group = `me:x:${gid}:`, more: Readonly<Record<string, string>> = {}) =>
  (file: string) =>
    ({ '/etc/passwd': `root:x:0:0:::\n${passwd}`, '/etc/group': group, ...more })[file];

const lookAt = (path: string, read = listed()) => findExchangeable(path, uid, read);

describe('what another user could exchange', () => {
  it('is nothing where only this user and root can write', () => {
    const state = folder(join(folder(join(tempHome(), 'a'), 0o755), 'state'));
    for (const path of [state, join(state, 'not', 'there'), '/', '/etc', `${state}/../state/.`])
      expect(lookAt(path)).toBeUndefined();
  });

  it.each([0o777, 0o702, 0o1777])('is a folder of mode %o itself', (mode) => {
    const state = folder(join(realpathSync(tempHome()), 'state'), mode);
    expect(lookAt(state)).toEqual({ path: state, is: 'mode', owner: uid, mode });
  });

  it.each([0o777, 0o722, 0o702])(
    'is what lies below a folder of mode %o, however deep and closed',
    (mode) => {
      const above = folder(join(realpathSync(tempHome()), 'a'), mode);
      const state = folder(join(above, 'b', 'state'));
      const there = { path: above, is: 'mode', owner: uid, mode };
      expect(lookAt(state)).toEqual(there);
      expect(lookAt(join(state, 'x', 'y'))).toEqual(there);
      chmodSync(above, 0o711);
      expect(lookAt(state)).toBeUndefined();
    },
  );

  it('is no entry of this user in a sticky folder, but a place there where nothing lies yet', () => {
    const shared = folder(join(realpathSync(tempHome()), 'tmp'), 0o1777);
    const state = join(shared, 'a', 'state');
    const found = { path: join(shared, 'a'), is: 'absent', owner: uid, mode: 0o1777 };
    expect(lookAt(state)).toEqual(found);
    folder(join(shared, 'a'));
    expect(lookAt(state)).toBeUndefined();
  });

  it('is a file that others may write', () => {
    const file = join(realpathSync(tempHome()), 'f');
    writeFileSync(file, '');
    chmodSync(file, 0o602);
    expect(lookAt(file)?.is).toBe('mode');
    chmodSync(file, 0o600);
    expect(lookAt(file)).toBeUndefined();
  });

  it.each([
    ['absolute', (target: string) => target],
    ['with dots', (target: string) => `./../${target.split('/').slice(-2).join('/')}`],
  ])('is looked for where links lead: %s', (_how, written) => {
    const home = realpathSync(tempHome());
    const target = folder(join(folder(join(home, 'open'), 0o777), 'state'));
    folder(join(home, 'own'));
    const link = join(home, 'own', 'link');
    symlinkSync(written(target), link);
    for (const path of [link, join(link, 'deeper')])
      expect(lookAt(path)).toMatchObject({ path: dirname(target), is: 'mode' });
    chmodSync(dirname(target), 0o755);
    expect(lookAt(link)).toBeUndefined();
    expect(isOnlyOurs(link)).toBe(false);
  });

  it('is a sticky folder where a link in it leads back to itself', () => {
    const shared = folder(join(realpathSync(tempHome()), 'tmp'), 0o1777);
    symlinkSync('.', join(shared, 'state'));
    expect(lookAt(join(shared, 'state'))).toMatchObject({ path: shared, is: 'mode' });
  });

  it('comes to an end with links that lead in a circle', () => {
    const home = tempHome();
    symlinkSync('b', join(home, 'a'));
    symlinkSync('a', join(home, 'b'));
    expect(lookAt(join(home, 'a', 'x'))).toBeUndefined();
  });

  it.runIf(uid === 0)("is somebody else's folder, link or file, on the way and at its end", () => {
    const home = realpathSync(tempHome());
    const above = folder(join(home, 'a'), 0o755);
    const state = folder(join(above, 'state'));
    expect(lookAt(state)).toBeUndefined();
    chownSync(state, STRANGER, STRANGER);
    expect(lookAt(state)).toMatchObject({ path: state, is: 'owner', owner: STRANGER });
    // Whose it is may write it, whoever is root.
    expect(findExchangeable(state, STRANGER, listed())).toBeUndefined();
    chownSync(above, STRANGER - 1, 0);
    expect(findExchangeable(state, STRANGER, listed())).toMatchObject({ path: above, is: 'owner' });
  });

  it.runIf(uid === 0)(
    'is no folder of an owner whom this user namespace does not know, but for the last',
    () => {
      const above = folder(join(realpathSync(tempHome()), 'a'), 0o755);
      const state = folder(join(above, 'state'));
      chownSync(above, 65_534, 65_534);
      const inNamespace = (map: string) =>
        listed(undefined, undefined, {
          '/proc/sys/kernel/overflowuid': '65534\n',
          '/proc/self/uid_map': map,
        });
      expect(lookAt(state, inNamespace('         0          0 4294967295\n'))).toMatchObject({ is: 'owner' });
      expect(lookAt(state, inNamespace('0 1000 1\n1 100000 65535\n'))).toBeUndefined();
      chownSync(state, 65_534, 65_534);
      expect(lookAt(state, inNamespace('0 1000 1\n'))).toMatchObject({ path: state, is: 'owner' });
    },
  );
});

describe('a group that may write', () => {
  const me = `me:x:${uid}:${gid}:::`;

  it.each([
    ['has this user alone', me, `me:x:${gid}:`, true],
    ['lists this user besides', me, `me:x:${gid}:me`, true],
    ['has a member', me, `me:x:${gid}:me,eve`, false],
    ["is another user's as well", `${me}\neve:x:4711:${gid}:::`, `me:x:${gid}:`, false],
    ["is nobody's first one", `me:x:${uid}:${gid + 1}:::`, `me:x:${gid}:me`, false],
    ['is not listed', me, 'another:x:4711:', false],
    ['is of a user who is not listed', '', `me:x:${gid}:`, false],
  ])('%s', (_which, passwd, group, isOwn) => {
    const above = folder(join(realpathSync(tempHome()), 'a'), 0o775);
    const state = folder(join(above, 'state'), 0o770);
    const users = uid === 0 ? passwd : `root:x:0:0:::\n${passwd}`;
    const read = (file: string) => ({ '/etc/passwd': users, '/etc/group': group })[file];
    expect(findExchangeable(state, uid, read)?.path).toBe(isOwn ? undefined : above);
    // What is to be private lets nobody in, whatever the group.
    expect(isOnlyOurs(state)).toBe(false);
  });
});

it('on Windows nothing is', () => {
  expect(findExchangeable('C:\\Users\\ann\\state', undefined)).toBeUndefined();
});
