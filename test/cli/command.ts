// The built program as a shell would start it, in a home of its own; or its source in this process, where only what it says
// is looked at.

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { commandLine } from '../support/command-line.js';
import type { Said } from '../support/in-this-process.js';
import { bridgeEnv, MAIN } from '../support/start-bridge.js';

export type Ended = {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
  readonly durationMs: number;
};

export type CommandOptions = {
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Called with all that stderr has said so far, each time it says more. */
  readonly onStderr?: (written: string, pid: number) => void;
};

export async function command(args: readonly string[], options: CommandOptions): Promise<Ended> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: options.home,
    env: bridgeEnv(options.home, options.env),
  });
  child.stdin.end(options.input ?? '');
  let heard = '';
  child.stderr.on('data', (chunk: Buffer) => {
    heard += chunk.toString();
    options.onStderr?.(heard, child.pid ?? 0);
  });
  const exitCode = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout] = await Promise.all([text(child.stdout), exitCode]);
  return { stdout, stderr: heard, exitCode: await exitCode, durationMs: performance.now() - startedAt };
}

/** What the program says in this process; nothing may be on its standard input, and it must end by itself. */
export const commandHere = (
  args: readonly string[],
  { home, env }: Pick<CommandOptions, 'home' | 'env'>,
): Promise<Said> => commandLine(args, { folder: home, env: bridgeEnv(home, env) });
