// The configuration of a sandbox, made from that of its template; the words that its clock is started with; and its removal.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { removeEnded } from '../../src/engine/machine/bundles.js';
import { clockArgv } from '../../src/engine/template/clock.js';
import {
  configFor,
  isBySystemd,
  listFor,
  ownFiles,
  parseConfig,
  whyUnfit,
} from '../../src/engine/template/oci-config.js';
import { tempHome } from '../support/start-bridge.js';

const ID = 'cbc87ec1715f';
const USER = { uid: 65532, gid: 65532 };
const OWN = `/var/lib/containers/storage/overlay-containers/${ID}/userdata`;
const NAMESPACES = ['pid', 'network', 'ipc', 'uts', 'mount', 'user', 'cgroup'].map((type) => ({ type }));

/** As podman writes it, in short, with `more` in its place. */
const config = (more: object = {}) =>
  parseConfig(
    JSON.stringify({
      ociVersion: '1.0.2-dev',
      process: { user: { uid: 65532, gid: 65532, umask: 63 }, args: ['python3'], noNewPrivileges: true },
      root: { path: '/store/overlay/4067/merged', readonly: true },
      hostname: 'sandbox',
      mounts: [
        { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid'] },
        { destination: '/etc/passwd', type: 'bind', source: `${OWN}/passwd`, options: ['bind', 'ro'] },
        { destination: '/ipc', type: 'bind', source: '/state/harness', options: ['bind', 'ro'] },
      ],
      linux: {
        cgroupsPath: `/libpod_parent/libpod-${ID}`,
        namespaces: NAMESPACES,
        resources: { memory: { limit: 268435456 } },
        seccomp: { defaultAction: 'SCMP_ACT_ERRNO' },
        maskedPaths: ['/sys'],
      },
      ...more,
    }),
  );
const linux = (more: object) => ({ linux: { ...config().linux, ...more } });
const placeOf = (path: string) => path.replace(OWN, '/run/s.bundle');

it('a sandbox has a control group and files of its own, and everything else of its template', () => {
  const of = config();
  expect(ownFiles(of, ID)).toEqual([`${OWN}/passwd`]);
  const made = configFor(of, { id: ID, name: 'mcp-sandbox-bridge-1', user: USER, placeOf });
  expect(made.linux.cgroupsPath).toBe('/libpod_parent/mcp-sandbox-bridge-1');
  expect(made.mounts.map(({ source }) => source)).toEqual(['proc', '/run/s.bundle/passwd', '/state/harness']);
  expect(JSON.stringify(made)).not.toContain(ID);
  const asBefore = {
    ...made,
    mounts: of.mounts,
    linux: { ...made.linux, cgroupsPath: of.linux.cgroupsPath },
  };
  expect(asBefore).toEqual(of);
});

it('a sandbox of another user is that user, with a line for it', () => {
  const user = { uid: 20_007, gid: 20_008 };
  const of = config({ process: { user: { ...USER, umask: 63, additionalGids: [65532, 7] } } });
  expect(configFor(of, { id: ID, name: 'a', user, placeOf }).process.user).toEqual({
    ...user,
    umask: 63,
    additionalGids: [20_008, 7],
  });
  const users = 'root:x:0:0:root:/root:/bin/sh\n65532:*:65532:65532:container user:/w:/bin/sh\n';
  expect(listFor(users, USER, user)).toBe(
    'root:x:0:0:root:/root:/bin/sh\n20007:*:20007:20008:container user:/w:/bin/sh\n',
  );
  expect(listFor('root:x:0:\n65532:x:65532:65532\n', USER, user)).toBe('root:x:0:\n20008:x:20008:20007\n');
  expect(listFor(users, USER, USER)).toBe(users);
});

it('a control group that systemd makes is named as systemd wants it', () => {
  const of = config(linux({ cgroupsPath: `machine.slice:libpod:${ID}` }));
  expect(isBySystemd(of)).toBe(true);
  expect(isBySystemd(config())).toBe(false);
  const made = configFor(of, { id: ID, name: 'mcp-sandbox-bridge-1', user: USER, placeOf });
  expect(made.linux.cgroupsPath).toBe('machine.slice:libpod:mcp-sandbox-bridge-1');
});

it('one without a control group stays so', () => {
  const of = config(linux({ cgroupsPath: undefined }));
  expect(whyUnfit(of, ID)).toBeUndefined();
  expect(configFor(of, { id: ID, name: 'a', user: USER, placeOf }).linux).not.toHaveProperty(
    'cgroupsPath',
    'a',
  );
});

it.each([
  [
    'a label of SELinux',
    { process: { user: USER, selinuxLabel: 'system_u:system_r:container_t:s0:c1,c2' } },
    'SELinux',
  ],
  ['hooks', { hooks: { prestart: [{ path: '/usr/bin/hook' }] } }, 'hooks'],
  [
    "a network of the engine's",
    linux({
      namespaces: NAMESPACES.map(({ type }) => ({
        type,
        ...(type === 'network' ? { path: '/run/netns/x' } : {}),
      })),
    }),
    'its network namespace is made by the engine',
  ],
  [
    'no user namespace',
    linux({ namespaces: NAMESPACES.filter(({ type }) => type !== 'user') }),
    'no user namespace',
  ],
  ["another one's control group", linux({ cgroupsPath: '/all' }), 'control group'],
  ['a root that an overlay cannot name', { root: { path: '/store,a/merged' } }, 'comma'],
])('a template with %s is refused', (_, more, why) => {
  expect(whyUnfit(config(more), ID)).toContain(why);
});

it('a template as podman makes it is taken', () => {
  expect(whyUnfit(config(), ID)).toBeUndefined();
  expect(whyUnfit(config({ hooks: { prestart: null } }), ID)).toBeUndefined();
});

it('the clock is told the time after which it ends the sandbox, and the runtime with its notes', () => {
  const argv = clockArgv({
    enter: ['nsenter', '--'],
    runtime: { name: '/usr/sbin/runc', flags: ['debug'] },
    isBySystemd: true,
    notes: '/state/run/i/oci',
    root: '/merged',
    bundle: '/state/run/i/a.bundle',
    owner: '1:1',
    group: '',
    seconds: 90,
    name: 'a',
  });
  expect(argv.slice(0, 7)).toEqual(['nsenter', '--', 'unshare', '--mount', '--', 'sh', '-c']);
  expect(argv.slice(8).join(' ')).toBe(
    'clock /merged /state/run/i/a.bundle --timeout=90 a /state/run/i/oci 1:1  /usr/sbin/runc --debug --systemd-cgroup',
  );
});

describe('a sandbox that has ended', () => {
  /** Notes of runc's about the container `name`, whose groups are `folders`. */
  function notesOf(name: string, folders: Readonly<Record<string, string>>): string {
    const notes = join(tempHome(), 'oci');
    mkdirSync(join(notes, name), { recursive: true });
    writeFileSync(
      join(notes, name, 'state.json'),
      JSON.stringify({ init_process_pid: 7, cgroup_paths: folders, config: {} }),
    );
    return notes;
  }

  it('is removed without the runtime: its control groups, those that are gone already too, and the notes of it', async () => {
    const groups = tempHome();
    mkdirSync(join(groups, 'memory', 'a'), { recursive: true });
    const notes = notesOf('a', {
      '': join(groups, 'unified/a'),
      memory: join(groups, 'memory/a'),
    });
    expect(await removeEnded(notes, 'a')).toBe(true);
    expect(existsSync(join(groups, 'memory'))).toBe(true);
    expect(existsSync(join(groups, 'memory/a'))).toBe(false);
    expect(existsSync(join(notes, 'a'))).toBe(false);
  });

  it('is left to the runtime where a group has others in it', async () => {
    const groups = tempHome();
    mkdirSync(join(groups, 'a', 'inner'), { recursive: true });
    const notes = notesOf('a', { memory: join(groups, 'a') });
    expect(await removeEnded(notes, 'a')).toBe(false);
    expect(existsSync(join(notes, 'a', 'state.json'))).toBe(true);
  });

  it('is left to the runtime where the groups in its notes are not its own', async () => {
    const groups = tempHome();
    mkdirSync(join(groups, 'b'));
    const notes = notesOf('a', { memory: join(groups, 'b') });
    expect(await removeEnded(notes, 'a')).toBe(false);
    expect(existsSync(join(groups, 'b'))).toBe(true);
    expect(await removeEnded(notes, 'unknown')).toBe(false);
  });
});
