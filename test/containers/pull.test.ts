// A registry that hangs, over real HTTP and with the real podman, in a store of its own: when the pull is given up, what is
// said, and what is left. The bridge comes in by its front door, with a client that would have given up later.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBridge, tempHome } from '../support/start-bridge.js';

const REGISTRY = fileURLToPath(new URL('../fixtures/hanging-registry.mjs', import.meta.url));
const PODMAN = '/usr/bin/podman';
const MODES = ['silent', 'half', 'trickle'] as const;

type Registry = { readonly address: string; readonly process: ChildProcess };

async function registryThat(mode: (typeof MODES)[number]): Promise<Registry> {
  const child = spawn(process.execPath, [REGISTRY, mode], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { address: `127.0.0.1:${line.toString().trim()}`, process: child };
}

/** podman with a store of its own, which pulls over plain HTTP; nothing on its PATH builds an image. */
function ownPodman(home: string): string {
  const bin = join(home, 'bin');
  mkdirSync(bin);
  const store = mkdtempSync('/var/tmp/pull-test-');
  const script = `#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
if [ "$1" = pull ]; then shift; set -- pull --tls-verify=false "$@"; fi
exec ${PODMAN} --root ${store}/root --runroot ${store}/run --storage-driver vfs "$@"
`;
  writeFileSync(join(bin, 'podman'), script);
  chmodSync(join(bin, 'podman'), 0o755);
  stores.push(store);
  return bin;
}

const stores: string[] = [];
const registries = new Map<string, Registry>();
beforeAll(async () => {
  for (const mode of MODES) registries.set(mode, await registryThat(mode));
});
afterAll(() => {
  for (const { process: child } of registries.values()) child.kill();
  for (const store of stores) rmSync(store, { recursive: true, force: true });
});

const leftOver = () => readdirSync('/var/tmp').filter((name) => name.startsWith('mcp-sandbox-bridge-pull-'));

async function calls(mode: (typeof MODES)[number], most = 2) {
  const home = tempHome();
  const bin = ownPodman(home);
  const image = `${registries.get(mode)?.address}/library/python:x`;
  await using bridge = await startBridge(
    {},
    { env: { PATH: bin, MCP_BRIDGE_IMAGE: image, MCP_BRIDGE_WARM: '0' } },
  );
  const told: string[] = [];
  const call = async () => {
    const onprogress = ({ message = '' }) => told.push(message);
    const { content, isError } = await bridge.call({ code: '1' }, { onprogress });
    const [first] = content as { text: string }[];
    return { text: first?.text ?? '', isError };
  };
  const first = await call();
  // Where the machine is busy the first answer comes before the registry is given up, and the next call says that it was.
  const isWaiting = first.text.includes('Make the same call again');
  const second = isWaiting && most > 1 ? await call() : first;
  return { image, first, second, told };
}

describe.concurrent('a registry that', () => {
  it.skipIf(process.platform !== 'linux')('takes connections and answers nothing', async () => {
    const { second, told, image } = await calls('silent');
    expect(second.isError).toBe(true);
    expect(second.text).toContain(
      `The image ${image} is not here and cannot be pulled: no registry answered within 20 s`,
    );
    expect(second.text).toContain('MCP_BRIDGE_IMAGE');
    expect(told.join('\n')).toContain('Setting up: ');
  });

  it('sends half a layer and stops', async () => {
    const { second } = await calls('half');
    expect(second.text).toMatch(
      /its registry stopped sending: \d+\.\d MB had arrived, and nothing more came for 20 s/,
    );
  });

  it('trickles: the call is answered in time with how far it is', async () => {
    const { first, image } = await calls('trickle', 1);
    expect(first.isError).toBe(true);
    expect(first.text).toContain('Nothing has run yet: set-up is still going on after 25 s.');
    expect(first.text).toMatch(new RegExp(`Now: ${image}: Copying blob .* MB so far, step \\d+, for \\d+ s`));
  });
});

it('leaves nothing that had arrived', () => {
  expect(leftOver()).toEqual([]);
});
