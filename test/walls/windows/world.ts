// Where one window attacks another: two windows of one user that share a bridge, each in a folder of its own. Both find the same
// servers, of which each calls the one that keeps a state.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Message, RawAgent } from '../../support/raw-agent.js';
import { Desk, type TestWindow, type WindowOptions } from '../../support/windows.js';

const KEEPING = fileURLToPath(new URL('../../fixtures/keeping-server.mjs', import.meta.url));
export const KEEPING_ENTRY = { command: process.execPath, args: [KEEPING] };
const SETTINGS = {
  MCP_BRIDGE_TOOLS: 'execute',
  MCP_BRIDGE_EXECUTE_SERVER: 'desk',
  MCP_BRIDGE_LOG_LEVEL: 'debug',
  // A client that knows tasks gets one at once.
  MCP_BRIDGE_TASK_AFTER: '0',
};

/** Whose window it is: the attacked one's, or the attacker's. */
export type Who = 'ann' | 'eve';

export class World implements AsyncDisposable {
  readonly desk: Desk;
  #marks = 0;
  readonly #raw: RawAgent[] = [];

  constructor() {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: hosts replace it.
    const entry = { ...KEEPING_ENTRY, env: { TOKEN: '${WINDOW_TOKEN}' } };
    this.desk = new Desk({ desk: entry }, { ...SETTINGS, WINDOW_TOKEN: 'of-both' });
    for (const who of ['ann', 'eve'] as const) mkdirSync(this.folderOf(who));
  }

  folderOf(who: Who): string {
    return join(this.desk.home, who);
  }

  /** A window of one of them, with a client made with an SDK. */
  async open(who: Who, options: WindowOptions = {}): Promise<TestWindow> {
    return await this.desk.open({ name: who, folder: this.folderOf(who), ...options });
  }

  /** The same, with a client of 2026-07-28 that writes its JSON by hand. */
  raw(who: Who, env: Readonly<Record<string, string>> = {}): RawAgent {
    const agent = new RawAgent(this.desk.env(env), this.folderOf(who));
    this.#raw.push(agent);
    return agent;
  }

  /** A text that is nowhere else. */
  mark(): string {
    return `mark-${process.pid}-${++this.#marks}-${Math.random().toString(36).slice(2)}`;
  }

  /** A file of this folder's project, made once. */
  projectFile(who: Who, name: string, content: object): void {
    const file = join(this.folderOf(who), name);
    if (!existsSync(file)) writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#raw.map((agent) => agent[Symbol.asyncDispose]()));
    await this.desk[Symbol.asyncDispose]();
  }
}

/** Parameters of a call of `execute`. */
export const executing = (command: string, ...args: readonly string[]) => ({
  name: 'execute',
  arguments: { command, args },
});

/** The text of an answer, of a result or of an error. */
export const said = ({ result, error }: Message): string =>
  error === undefined ? JSON.stringify(result) : error.message;

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
