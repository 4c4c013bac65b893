// Where a fault is injected: bridges that are closed when it is over, calls that are waited for and
// counted, and the search for what is left. Every fault is one test and one line of the ledger.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ourContainers, ourMonitors, ourSandboxProcesses } from '../support/nothing-left.js';
import { type ServerEntry, startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually, HANGS_MS } from '../support/time.js';
import { record, thorough } from './ledger.js';
import { isRare } from './rare.js';
import { RawBridge, type RawOptions } from './raw-bridge.js';

type Home = { readonly home: string; readonly stateDir: string };

const foldersIn = (dir: string): string[] =>
  existsSync(dir) ? readdirSync(dir).map((name) => join(dir, name)) : [];

/** What is in a run directory tells who has left it. */
function withContents(dir: string): string {
  try {
    return `${dir}: ${readdirSync(dir, { recursive: true }).join(', ')}`;
  } catch {
    // Gone in this moment.
    return dir;
  }
}

/** Of the engine and the servers, which inherit the home of the bridge that started them. */
function processesAtHome(home: string): string[] {
  return (
    readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
      .filter((pid) => read(`/proc/${pid}/environ`).split('\0').includes(`HOME=${home}`))
      .map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`)
      // podman's own keeper of a user's namespace stays for the next command.
      .filter((line) => !/^\d+ *(?:\S*catatonit|podman pause|$)/.test(line))
  );
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Gone in the meantime, or not ours.
    return '';
  }
}

export class Stage {
  readonly #open: AsyncDisposable[] = [];
  readonly #homes: Home[] = [];
  /** What other tests left in the state directory that the suite shares is no finding here. */
  readonly #before = new Set(foldersIn(join(process.env['TEST_STATE_DIR'] ?? '', 'run')));
  hung = 0;
  lost = 0;
  injected = 0;

  /** A bridge with no sandbox waiting, so that every container belongs to a run. */
  async bridge(
    servers: Readonly<Record<string, ServerEntry>> = {},
    env: Readonly<Record<string, string>> = {},
  ): Promise<TestBridge> {
    return this.#keep(await startBridge(servers, { env: { MCP_BRIDGE_WARM: '0', ...env } }));
  }

  async raw(options: RawOptions = {}): Promise<RawBridge> {
    return this.#keep(await RawBridge.open(options));
  }

  /** A call that must be answered: without an answer it has hung, with another end it is lost. */
  async answered<T>(call: Promise<T>): Promise<T> {
    const late = Symbol('late');
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<typeof late>((resolve) => {
      timer = setTimeout(resolve, HANGS_MS, late);
    });
    try {
      const first = await Promise.race([call, limit]);
      if (first !== late) return first;
      this.hung++;
      call.catch(() => {});
    } catch (thrown) {
      this.lost++;
      throw thrown;
    } finally {
      clearTimeout(timer);
    }
    throw new Error(`no answer within ${HANGS_MS} ms`);
  }

  /** The bridge takes the next call as if nothing had happened. */
  async stillWorks(bridge: Pick<TestBridge, 'run'>): Promise<void> {
    const payload = await this.answered(bridge.run('6 * 7'));
    expect(payload, JSON.stringify(payload)).toMatchObject({ status: 'success', result: 42 });
  }

  /** What killed bridges could not do for themselves, the next one does. */
  async nextStartSweeps(servers: Readonly<Record<string, ServerEntry>> = {}): Promise<void> {
    const next = await this.bridge(servers);
    await this.stillWorks(next);
    const mine = () => foldersIn(join(next.stateDir, 'run')).filter((dir) => !this.#before.has(dir));
    expect(await eventually(() => mine().length <= 1 && ourContainers().length === 0)).toBe(true);
  }

  /** Closes what is open, and names what does not go. */
  async leaks(mayStay: (left: string) => boolean): Promise<string[]> {
    for (const each of this.#open.splice(0)) await each[Symbol.asyncDispose]();
    let left: string[] = [];
    await eventually(() => {
      left = this.#left().filter((each) => !mayStay(each));
      return left.length === 0;
    });
    return left;
  }

  #keep<T extends AsyncDisposable & Home>(bridge: T): T {
    this.#open.push(bridge);
    this.#homes.push({ home: bridge.home, stateDir: bridge.stateDir });
    return bridge;
  }

  #left(): string[] {
    const processes = [
      ...ourMonitors(),
      ...ourSandboxProcesses(),
      ...this.#homes.flatMap(({ home }) => processesAtHome(home)),
    ];
    const runDirs = new Set(this.#homes.map(({ stateDir }) => join(stateDir, 'run')));
    const folders = [...runDirs].flatMap(foldersIn).filter((dir) => !this.#before.has(dir));
    return [...ourContainers(), ...processes, ...folders.map(withContents)];
  }
}

export type FaultOptions = {
  /** How often it is injected one after the other. */
  readonly rounds?: number;
  /** What is known to stay, and why that is right; everything else that stays is a leak. */
  readonly mayStay?: (left: string) => boolean;
};

/** One fault as one test. `injected` counts itself unless the fault counted more. */
export function fault(
  row: string,
  title: string,
  inject: (stage: Stage) => Promise<void>,
  { rounds = 1, mayStay = () => false }: FaultOptions = {},
): void {
  if (isRare(row, title) && !thorough) return;
  it(
    `${row} ${title}`,
    async () => {
      const startedAt = performance.now();
      const stage = new Stage();
      let held = false;
      let leaks: string[] = [];
      try {
        try {
          await inject(stage);
        } finally {
          leaks = await stage.leaks(mayStay);
        }
        expect(leaks, 'what is left').toEqual([]);
        held = true;
      } finally {
        const { hung, lost } = stage;
        const seconds = (performance.now() - startedAt) / 1000;
        record({ row, title, injected: Math.max(1, stage.injected), leaks, hung, lost, held, seconds });
      }
    },
    (2 + rounds) * HANGS_MS,
  );
}
