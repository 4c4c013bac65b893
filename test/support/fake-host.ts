// A JavaScript program as a plain child process, started as in a sandbox, and the host's end of its conversation played
// by a function: what a test says to each frame. For tests of sandbox-runtime/javascript without a container.

import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ServerBrief, ServerDoc, ToolDoc } from '../../src/wire/frames.js';

const RUN = fileURLToPath(new URL('../../sandbox-runtime/javascript/run.cjs', import.meta.url));

export type Frame = Record<string, unknown> & { readonly type: string; readonly id?: number };
/** Answers a frame by lines to the program, each a text without its newline. */
export type Host = (frame: Frame, say: (line: string) => void) => void;

export type Ended = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Lines as they were written. */
  readonly lines: readonly string[];
  readonly frames: readonly Frame[];
};

export type Play = {
  /** Texts of files by name; the first is the program. */
  readonly files: Readonly<Record<string, string>>;
  /** Absent where the run has no tools. */
  readonly tools?: readonly ToolDoc[];
  /** Members in which the one server of the run is different. */
  readonly server?: Partial<ServerDoc>;
  readonly discovered?: readonly ServerBrief[];
  readonly early?: string;
  readonly host?: Host;
  readonly args?: readonly string[];
};

export const tool = (name: string, more: Partial<ToolDoc> = {}): ToolDoc => ({
  name,
  alias: name.replaceAll('-', '_'),
  description: `Does ${name}.`,
  inputSchema: { type: 'object' },
  outputSchema: null,
  observed: null,
  changed: null,
  ...more,
});

export const brief = (name: string, more: Partial<ServerBrief> = {}): ServerBrief => ({
  name,
  alias: name.replaceAll('-', '_'),
  description: '',
  loaded: false,
  tools: null,
  ...more,
});

const serverDoc = (tools: readonly ToolDoc[], more: Partial<ServerDoc>): ServerDoc => ({
  name: 'my-server',
  alias: 'my_server',
  description: 'A server.',
  version: null,
  instructions: null,
  tools,
  ...more,
});

export const reply = (id: unknown, value: unknown): string => JSON.stringify({ type: 'reply', id, value });

/** Runs the program to its end; the host hangs up when it has ended. */
export async function play({
  files,
  tools,
  server = {},
  discovered = [],
  early = '',
  host,
  args = [],
}: Play): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), 'javascript-'));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const [main = ''] = Object.keys(files);
    const loaded = tools === undefined ? [] : [serverDoc(tools, server)];
    const briefs = [...loaded.map(({ name, alias }) => brief(name, { alias, loaded: true })), ...discovered];
    const bequest = join(folder, '..', `${folder.split('/').at(-1)}.json`);
    writeFileSync(bequest, `${JSON.stringify({ loaded, discovered: briefs })}\n${early}`);
    const fd = openSync(bequest, 'r');
    rmSync(bequest);
    const { MCP_SANDBOX_CONVERSATION: _, ...env } = process.env;
    const child = spawn(process.execPath, [RUN, `./${main}`, ...args], {
      cwd: folder,
      env: tools === undefined ? env : { ...env, MCP_SANDBOX_CONVERSATION: '3,4,5' },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', fd],
    });
    closeSync(fd);
    return await conversation(child, host);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function conversation(child: ReturnType<typeof spawn>, host: Host = () => {}): Promise<Ended> {
  const [, stdout, stderr, toGuest, fromGuest] = child.stdio as unknown as [
    null,
    Readable,
    Readable,
    Writable,
    Readable,
  ];
  const lines: string[] = [];
  const frames: Frame[] = [];
  toGuest.on('error', () => {});
  createInterface({ input: fromGuest }).on('line', (line) => {
    const frame = JSON.parse(line) as Frame;
    lines.push(line);
    frames.push(frame);
    host(frame, (text) => toGuest.write(`${text}\n`));
  });
  const texts = { stdout: '', stderr: '' };
  for (const [name, stream] of Object.entries({ stdout, stderr }))
    stream.setEncoding('utf8').on('data', (text: string) => {
      texts[name as 'stdout' | 'stderr'] += text;
    });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, ...texts, lines, frames };
}
