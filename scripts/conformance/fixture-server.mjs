// The endpoint that the suite tries as a server, in a process of its own. It finds no container engine, since nothing that
// the suite asks for runs code.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('../../test/fixtures/conformance/server.mjs', import.meta.url));
const READY_MS = 60_000;

export class FixtureServer {
  #child;
  #folder;
  /** Where it listens. */
  url = '';

  static async start() {
    const server = new FixtureServer();
    const folder = mkdtempSync(join(tmpdir(), 'conformance-no-programs-'));
    const env = { ...process.env, PATH: folder };
    const child = spawn(process.execPath, [SERVER], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    server.#child = child;
    server.#folder = folder;
    const clock = AbortSignal.timeout(READY_MS);
    const lines = createInterface({ input: child.stdout });
    const ended = once(child, 'exit', { signal: clock }).then(([code]) => {
      throw new Error(`The fixture server has ended with ${code}.`);
    });
    const [url] = await Promise.race([once(lines, 'line', { signal: clock }), ended]);
    ended.catch(() => {});
    server.url = url;
    return server;
  }

  /** Resolves when its process has ended. */
  async close() {
    const child = this.#child;
    const ended = child.exitCode === null ? once(child, 'exit') : undefined;
    child.stdin.end();
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
