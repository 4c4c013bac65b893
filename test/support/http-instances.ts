// Built bridges over HTTP, as whoever operates them starts and ends them. They run no container: their commands go to the
// command server. All of one file share a folder with their configuration and state.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, vi } from 'vitest';
import { removeFolder } from './remove-folder.js';
import { PATIENTLY } from './time.js';
import { makeUsed } from './used-state.js';

export const MAIN = resolve('dist/cli/main.js');

export type Started = {
  readonly child: ChildProcess;
  readonly stderr: () => string;
  readonly exit: Promise<number | null>;
  /** Where it listens. */
  readonly url: () => Promise<URL>;
};

export class HttpInstances implements AsyncDisposable {
  readonly dir = mkdtempSync(join(tmpdir(), 'serve-http-'));
  readonly #ended: Array<() => Promise<unknown>> = [];

  readonly #base: (dir: string) => Readonly<Record<string, string | undefined>>;

  /** `base` is the environment of those that run something else than commands of the command server. */
  constructor(base: (dir: string) => Readonly<Record<string, string | undefined>> = commandsOnly) {
    this.#base = base;
    const mcpServers = { box: { command: process.execPath, args: [MAIN, 'code-exec'] } };
    writeFileSync(join(this.dir, 'servers.json'), JSON.stringify({ mcpServers }));
    makeUsed(join(this.dir, 'state'));
  }

  environment(more: Readonly<Record<string, string>> = {}): Record<string, string | undefined> {
    return {
      ...this.#base(this.dir),
      MCP_SERVERS_CONFIG: join(this.dir, 'servers.json'),
      MCP_BRIDGE_STATE_DIR: join(this.dir, 'state'),
      ...more,
    };
  }

  start(words: readonly string[], more: Readonly<Record<string, string>> = {}): Started {
    return this.watched(
      spawn(process.execPath, [MAIN, ...words], {
        env: this.environment(more),
        cwd: this.dir,
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    );
  }

  watched(child: ChildProcess): Started {
    let text = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const exit = new Promise<number | null>((settle) => child.once('close', (code) => settle(code)));
    this.#ended.push(() => {
      if (child.exitCode === null) child.kill('SIGKILL');
      return exit;
    });
    const url = async () => {
      await vi.waitFor(() => expect(text).toMatch(/listens at http:\S+\/mcp/), PATIENTLY);
      return new URL(/listens at (\S+\/mcp)/.exec(text)?.[1] ?? '');
    };
    return { child, stderr: () => text, exit, url };
  }

  /** Output of a command of the command line; throws where it fails. */
  command(...words: readonly string[]): string {
    return execFileSync(process.execPath, [MAIN, ...words], {
      env: this.environment(),
      cwd: this.dir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#ended.splice(0).reverse()) await each();
    removeFolder(this.dir);
  }
}

const commandsOnly = (dir: string) => ({
  HOME: dir,
  PATH: process.env['PATH'],
  MCP_BRIDGE_TOOLS: 'execute',
  MCP_BRIDGE_EXECUTE_SERVER: 'box',
  MCP_BRIDGE_ALLOW_SELF_SERVER: '1',
});
