// The first hour counted: what a newcomer types, how many questions are asked, when the first answer comes and when the first
// from an adopted server, and how many characters of tools the model is given before and after. The newcomer presses Enter
// at each question.

import { spawn } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { command } from '../host/command.mjs';
import { firstCall } from './first-call.mjs';
import { useImageRegistry } from './image-registry.mjs';
import { NEWCOMER } from './suites.mjs';

/** Where the program comes from. */
export const SOURCES = ['package', 'clone'];
/** Where the image comes from. */
export const IMAGES = ['built', 'pulled'];

/** Servers of other people that Codex has before: name, package, and what node is given of it. */
const SERVERS = /** @type {const} */ ([
  ['memory', '@modelcontextprotocol/server-memory', ['dist/index.js']],
  ['everything', '@modelcontextprotocol/server-everything', ['dist/index.js', 'stdio']],
]);
/** A call of each that reads. */
const CALLS =
  'graph = await mcp_memory.read_graph()\nsaid = await mcp_everything.echo(message="42")\nprint(graph, said)';
const CONFIG = '.codex/config.toml';
/** A file of the newcomer's, whose path `npmRegistry` has where it is needed. */
export const CERTIFICATES = '.certificates.pem';
const TOML = SERVERS.map(([name, packageName, [script, ...rest]]) => {
  const args = [`${NEWCOMER.home}/servers/node_modules/${packageName}/${script}`, ...rest];
  return `\n[mcp_servers.${name}]\ncommand = "node"\nargs = ${JSON.stringify(args)}\n`;
}).join('');

/**
 * @typedef {{ argv: (words: readonly string[], env?: Record<string, string>) => string[],
 *   run: (words: readonly string[], options?: { env?: Record<string, string> }) => Promise<string> }} Machine as
 *   `startMachine` returns it
 * @typedef {{ home: string, source: string, image: string, name: string, checkout: string,
 *   ownRegistry: Record<string, string>, npmRegistry: Record<string, string>, imageRegistry: string | undefined,
 *   say: (text: string) => void }} Surroundings `home` is the folder here that is the user's home there; `source` and `image` are
 *   of SOURCES and IMAGES; the registries are variables for npm, where it finds our package and all others, and the
 *   address of a registry of images
 */

/**
 * One first hour. Throws where a command of it fails.
 * @param {Machine} machine
 * @param {Surroundings} surroundings
 */
export async function countedSetup(machine, surroundings) {
  const { home, source, image } = surroundings;
  const say = (/** @type {string} */ text) => surroundings.say(`${source}, image ${image}: ${text}`);
  await furnish(machine, surroundings);
  const before = readFileSync(join(home, CONFIG), 'utf8');
  const startedAt = performance.now();
  const secondsSince = () => (performance.now() - startedAt) / 1_000;
  say('installing');
  const { typed, own } = await (source === 'clone' ? fromClone : fromPackage)(machine, surroundings);
  const installed = secondsSince();
  say('setup, with Enter at each question');
  const setUp = await answeredByEnter(machine, [...own, 'setup'], secondsSince);
  say('the first call of adopted servers');
  const servers = SERVERS.map(([name]) => name);
  const called = await firstCall(machine.argv(own), { code: CALLS, servers });
  const adopted = secondsSince();
  await machine.run([...own, 'restore', 'codex']);
  await machine.run([...own, 'uninstall', 'codex']);
  const demand = (/** @type {string} */ check, /** @type {boolean} */ ok, detail = '') => ({
    check: `${source}, image ${image}: ${check}`,
    ok,
    detail: detail.trim().slice(-2_000),
  });
  return {
    source,
    image,
    commands: [...typed, `${own.join(' ')} setup`],
    questions: setUp.questions,
    seconds: { installed, firstAnswer: setUp.firstAnswer, setUp: setUp.ended, adopted },
    chars: { before: setUp.chars, after: called.toolChars },
    checks: [
      demand('setup gives a first answer', setUp.firstAnswer !== undefined, setUp.output),
      demand('the image comes from there', setUp.output.includes(`${image} in`), setUp.output),
      demand('setup moves the servers', setUp.chars !== undefined, setUp.output),
      demand('both adopted servers answer', called.text.includes('42'), called.text),
      demand(
        'the undo leaves the file of Codex as it was',
        readFileSync(join(home, CONFIG), 'utf8') === before,
      ),
    ],
  };
}

