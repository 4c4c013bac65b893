// Every flag of the bridge is known to the clients that were asked for what they know: of podman as the client of a service
// elsewhere, which knows fewer than podman itself, and of docker. And the stand-in for podman refuses what they refuse.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { clientFlags, flagsIn, refusal } from '../support/client-flags.js';
import { remoteArgvs } from '../support/remote-argv.js';

const FAKE = fileURLToPath(new URL('../fixtures/fake-podman.mjs', import.meta.url));
const lists = Object.entries(clientFlags());
const cases = lists.flatMap(([client, flags]) =>
  (['rootless', 'userns-mapped'] as const).map((ids) => ({ client, flags, ids })),
);

describe.each(cases)('$client, $ids', ({ client, flags, ids }) => {
  it.each(Object.entries(remoteArgvs(client.startsWith('docker') ? 'docker' : 'podman', ids)))(
    'knows what it is told to %s',
    (_, argv) => {
      expect(refusal(flags, argv)).toBeUndefined();
    },
  );
});

it('the clients that were asked are those of Debian 12 and 13, and of docker then and now', () => {
  expect(lists.map(([client]) => client).sort()).toEqual([
    'docker 20.10.24',
    'docker 28.2.2',
    'podman --remote 4.3.1',
    'podman --remote 5.4.2',
  ]);
});

describe('a client refuses', () => {
  const podman = clientFlags()['podman --remote 4.3.1'] ?? {};
  it.each([
    [['--runtime=runc', 'run', 'image'], "Error: unknown flag: --runtime\nSee 'podman --help'"],
    [['run', '--env-host=false', 'image'], "Error: unknown flag: --env-host\nSee 'podman run --help'"],
    [
      ['run', '--name', '--rm', '-Q', 'image'],
      "Error: unknown shorthand flag: 'Q' in -Q\nSee 'podman run --help'",
    ],
    [['image', 'inspect', '--nix'], "Error: unknown flag: --nix\nSee 'podman image inspect --help'"],
  ])('%j', (args, said) => {
    expect(refusal(podman, args)).toBe(said);
  });

  it('nothing of what its containers are told, and no value', () => {
    expect(
      refusal(podman, ['--log-level', 'error', 'run', '-e', '--runtime', 'image', 'ls', '--nix']),
    ).toBeUndefined();
  });
});

it('flags are found in the words of a --help', () => {
  const help =
    'Options:\n  -a, --all         Show all\n      --format string   Pretty\n      --dns list\n  -q, --quiet\n';
  expect(flagsIn(help)).toEqual(['--all', '--dns=', '--format=', '--quiet', '-a', '-q']);
});

it('the stand-in for podman refuses what the client of a service elsewhere does not know', () => {
  const dir = mkdtempSync(join(tmpdir(), 'fake-podman-'));
  try {
    symlinkSync(FAKE, join(dir, 'podman'));
    writeFileSync(join(dir, 'world.json'), JSON.stringify({ machines: [] }));
    const ask = (...args: string[]) => spawnSync(join(dir, 'podman'), args, { encoding: 'utf8' });
    expect(ask('--runtime=runc', 'ps')).toMatchObject({
      status: 125,
      stderr: expect.stringMatching(/^Error: unknown flag: --runtime\n/),
    });
    expect(ask('--log-level=error', 'ps', '--all')).toMatchObject({ status: 0, stderr: '' });
  } finally {
    rmSync(dir, { recursive: true });
  }
});
