// The service that compose.code-exec.yaml describes, started by podman from what that file says. Old gVisor takes podman's network
// only from the namespace that podman has made for it, hence its flag.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { run } from '../../src/base/process/process.js';
import { eventually, HANGS_MS, NEVER } from './time.js';

type Service = {
  readonly name: string;
  readonly service: { readonly image: string; readonly runtime: string };
};
const { composeService, podmanArgs } = (await import(
  new URL('../../scripts/compose-argv.mjs', import.meta.url).href
)) as {
  composeService: (env: Readonly<Record<string, string>>) => Service;
  podmanArgs: (service: Service, prefix: string) => readonly string[];
};

export const TOKEN = 'a-token-for-the-test-of-the-service';
const FLAGS = ['--log-level=error', '--runtime=runsc', '--runtime-flag=network=host'];

/** Undefined where it can be tried. */
export function whyNot(): string | undefined {
  const missing = ['runsc', 'slirp4netns', 'podman'].find(
    (name) => !['/usr/bin', '/usr/local/bin', '/usr/sbin'].some((folder) => existsSync(`${folder}/${name}`)),
  );
  if (missing !== undefined) return `${missing} is not installed`;
  if (process.getuid?.() !== 0) return 'rootless gVisor has none of its limits here';
  const { image } = composeService({ MCP_EXEC_TOKEN: TOKEN }).service;
  try {
    execFileSync('podman', ['image', 'exists', image]);
    return undefined;
  } catch {
    return `there is no ${image}`;
  }
}

export class CodeExecService implements AsyncDisposable {
  readonly name = `code-sandbox-test-${process.pid}`;
  readonly #port: number;
  readonly #args: readonly string[];
  readonly image: string;

  private constructor(port: number) {
    const env = { MCP_EXEC_TOKEN: TOKEN, MCP_EXEC_PORT: String(port), MCP_EXEC_NETWORK: 'slirp4netns' };
    const compose = composeService(env);
    this.#port = port;
    this.#args = podmanArgs(compose, `${this.name}-`);
    this.image = compose.service.image;
  }

  /** Resolves when it is healthy. */
  static async start(): Promise<CodeExecService> {
    const service = new CodeExecService(await freePort());
    const label = '--label=mcp-sandbox-bridge=test-of-the-service';
    try {
      await service.podman('run', '--detach', `--name=${service.name}`, label, ...service.#args);
      await service.healthy();
      return service;
    } catch (thrown) {
      // Nobody else knows of it yet.
      await service[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  /** Output of a podman command; throws where it failed. */
  async podman(...args: readonly string[]): Promise<string> {
    const ended = await run(['podman', ...FLAGS, ...args], { timeoutMs: HANGS_MS }, NEVER);
    if (ended.exitCode !== 0) throw new Error(`podman ${args.join(' ')}: ${ended.stderr}`);
    return ended.stdout;
  }

  /** The server's standard error. */
  async logs(): Promise<string> {
    return (await run(['podman', 'logs', this.name], { timeoutMs: HANGS_MS }, NEVER)).stderr;
  }

  async healthy(): Promise<void> {
    const answers = async () =>
      (await fetch(new URL('/health', this.url)).catch(() => undefined))?.status === 200;
    if (!(await eventually(answers))) throw new Error(`not healthy: ${await this.logs()}`);
  }

  /** An entry with the service's flags and volume, for a program that speaks MCP on stdio and has no network. */
  stdioEntry(): { readonly command: string; readonly args: readonly string[] } {
    const flags = this.#args.filter((arg) => !/^--(?:env=MCP_EXEC_LISTEN|publish|network)/.test(arg));
    const own = ['--rm', '--interactive', '--network=none', '--label=mcp-sandbox-bridge=test-of-the-service'];
    return { command: 'podman', args: [...FLAGS, 'run', ...own, ...flags] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.podman('rm', '--force', '--ignore', '--time=0', this.name);
    await this.podman('volume', 'rm', '--force', `${this.name}-sandbox-work`);
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
