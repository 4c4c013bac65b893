// The first hour of a newcomer on a machine: install from npm in two ways, set up, a real client's first call, and all of it
// undone. Measures each step and says what held; starts nothing outside of the machine but the client.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { firstCall } from './first-call.mjs';
import { HOSTS, hostFiles, writeHostFiles } from './host-files.mjs';
import { NEWCOMER } from './suites.mjs';

/** Seconds to a first answer: with the image to be made or there, and from the start of `setup` with it built or pulled. */
export const TARGETS = { withImageToMake: 60, withImage: 3, built: 100, pulled: 60 };

/**
 * `machine` as `startMachine` returns it, `home` its user's home as a folder here, `registry` as `startRegistry` returns
 * it, `manifest` that of the package. Returns { facts, seconds, sizes, checks } with `checks` as [{ check, ok, detail }].
 */
export async function firstHour(machine, { home, registry, manifest, say }) {
  const { name, version } = manifest;
  const checks = [];
  const seconds = {};
  const demand = (check, ok, detail = '') =>
    checks.push({ check, ok, detail: `${detail}`.trim().slice(-2_000) });
  const npmEnv = { npm_config_registry: registry.url, npm_config_update_notifier: 'false' };
  /** What the command wrote, or undefined where it failed, which is a check that did not hold. */
  const step = async (check, words, options = {}) => {
    say(check);
    const startedAt = performance.now();
    try {
      const stdout = await machine.run(words, options);
      seconds[check] = secondsSince(startedAt);
      demand(check, true);
      return stdout;
    } catch (thrown) {
      demand(check, false, thrown.message);
      return undefined;
    }
  };

  writeHostFiles(home, NEWCOMER.id);
  const before = hostFiles(home);
  const facts = await factsOf(machine);

  const byNpx = await step('npx -y', ['npx', '-y', name, '--version'], { env: npmEnv });
  demand('npx starts this version', byNpx?.trim() === version, byNpx);
  const prefix = `${NEWCOMER.home}/.local`;
  await step('npm i -g', ['npm', 'i', '-g', '--prefix', prefix, name], { env: npmEnv });
  const byName = await step('starts by its name', [name, '--version']);
  demand('it is this version', byName?.trim() === version, byName);
  const foreign = registry.asked.filter((path) => !path.startsWith(`/${name}`) && !isOfNpmItself(path));
  demand('nothing else is fetched', foreign.length === 0, foreign.join(', '));

  const startedAt = performance.now();
  const set = await step('setup --yes', [name, 'setup', '--yes']);
  demand('setup ends with a first answer', /\S/.test(set ?? ''), set);
  say('a first call');
  const first = await firstCall(machine.argv([name]));
  demand("a client's first call is answered", first.text.includes('42'), first.text);
  const withImageToMake = secondsSince(startedAt);
  say('the next call');
  const again = await firstCall(machine.argv([name]));
  demand('so is the next one', again.text.includes('42'), again.text);
  const answers = { withImageToMake, withImage: again.seconds };
  await step('doctor', [name, 'doctor']);
  await step('a second setup', [name, 'setup', '--yes']);

  const registered = changedPaths(before, hostFiles(home));
  const ids = JSON.parse((await step('install lists hosts', [name, 'install', '--json'])) ?? '[]')
    .filter(({ registeredAs }) => registeredAs !== undefined)
    .map(({ id }) => id);
  demand(
    'setup has registered the bridge in every host',
    ids.length === HOSTS && registered.length > 0,
    ids.join(', '),
  );
  say('a call by what stands in a host');
  const { mcpServers } = JSON.parse(readFileSync(join(home, '.claude.json'), 'utf8'));
  const [{ command = 'nothing', args = [] } = {}] = Object.values(mcpServers);
  const byHost = await firstCall(machine.argv([command, ...args]));
  demand('a host reaches it by what was written there', byHost.text.includes('42'), byHost.text);

  await step('adopt', [name, 'adopt', 'cursor']);
  const adopted = readFileSync(join(home, '.cursor/mcp.json'), 'utf8');
  demand('adopt has taken the servers of Cursor out of its file', !adopted.includes('notes-mcp'), adopted);
  await step('restore', [name, 'restore', 'cursor']);
  await step('uninstall', [name, 'uninstall', ...ids]);
  const left = changedPaths(before, hostFiles(home));
  demand('uninstall leaves every file as it was, byte for byte', left.length === 0, left.join(', '));

  const sizes = sizesOf(join(home, '.local/lib/node_modules'));
  demand('it is one package', sizes.packages === 1, String(sizes.packages));
  await step('npm rm -g', ['npm', 'rm', '-g', '--prefix', prefix, name], { env: npmEnv });
  return { facts: { ...facts, registered }, seconds, answers, sizes, checks };
}

async function factsOf(machine) {
  const said = async (...words) => (await machine.run(words)).trim();
  return {
    node: await said('node', '--version'),
    npm: await said('npm', '--version'),
    podman: (await said('podman', '--version')).replace('podman version ', ''),
  };
}

/** Bytes and number of the packages that npm has put into the folder `modules`. */
function sizesOf(modules) {
  const files = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return {
    bytes: files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0),
    packages: files.filter(({ parentPath, name }) => name === 'package.json' && isPackage(parentPath)).length,
  };
}

/** Its question about known weaknesses, and whether there is a newer npm. */
const isOfNpmItself = (path) => path.startsWith('/-/npm/') || path === '/npm';

const isPackage = (folder) => /\/node_modules\/(?:@[^/]+\/)?[^/]+$/.test(folder);

const changedPaths = (before, after) => Object.keys(before).filter((path) => before[path] !== after[path]);

const secondsSince = (startedAt) => (performance.now() - startedAt) / 1_000;
