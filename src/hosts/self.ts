// Recognises the bridge's own entry in a host's configuration, where it stands beside the servers that it offers.
// Starting it would start it again within itself, without end. Judges by words and paths; runs nothing.

import { readFileSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noteLink, notePath } from '../base/files/asked-paths.js';
import { isObject } from '../base/json/records.js';
import { PACKAGE_NAME } from '../base/version.js';

const MAIN = fileURLToPath(new URL('../cli/main.js', import.meta.url));
/** Where MAIN leads: each run asks again, of each entry. */
let mainFile: string | undefined;
// As a registry, a repository or a packed archive names it.
const PACKAGE = new RegExp(
  `^((npm:)?${PACKAGE_NAME}(@[^/]+)?|(github:|gitlab:)?[\\w.-]+/${PACKAGE_NAME}(#.*)?|(git\\+|https:|ssh:)\\S*/${PACKAGE_NAME}(\\.git)?(#[^#\\n]*)?|(\\S*/)?${PACKAGE_NAME}-\\d+\\.\\d[^\\s/]*\\.tgz)$`,
);
const IMAGE = new RegExp(`^([^/]\\S*/)?${PACKAGE_NAME}(:[\\w.-]+)?(@sha256:\\w+)?$`);
const SCRIPT = new RegExp(`(^|/)${PACKAGE_NAME}(/(dist|src)/cli/main(\\.[jt]s)?)?$`);

const NPX_SCRIPT = /\/npx(-cli)?\.c?js$/;

const PACKAGE_RUNNERS = [
  'npx',
  'bunx',
  'pnpx',
  'npm',
  'pnpm',
  'yarn',
  'bun',
  'deno',
  'uvx',
  'uv',
  'pipx',
  'nix',
];
const RUNNER_VERBS = ['dlx', 'exec', 'x', 'run', 'tool'];
const INTERPRETERS = ['node', 'nodejs', 'bun', 'deno', 'tsx'];
const SHELLS = ['sh', 'bash', 'zsh', 'dash', 'fish', 'cmd', 'powershell', 'pwsh'];
const WRAPPERS = ['env', 'nice', 'nohup', 'exec', 'sudo', 'time'];
/** Programs with verbs and options of their own before the command that they run. */
const LAUNCHERS = ['wsl', 'mise', 'asdf', 'volta', 'fnm', 'direnv', 'dotenvx', 'op', 'doppler', 'timeout'];
/** Programs that offer another MCP server by another way. */
const PROXIES = ['mcp-proxy', 'supergateway', 'mcpo', '@modelcontextprotocol/inspector'];
const ENGINES = ['docker', 'podman', 'nerdctl'];
const STARTERS = [...PACKAGE_RUNNERS, ...INTERPRETERS, ...SHELLS, ...ENGINES, PACKAGE_NAME];
/** Options of all these whose value is a word of its own, and names no program. */
const WITH_VALUE =
  /^(-r|--require|--import|--loader|--experimental-loader|--env-file|--registry|--cache|--prefix|-C|-u|-n|-(ep|[eE]xecution[pP]olicy|[wW]indow[sS]tyle))$/;

/** Nobody writes us further back than this; a line of a hundred thousand words is no reason to look through it. */
const MAX_WORDS = 64;
const MAX_WORD_CHARS = 4_096;

/**
 * Whether starting this argv in the folder `cwd` would start this bridge, directly or through npx, node, a shell, a proxy
 * or a container.
 */
export function isOurselves(command: string, args: readonly string[], cwd = ''): boolean {
  // Some hosts take a whole line for the command.
  if (args.length === 0 && /^[^\\/]+\s/.test(command.trim())) return isCommandLine([command], cwd);
  const program = programName(command);
  if (program === PACKAGE_NAME || isOurScript(command, cwd)) return true;
  const positional = args.filter((arg, at) => !arg.startsWith('-') && !WITH_VALUE.test(args[at - 1] ?? ''));
  // The package or script comes first; a later argument that looks like us is only data for another server.
  if (PACKAGE_RUNNERS.includes(program)) {
    const named = args.find((arg) => /^(--package=|-p=)/.test(arg))?.replace(/^[^=]*=/, '');
    const target = named ?? positional.find((arg) => !RUNNER_VERBS.includes(arg));
    if (target !== undefined && isOurPackage(target, cwd)) return true;
    if (target !== undefined && PROXIES.includes(target.replace(/(?<=.)@[^/]*$/, '')))
      return startsUs(args, cwd);
  }
  if (INTERPRETERS.includes(program)) {
    const script = positional.find((arg) => !RUNNER_VERBS.includes(arg));
    // Where PATH leads to no node, npm's own script is started by the path of one.
    if (script !== undefined && NPX_SCRIPT.test(script.replaceAll('\\', '/')))
      return isOurselves('npx', args.slice(args.indexOf(script) + 1), cwd);
    return script !== undefined && isOurScript(script, cwd);
  }
  if (ENGINES.includes(program)) {
    if (args.includes('exec')) return startsUs(args, cwd);
    return args.includes('run') && args.some((arg) => IMAGE.test(arg));
  }
  if (SHELLS.includes(program) || WRAPPERS.includes(program)) return isCommandLine(args, cwd);
  return (LAUNCHERS.includes(program) || PROXIES.includes(program)) && startsUs(args, cwd);
}

