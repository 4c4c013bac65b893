// What a service manager tells the bridge is not handed on to the engine's client: podman would give code in its containers
// the socket by which systemd is told how the service is.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { thisOwner } from '../../src/base/process/owner.js';
import { CliEngine } from '../../src/engine/client/cli-engine.js';
import { sandboxSpec } from '../../src/sandbox/spec/spec.js';
import { PLAIN_KIND } from '../support/plain-kind.js';
import { HANGS_MS } from '../support/time.js';

const OF_THE_SERVICE = ['NOTIFY_SOCKET', 'LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES', 'WATCHDOG_USEC'];
const { signal } = new AbortController();

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'service-'));
  for (const name of [...OF_THE_SERVICE, 'HARMLESS']) vi.stubEnv(name, 'of the service');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

/** An engine whose client writes its environment into a file of its command's name. */
function engineAt(url: string | undefined, ids: 'rootful' | 'rootless' = 'rootful'): CliEngine {
  const binary = join(dir, 'podman');
  writeFileSync(binary, `#!/bin/sh\nenv > "${dir}/$1.tmp"; mv "${dir}/$1.tmp" "${dir}/$1.env"\n`, {
    mode: 0o755,
  });
  return new CliEngine({
    binary,
    ociRuntime: undefined,
    facts: { mode: ids, ids, architecture: 'amd64', storageDriver: '', storageRoot: '' },
    url,
    instance: 'i',
    stateDir: dir,
    observer: () => {},
    acceptsOpenNetwork: false,
  });
}

function expectNothingOfTheService(file: string): void {
  const env = readFileSync(join(dir, file), 'utf8');
  expect(env).toContain('HARMLESS=of the service');
  for (const name of OF_THE_SERVICE) expect(env).not.toContain(`${name}=`);
}

it.each([undefined, 'unix:///nowhere.sock'])('at %s, neither to a command nor to a start', async (url) => {
  const engine = engineAt(url);
  await engine.command(['version'], HANGS_MS, signal);
  const spec = sandboxSpec({
    image: 'an-image',
    harnessDir: '/harness',
    fallbackDir: undefined,
    seccompFile: '/strict.json',
    name: 'mcp-sandbox-bridge-i-1',
    user: '65534:65534',
    kind: PLAIN_KIND,
    enforcement: undefined,
    networkMode: undefined,
    cores: 2,
    maxTimeoutSeconds: 120,
    maxWaitSeconds: 0,
  });
  await using container = engine.start(spec);
  await container.exited;
  const started = ['run.env', '--log-level=error.env', '--remote.env'].find((name) =>
    existsSync(join(dir, name)),
  );
  for (const file of ['version.env', started ?? 'no start']) expectNothingOfTheService(file);
});

it('nor to the client that leads an OCI runtime to what a killed bridge has left', async () => {
  const runDir = join(dir, 'run', 'killed');
  mkdirSync(join(runDir, 'oci', 'mcp-sandbox-bridge-killed-1'), { recursive: true });
  writeFileSync(join(runDir, 'oci', 'runtime'), 'runc');
  writeFileSync(join(runDir, 'owner.json'), JSON.stringify({ ...thisOwner(), pid: 999_999_999 }));
  await engineAt(undefined, 'rootless').sweep(signal);
  expectNothingOfTheService('unshare.env');
});
