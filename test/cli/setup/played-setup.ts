// `setup` on a machine that is played: its programs are scripts in a folder, its home a temporary one. Nothing is installed,
// and nothing asks the machine that the test runs on.

import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Prepared } from '../../../src/cli/serving/prepare.js';
import type { SetupContext, SetupOptions } from '../../../src/cli/setup/step.js';
import { type SetupMachine, systemOf } from '../../../src/cli/setup/systems.js';

import { discover } from '../../../src/hosts/discovery/discover.js';
import { parseSettings } from '../../../src/settings/environment/settings.js';
import { tempHome } from '../../support/start-bridge.js';
import { NEVER } from '../../support/time.js';

export const DEBIAN_13 = 'ID=debian\nVERSION_ID="13"\n';

export type Played = {
  readonly osRelease?: string;
  readonly platform?: NodeJS.Platform;
  readonly options?: Partial<SetupOptions>;
  /** Programs that are there. */
  readonly programs?: readonly string[];
  readonly machine?: Partial<SetupMachine>;
  readonly isInteractive?: boolean;
  readonly env?: Readonly<Record<string, string>>;
};

/** A home in which podman keeps in `driver` which storage driver it takes; it reads storage.conf as podman does. */
export class PlayedSetup implements Disposable {
  readonly home = tempHome();
  readonly bin = join(this.home, 'bin');
  readonly confFile = join(this.home, '.config/containers/storage.conf');
  readonly storeDir = join(this.home, '.local/share/containers/storage');

  /** Questions that were asked, as they stand in the frame. */
  readonly asked: string[] = [];
  /** Somebody who presses Enter at each question, but for those whose answer a test puts here, by a part of the question. */
  readonly answers = new Map<string, boolean>();

  readonly prompts: SetupContext['prompts'] = {
    confirm: async ({ message, initialValue = true }) => {
      this.asked.push(message);
      const [, answer = initialValue] = [...this.answers].find(([part]) => message.includes(part)) ?? [];
      return answer;
    },
    multiselect: async ({ message, initialValues = [] }) => {
      this.asked.push(message);
      return [...initialValues];
    },
  };

  constructor() {
    mkdirSync(this.bin);
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true });
  }

  /** podman, which makes its store at the first question, with vfs where no file names another driver. */
  podman({ refuses = 'nothing' }: { readonly refuses?: string } = {}): string {
    const info = (driver: string) =>
      JSON.stringify({
        host: { cgroupVersion: 'v2', ociRuntime: { name: 'runc' }, security: { rootless: true } },
        store: { graphDriverName: driver, graphRoot: this.storeDir },
        version: { Version: '4.3.1' },
      });
    return this.program(
      'podman',
      `case $1 in
--version) echo 'podman version 4.3.1'; exit ;;
images) echo a; echo b; exit ;;
ps) exit ;;
esac
mkdir -p '${this.storeDir}'
if grep -q '${refuses}' '${this.confFile}' 2>/dev/null; then echo "Error: ${refuses} is refused" >&2; exit 125; fi
if grep -q overlay '${this.confFile}' 2>/dev/null; then echo '${info('overlay')}'; else echo '${info('vfs')}'; fi`,
    );
  }

  program(name: string, script = 'exit 0'): string {
    const path = join(this.bin, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  conf(): string | undefined {
    return existsSync(this.confFile) ? readFileSync(this.confFile, 'utf8') : undefined;
  }

  /** What the steps are given. */
  context({
    osRelease = DEBIAN_13,
    platform = 'linux',
    options,
    programs = [],
    machine,
    env = {},
    isInteractive = false,
  }: Played = {}): SetupContext {
    for (const name of programs)
      if (name === 'podman') this.podman();
      else this.program(name);
    const host = {
      home: this.home,
      platform,
      cores: 2,
      cwd: this.home,
      // Files that the tests write belong to whoever runs them; root's count as anybody's own.
      uid: process.getuid?.() || 1000,
      exists: existsSync,
    };
    const whole = {
      HOME: this.home,
      PATH: this.bin,
      MCP_BRIDGE_STATE_DIR: join(this.home, 'state'),
      MCP_BRIDGE_RUNTIME: join(this.bin, 'podman'),
      ...env,
    };
    if (!existsSync(whole.MCP_BRIDGE_RUNTIME)) delete (whole as Partial<typeof whole>).MCP_BRIDGE_RUNTIME;
    const { settings } = parseSettings(whole, host);
    const discovery = { settings, env: whole, host };
    discover(discovery, () => {});
    const prepared = { settings, warnings: [], discovery, observer: () => {} } as unknown as Prepared;
    return {
      options: { register: true, host: [], adopt: true, ...options },
      prepared,
      machine: {
        system: systemOf(platform, osRelease),
        isRoot: false,
        username: 'me',
        kernel: '6.12.0',
        hasSystemd: true,
        hasBothCgroups: false,
        find: (program) =>
          [program, join(this.bin, program)].find((path) => path.startsWith('/') && existsSync(path)),
        idsIn: () => 65_536,
        ...machine,
      },
      isInteractive,
      signal: NEVER,
      prompts: this.prompts,
      show: () => {},
      clear: () => {},
      found: { engine: 'planned', hasNoStore: false, choices: undefined, hosts: [] },
    };
  }
}