/** Whether the first word that starts programs, named without a folder, starts us. A proxy takes a line as one word. */
function startsUs(args: readonly string[], cwd: string): boolean {
  const words = wordsOf(args);
  const at = words.findIndex((word) => !/[\\/]/.test(word) && STARTERS.includes(programName(word)));
  return at !== -1 && isOurselves(words[at] ?? '', words.slice(at + 1), cwd);
}

/** A shell's command line or a wrapper's argv: of several commands, whether one starts us where those before it lead. */
function isCommandLine(args: readonly string[], cwd: string): boolean {
  let folder = cwd;
  for (const words of commandsIn(wordsOf(args))) {
    const at = words.findIndex(
      (word, index) => !/^(-|&$|\/[a-z]$|\w+=)/i.test(word) && !WITH_VALUE.test(words[index - 1] ?? ''),
    );
    const [command = '', ...rest] = at === -1 ? [] : words.slice(at);
    if (command === 'cd') folder = resolve(folder, rest.find((word) => !/^[-/][a-z]?$/i.test(word)) ?? '');
    else if (command !== '' && isOurselves(command, rest, folder)) return true;
  }
  return false;
}

function wordsOf(args: readonly string[]): string[] {
  return args
    .slice(0, MAX_WORDS)
    .flatMap((arg) =>
      arg
        .slice(0, MAX_WORD_CHARS)
        .replace(/&&|\|\||[;\n]/g, ' $& ')
        .trim()
        .split(/[^\S\n]+/),
    )
    .slice(0, MAX_WORDS)
    .map((word) => word.replace(/^["']|["']$/g, ''));
}

function commandsIn(words: readonly string[]): string[][] {
  const commands: string[][] = [[]];
  for (const word of words) {
    if (/^(&&|\|\||;|\n)$/.test(word)) commands.push([]);
    else commands.at(-1)?.push(word);
  }
  return commands;
}

function programName(command: string): string {
  return (command.split(/[\\/]/).at(-1) ?? '').toLowerCase().replace(/\.(cmd|exe|ps1|bat)$/, '');
}

function isOurPackage(target: string, cwd: string): boolean {
  if (target.length > MAX_WORD_CHARS) return false;
  // Without such a beginning it is a name and not a folder.
  return PACKAGE.test(target) || (/^([./\\~]|[A-Za-z]:)/.test(target) && isOurScript(target, cwd));
}

function isOurScript(file: string, cwd: string): boolean {
  if (!/[\\/]/.test(file)) return SCRIPT.test(file);
  if (SCRIPT.test(file.replaceAll('\\', '/'))) return true;
  const whole = resolve(cwd, file);
  if (SCRIPT.test(whole.replaceAll('\\', '/'))) return true;
  try {
    mainFile ??= realpathSync.native(MAIN);
  } catch {
    // As it is while the sources are tested, where no such file was built.
  }
  noteLink(whole);
  try {
    // As the disk spells it, which the other one of Node's two does not ask.
    const real = realpathSync.native(whole);
    return real === mainFile || isInOurPackage(real);
  } catch {
    return false;
  }
}

/** Whether `file` is another copy of us, whatever its folder is called. */
function isInOurPackage(file: string): boolean {
  const [, root] = /^(.*)[\\/](?:dist|src)[\\/]cli[\\/]main\.[jt]s$/.exec(file) ?? [];
  if (root === undefined) return false;
  const path = `${root}/package.json`;
  notePath(path);
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as unknown;
  return isObject(manifest) && manifest['name'] === PACKAGE_NAME;
}