/**
 * @param {Machine} machine
 * @param {Surroundings} surroundings
 */
async function furnish(machine, { home, npmRegistry, imageRegistry, say }) {
  say('installing servers, as somebody has them before');
  // A certificate that this machine trusts is one that the registry may need there.
  const { NODE_EXTRA_CA_CERTS: certificates } = process.env;
  if (certificates !== undefined) copyFileSync(certificates, join(home, CERTIFICATES));
  const packages = SERVERS.map(([, packageName]) => packageName);
  const quietly = ['--no-audit', '--no-fund'];
  await machine.run(['npm', 'install', ...quietly, '--prefix', 'servers', ...packages], { env: npmRegistry });
  await machine.run(['mkdir', '-p', '.codex', '.config/containers']);
  writeFileSync(join(home, CONFIG), `# what I use most\nmodel = "gpt-5"\n${TOML}`);
  if (imageRegistry !== undefined) useImageRegistry(home, imageRegistry);
  await ownedByNewcomer(join(home, '.codex'));
  await ownedByNewcomer(join(home, '.config'));
}

const ownedByNewcomer = (/** @type {string} */ folder) =>
  command(['chown', '-R', `${NEWCOMER.id}:${NEWCOMER.id}`, folder]);

/**
 * @param {Machine} machine
 * @param {Surroundings} surroundings
 */
async function fromPackage(machine, { name, ownRegistry }) {
  await machine.run(['npm', 'i', '-g', '--prefix', `${NEWCOMER.home}/.local`, name], { env: ownRegistry });
  return { typed: [`npm i -g ${name}`], own: [name] };
}

/**
 * The clone is made from here, since the checkout is not on that machine.
 * @param {Machine} machine
 * @param {Surroundings} surroundings
 */
async function fromClone(machine, { home, checkout, npmRegistry }) {
  await command(['git', 'clone', '--quiet', '--no-hardlinks', checkout, join(home, 'bridge')]);
  await ownedByNewcomer(join(home, 'bridge'));
  const inside = ['env', '--chdir=bridge'];
  await machine.run([...inside, 'npm', 'ci', '--no-audit', '--no-fund'], { env: npmRegistry });
  await machine.run([...inside, 'npm', 'run', 'build']);
  return {
    typed: ['git clone', 'npm ci', 'npm run build'],
    own: ['node', `${NEWCOMER.home}/bridge/dist/cli/main.js`],
  };
}

/** A question that waits for its answer, as the terminal shows it. */
const QUESTION = /\u25c6 +(.+)/u;
const TIMEOUT_MS = 20 * 60_000;

/**
 * Runs a command on a terminal of 80 columns and presses Enter at each question.
 * @param {Machine} machine
 * @param {readonly string[]} words
 * @param {() => number} secondsSince
 */
async function answeredByEnter(machine, words, secondsSince) {
  // The terminal is made by script(1), which every Debian has.
  const line = `stty cols 80 rows 40; ${words.join(' ')}`;
  const [program = '', ...args] = machine.argv(['script', '-qefc', line, '/dev/null'], {
    TERM: 'xterm-256color',
  });
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  let output = '';
  let unread = '';
  /** @type {number | undefined} */
  let firstAnswer;
  /** @type {string[]} */
  const questions = [];
  child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
    output += stripVTControlCharacters(text);
    unread += stripVTControlCharacters(text);
    if (/answer +ok/.test(output)) firstAnswer ??= secondsSince();
    const question = QUESTION.exec(unread)?.[1]?.trim();
    if (question === undefined || questions.includes(question)) return;
    questions.push(question);
    unread = '';
    child.stdin.write('\r');
  });
  await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  const chars = /behind the bridge: ([\d,]+) characters/.exec(output.replaceAll(/\s+/g, ' '))?.[1];
  return {
    questions,
    firstAnswer,
    ended: secondsSince(),
    chars: chars === undefined ? undefined : Number(chars.replaceAll(',', '')),
    output,
  };
}
