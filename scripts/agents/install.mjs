// Host programs from npm, each of one version in a folder of its own below .cache/agents/, which git ignores. Their install
// scripts do not run: what they would put in place is found by its path.

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const INSTALL_TIMEOUT_MS = 10 * 60_000;

/** { argv, version }: how to start the program. Fails with the reason where it cannot be had or does not start. */
export async function install(id, { package: name, version, programs }, cache) {
  const folder = join(cache, id);
  const modules = join(folder, 'node_modules');
  if (versionIn(join(modules, name)) !== version) {
    mkdirSync(folder, { recursive: true });
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--no-package-lock'];
    await run('npm', ['install', '--prefix', folder, ...options, `${name}@${version}`], {
      timeout: INSTALL_TIMEOUT_MS,
    });
  }
  const program = programs.map((path) => join(modules, path)).find((path) => existsSync(path));
  if (program === undefined)
    throw new Error(`${name}@${version} has no program for ${process.platform}-${process.arch}`);
  return program.endsWith('.js') ? [process.execPath, program] : [program];
}

function versionIn(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
}

const execute = promisify(execFile);

/** Output of a program that ends by itself; a failure says what the program said last. */
export async function run(command, args, options) {
  try {
    const { stdout, stderr } = await execute(command, args, { maxBuffer: 64 * 1024 * 1024, ...options });
    return `${stdout}${stderr}`;
  } catch (thrown) {
    const words = `${thrown.stderr ?? ''}`.trim() || `${thrown.stdout ?? ''}`.trim() || thrown.message;
    throw new Error(`${command} ${args.slice(0, 2).join(' ')}: ${words.slice(-1_000)}`, { cause: thrown });
  }
}
