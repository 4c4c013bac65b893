// Servers of the protocol of 2026-07-28, made with the SDK's second line.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { RemoteSpec, StdioSpec } from '../../src/hosts/downstream-spec.js';
import { spec } from './hostile.js';
import { RemoteServer, remote } from './remote-servers.js';

const MODERN = fileURLToPath(new URL('../fixtures/modern-server.mjs', import.meta.url));

export const modernProgram = (...modes: readonly string[]): StdioSpec =>
  spec('modern', process.execPath, [MODERN, 'stdio', ...modes]);

export const modernWeb = (...modes: readonly string[]): RemoteServer =>
  new RemoteServer(async (port) => {
    const child = spawn(process.execPath, [MODERN, 'http', ...modes, `port=${port}`], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    return { child, port: Number(JSON.parse(line).port) };
  });

/** One that ends with its test. */
export async function modernFar(...modes: readonly string[]): Promise<RemoteSpec> {
  const server = await modernWeb(...modes).start();
  onTestFinished(() => server.kill());
  return remote('modern', server.url());
}
