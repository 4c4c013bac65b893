// The lists of flags that the unit tests judge by are those of the clients on this machine, where it has one of those
// versions; and the client that it does have refuses none of what the bridge tells it.

import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { clientFlags, flagsIn } from '../support/client-flags.js';
import { remoteArgvs } from '../support/remote-argv.js';

const CLIENTS = [
  { engine: 'podman', argv: ['podman', '--remote'], nowhere: ['--url=unix:///nonexistent/podman.sock'] },
  { engine: 'docker', argv: ['docker'], nowhere: ['--host=unix:///nonexistent/docker.sock'] },
] as const;

const run = (argv: readonly string[]) => spawnSync(argv[0] ?? '', argv.slice(1), { encoding: 'utf8' });

describe.each(CLIENTS)('$engine', ({ engine, argv, nowhere }) => {
  const version = /version ([\d.]+)/.exec(run([...argv, '--version']).stdout ?? '')?.[1];
  const lists = clientFlags()[`${argv.join(' ')} ${version}`];

  it.skipIf(lists === undefined)('its own help says what is written down of it', () => {
    for (const command of ['run', 'ps', 'rm', 'build', 'volume create']) {
      const { stdout } = run([...argv, ...command.split(' '), '--help']);
      expect(flagsIn(stdout), command).toEqual(lists?.[command]);
    }
  });

  it.skipIf(version === undefined).each(Object.entries(remoteArgvs(engine, 'rootless')))(
    'it takes what it is told to %s, and goes on to look for its engine',
    (_, args) => {
      const { status, stderr } = run([...argv, ...nowhere, ...args]);
      expect(stderr).not.toMatch(/unknown|flag/i);
      expect([status === 0, stderr]).toEqual([
        false,
        expect.stringMatching(/connect|no such file|not found/i),
      ]);
    },
  );
});
