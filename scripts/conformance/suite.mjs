// The conformance suite from npm, each version in a folder of its own below .cache/conformance/, which git ignores, and its
// runs. It needs Node 22 or later, which may be a newer one than that of the bridge; what is tried runs on this one.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { install } from '../agents/install.mjs';
import { nodeFolder } from '../install/node.mjs';

const PACKAGE = '@modelcontextprotocol/conformance';
const NEEDED_NODE = 22;
const INSTALLED_NODE = 24;
/** One scenario, in milliseconds: on a busy machine a client alone starts for seconds. */
const SCENARIO_MS = 120_000;
/** All of them for a server. */
const SUITE_MS = 600_000;
const CLIENTS_AT_ONCE = 2;
const MAX_OUTPUT_CHARS = 20_000;

/** A Node that runs the suite: this one, or one from npm. */
async function nodeFor(cache, say) {
  if (Number(process.versions.node.split('.')[0]) >= NEEDED_NODE) return process.execPath;
  return join(await nodeFolder(INSTALLED_NODE, join(cache, 'node'), say), 'bin/node');
}

export class Suite {
  #argv;
  #running = new Set();

  /** `version` of the package, from npm where it is not there yet. Fails where it cannot be had. */
  static async open(version, cache, say) {
    const node = await nodeFor(cache, say);
    if (!existsSync(join(cache, version))) say(`fetching ${PACKAGE} ${version}`);
    const described = { package: PACKAGE, version, programs: [`${PACKAGE}/dist/index.js`] };
    const [, program] = await install(version, described, cache);
    const suite = new Suite();
    suite.#argv = [node, program];
    return suite;
  }

  /** [{ name, versions }] of one side, which is server or client. */
  async scenarios(side) {
    const { said } = await this.#run(['list', `--${side}`]);
    return said
      .split('\n')
      .map((line) => /^\s+- (\S+) \[(.*)\]$/.exec(line))
      .filter((found) => found !== null)
      .map(([, name, versions]) => ({ name, versions: versions.split(',') }));
  }

  /**
   * What the suite makes of scenarios, as a map from their names to { checks, said, exitCode }, with checks as [{ id, status,
   * errorMessage }]; none where the suite itself has failed. `how` are further arguments: `--url` of a server, or `--command`
   * of a client.
   */
  async run(side, names, how) {
    const results = new Map();
    const waiting = [...names];
    // A server has one scenario after the other, since some change what others see; each client has a server of its own.
    const work = async () => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
        results.set(name, await this.#runOne(side, name, how));
    };
    await Promise.all(Array.from({ length: side === 'client' ? CLIENTS_AT_ONCE : 1 }, work));
    return results;
  }

  /** As `run`, for all scenarios of one revision, in one process: it starts once, and a server is tried in a minute. The exit code is not that of a scenario, so it is 0. */
  async runAll(side, how) {
    return await this.#inFolder(async (folder) => {
      const { said } = await this.#run([side, '--suite', 'all', '-o', folder, ...how], SUITE_MS);
      const found = readdirSync(folder).map((name) => {
        const file = join(folder, name, 'checks.json');
        return [/^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1], checksIn(file)];
      });
      return new Map(found.map(([name, checks]) => [name, { checks, said: lastOf(said), exitCode: 0 }]));
    });
  }

  #runOne(side, scenario, how) {
    return this.#inFolder(async (folder) => {
      const args = [side, '--scenario', scenario, '-o', folder, ...how];
      const { said, exitCode } = await this.#run(args, SCENARIO_MS);
      const file = readdirSync(folder, { encoding: 'utf8', recursive: true }).find((name) =>
        name.endsWith('checks.json'),
      );
      return { checks: file === undefined ? [] : checksIn(join(folder, file)), said: lastOf(said), exitCode };
    });
  }

  async #inFolder(work) {
    const folder = mkdtempSync(join(tmpdir(), 'conformance-results-'));
    try {
      return await work(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Ends what runs. */
  close() {
    for (const child of this.#running) kill(child);
  }

  #run(args, withinMs = SCENARIO_MS) {
    const [command, program] = this.#argv;
    // In a group of its own, so that the client that it starts ends with it.
    const options = {
      stdio: /** @type {import('node:child_process').StdioOptions} */ (['ignore', 'pipe', 'pipe']),
      detached: true,
    };
    return new Promise((resolve, reject) => {
      const child = spawn(command, [program, ...args], options);
      this.#running.add(child);
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text) => {
          said += text;
        });
      const clock = setTimeout(() => kill(child), withinMs);
      child.once('error', reject).once('close', (exitCode) => {
        clearTimeout(clock);
        this.#running.delete(child);
        resolve({ said, exitCode });
      });
    });
  }
}

function kill(/** @type {{ pid?: number }} */ { pid }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

const checksIn = (file) => JSON.parse(readFileSync(file, 'utf8'));
const lastOf = (said) => said.slice(-MAX_OUTPUT_CHARS);

/** Makes the folder of all that is fetched. */
export function cacheFolder(root) {
  const cache = join(root, '.cache/conformance');
  mkdirSync(cache, { recursive: true });
  return cache;
}
