// Recognises the bridge's own entry in a host's configuration, where it stands beside the servers that it offers.
// Starting it would start it again within itself, without end. Judges by words and paths; runs nothing.

import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PACKAGE_NAME } from '../base/version.js';

const MAIN = fileURLToPath(new URL('../cli/main.js', import.meta.url));
// As a registry, a repository or a packed archive names it.
const PACKAGE = new RegExp(
  `^((npm:)?${PACKAGE_NAME}(@[^/]+)?|(github:|gitlab:)?[\\w.-]+/${PACKAGE_NAME}(#.*)?|(git\\+|https:|ssh:)\\S*/${PACKAGE_NAME}(\\.git)?(#.*)?|(\\S*/)?${PACKAGE_NAME}-\\d+\\.\\d\\S*\\.tgz)$`,
);
const IMAGE = new RegExp(`^([^/]\\S*/)?${PACKAGE_NAME}(:[\\w.-]+)?(@sha256:\\w+)?$`);
const SCRIPT = new RegExp(`(^|/)${PACKAGE_NAME}(/(dist|src)/cli/main(\\.[jt]s)?)?$`);

const PACKAGE_RUNNERS = ['npx', 'bunx', 'pnpx', 'npm', 'pnpm', 'yarn', 'bun', 'deno'];
const RUNNER_VERBS = ['dlx', 'exec', 'x', 'run'];
const INTERPRETERS = ['node', 'nodejs', 'bun', 'deno', 'tsx'];
/** Options of node whose value is a module of its own. */
const PRELOADS = ['-r', '--require', '--import', '--loader', '--experimental-loader', '--env-file'];
const SHELLS = ['sh', 'bash', 'zsh', 'dash', 'cmd', 'powershell', 'pwsh'];
const WRAPPERS = ['env', 'nice', 'nohup', 'exec', 'sudo', 'time'];
/** Those with verbs and options of their own before the command that they run. */
const LAUNCHERS = ['wsl', 'mise', 'asdf', 'volta', 'fnm', 'direnv', 'dotenvx', 'op', 'doppler', 'timeout'];
/** Programs that offer another MCP server by another way. */
const PROXIES = ['mcp-proxy', 'supergateway', 'mcpo'];
const ENGINES = ['docker', 'podman', 'nerdctl'];
const STARTERS = [...PACKAGE_RUNNERS, ...INTERPRETERS, ...SHELLS, ...ENGINES, PACKAGE_NAME];

/** Nobody writes us further back than this; a line of a hundred thousand words is no reason to look through it. */
const MAX_WORDS = 64;
const MAX_WORD_CHARS = 4_096;

/** Whether starting this argv would start this bridge, directly or through npx, node, a shell or a container. */
export function isOurselves(command: string, args: readonly string[]): boolean {
  const program = programName(command);
  if (program === PACKAGE_NAME || isOurScript(command)) return true;
  const positional = args.filter((arg) => !arg.startsWith('-'));
  // The package or script comes first; a later argument that looks like us is only data for another server.
  if (PACKAGE_RUNNERS.includes(program)) {
    const named = args.find((arg) => /^(--package=|-p=)/.test(arg))?.replace(/^[^=]*=/, '');
    const target = named ?? positional.find((arg) => !RUNNER_VERBS.includes(arg));
    if (target !== undefined && isOurPackage(target)) return true;
    if (target !== undefined && PROXIES.includes(target)) return startsUs(args);
  }
  if (INTERPRETERS.includes(program)) {
    const isValue = (arg: string) => PRELOADS.includes(args[args.indexOf(arg) - 1] ?? '');
    const script = positional.find((arg) => !RUNNER_VERBS.includes(arg) && !isValue(arg));
    return script !== undefined && isOurScript(script);
  }
  if (ENGINES.includes(program)) {
    if (args.includes('exec')) return startsUs(args);
    return args.includes('run') && args.some((arg) => IMAGE.test(arg));
  }
  if (SHELLS.includes(program) || WRAPPERS.includes(program)) return isWrapped(args);
  return (LAUNCHERS.includes(program) || PROXIES.includes(program)) && startsUs(args);
}

/** Whether the first word that starts programs, named without a folder, starts us. */
function startsUs(args: readonly string[]): boolean {
  const at = args.findIndex((arg) => !/[\\/]/.test(arg) && STARTERS.includes(programName(arg)));
  return at !== -1 && isOurselves(args[at] ?? '', args.slice(at + 1));
}

/** A shell's command line or a wrapper's argv, without its options and variable assignments. */
function isWrapped(args: readonly string[]): boolean {
  const words = args
    .slice(0, MAX_WORDS)
    .flatMap((arg) => arg.slice(0, MAX_WORD_CHARS).trim().split(/\s+/))
    .slice(0, MAX_WORDS)
    .map((word) => word.replace(/^["']|["']$/g, ''));
  const at = words.findIndex((word) => word !== '&&' && !/^(-|\/[ckCK]$|\w+=)/.test(word));
  return at !== -1 && isOurselves(words[at] ?? '', words.slice(at + 1));
}

function programName(command: string): string {
  return (command.split(/[\\/]/).at(-1) ?? '').toLowerCase().replace(/\.(cmd|exe|ps1|bat)$/, '');
}

function isOurPackage(target: string): boolean {
  if (target.length > MAX_WORD_CHARS) return false;
  // Without such a beginning it is a name and not a folder.
  return PACKAGE.test(target) || (/^([./\\~]|[A-Za-z]:)/.test(target) && isOurScript(target));
}

function isOurScript(file: string): boolean {
  if (SCRIPT.test(file.replaceAll('\\', '/'))) return true;
  if (!/[\\/]/.test(file)) return false;
  try {
    return realpathSync(file) === realpathSync(MAIN);
  } catch {
    return false;
  }
}
