// The command line: a table of contents. Every command lives in its own file, loaded only when it is asked for.

import { isatty } from 'node:tty';
import { Command, InvalidArgumentError, Option } from 'commander';
import { didYouMean } from '../base/text/closest.js';
import { PACKAGE_NAME, VERSION } from '../base/version.js';
import { describedProfiles } from '../engine/images/image-name.js';
import type { AllowOptions, ApprovalsOptions, DenyOptions } from './approvals/approvals.js';
import type { SaveOptions } from './kept/kept.js';
import type { RunsOptions } from './kept/runs.js';
import type { ReplOptions } from './repl/repl.js';
import type { ExecOptions } from './run/exec.js';
import type { Words } from './run/exec-input.js';
import type { RunCommandOptions } from './run/run.js';
import type { AdoptCommandOptions } from './servers/adopt.js';
import type { InstallCommandOptions, UninstallCommandOptions } from './servers/install.js';
import type { LoginCommandOptions } from './servers/login.js';
import type { PolicyTestOptions } from './servers/policy-test.js';
import type { RefreshOptions } from './servers/servers-refresh.js';
import type { TokenOptions } from './servers/token.js';
import type { SetupOptions } from './setup/step.js';
import { reportFailure, USAGE_EXIT_CODE } from './terminal/output.js';
import { helpText, USUAL_COLUMNS, widthOf } from './terminal/wrap.js';

const EXAMPLES = `
Examples:
  $ ${PACKAGE_NAME} install claude-code                register with Claude Code
  $ ${PACKAGE_NAME} doctor                             check this machine
  $ ${PACKAGE_NAME} doctor --probe                     attack a sandbox here and see what holds
  $ ${PACKAGE_NAME} image build                        make the image where no registry can be reached
  $ ${PACKAGE_NAME} image build javascript go          and those of further languages
  $ ${PACKAGE_NAME} runs --failed                      which runs failed lately
  $ ${PACKAGE_NAME} approvals                          which tool calls wait for your answer
  $ ${PACKAGE_NAME} policy test 'bank.pay {"sum":9}'   what your policy makes of a call
  $ ${PACKAGE_NAME} kept                               what runs have left, and where
  $ ${PACKAGE_NAME} servers                            what was found, and where
  $ ${PACKAGE_NAME} servers refresh                    learn what tools they have
  $ ${PACKAGE_NAME} login linear                       log in to a remote server, in the browser
  $ ${PACKAGE_NAME} run job.py --servers github,files  run a file as the agent would
  $ ${PACKAGE_NAME} run job.py --file data.csv --out results
  $ echo 'print(6 * 7)' | ${PACKAGE_NAME} run -
  $ ${PACKAGE_NAME} run load.py --session data         keep what it has loaded for the next command
  $ ${PACKAGE_NAME} repl --servers github              try a server at a prompt
  $ ${PACKAGE_NAME} exec main.go --file util/util.go   run a program in any of its languages

Settings are environment variables (MCP_BRIDGE_…); docs/settings.md lists them.`;

const EXEC_EXAMPLES = `
Examples:
  $ ${PACKAGE_NAME} exec cmd/main.go --file cmd/util/util.go -- -v input.txt
  $ echo 'console.log(6 * 7)' | ${PACKAGE_NAME} exec --language js - --json

It exits with 124 after a timeout, with 2 where the command line is wrong. In JSON, exitCode is -1 where the program did
not end by itself.`;

const CODE_EXEC_HELP = `
It speaks MCP on stdin and stdout, or over Streamable HTTP where MCP_EXEC_LISTEN says so:
  $ ${PACKAGE_NAME} code-exec
  $ MCP_EXEC_LISTEN=127.0.0.1:8000 ${PACKAGE_NAME} code-exec
  $ docker compose up -d                               in the sandbox that compose.yaml describes

Whoever reaches it runs what they like as the user that it runs as. Settings are environment variables (MCP_EXEC_…);
docs/code-exec.md lists them.`;

type ServeOptions = { readonly http?: string; readonly allowedHost: readonly string[] };

const program = new Command(PACKAGE_NAME)
  .description(
    "Runs an agent's Python in a throw-away container with the user's MCP servers callable inside.",
  )
  .version(VERSION)
  // Commands that are added below take it from here.
  .configureOutput({ getOutHelpWidth: () => widthOf(process.stdout) ?? USUAL_COLUMNS })
  .configureHelp({ minWidthToWrap: 20 })
  .addHelpText('after', helpText(EXAMPLES))
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : USAGE_EXIT_CODE));

program
  .command('serve', { isDefault: true })
  .description('speak MCP on stdin and stdout (the default), or over HTTP')
  .option(
    '--http <address>',
    'serve several clients at [HOST:]PORT or unix:/path; docs/serve-http.md says who may come in',
  )
  .option(
    '--allowed-host <name>',
    'with --http: a further name under which clients reach it; may be repeated',
    appendValue,
    [],
  )
  .allowExcessArguments()
  .action(async (options: ServeOptions, { args: [word] }: Command) => {
    // A mistyped command arrives here, because this command is the default.
    if (word !== undefined)
      program.error(`error: unknown command '${word}'.${didYouMean(word, commandNames())}`);
    // A person who typed nothing but the name would otherwise wait for something to happen.
    if (options.http !== undefined)
      await (await import('./serving/serve-http.js')).serveHttp(options.http, options.allowedHost);
    else if (process.argv.length === 2 && isatty(0)) (await import('./introduction.js')).introduce();
    else {
      const alone = await (await import('./windows/start-relay.js')).serveShared();
      await (await import('./serving/serve.js')).serve(alone);
    }
  });

program
  .command('setup')
  .description('make this machine ready and register in your hosts: engine, image, walls, a first answer')
  .option('--yes', 'install what is missing and register in every host found, without asking')
  .option('--dry-run', 'say each step, and do none')
  .option(
    '--host <name>',
    'register in this host only, as `install` names it; may be repeated',
    appendValue,
    [],
  )
  .option('--no-register', 'register in no host')
  .addOption(
    new Option('--approve <mode>', 'calls that you are asked about before they are sent').choices([
      'off',
      'destructive',
      'writes',
      'all',
    ]),
  )
  .option('--json', 'print JSON; asks nothing')
  .action(async (options: SetupOptions) => (await import('./setup/setup.js')).setUp(options));

program
  .command('doctor')
  .description('check the machine: engine, image, limits, servers; starts a container to see')
  .option('--probe', 'attack a sandbox of this machine and say what held, per control')
  .option(
    '--http <address>',
    'also who may come in at this address of `serve --http`, and what a stranger gets where it listens',
  )
  .option('--json', 'print JSON')
  .action(async (options: { json?: true; probe?: true; http?: string }) => {
    const { doctor, doctorHttp } = await import('./doctor/doctor.js');
    if (!options.probe) return await doctor(options);
    await (await import('./probe/probe.js')).probe(options);
    if (options.http !== undefined) await doctorHttp(options.http, options.json);
  });

program
  .command('install')
  .description(
    "register the bridge in hosts of this machine, in the user's own settings; lists them without a name",
  )
  .argument('[hosts...]', 'such as claude-code, codex, gemini, opencode, cursor, vscode')
  .option('--name <name>', 'under which name; sandbox without it')
  .option('--env <name=value>', 'a variable that the host starts it with; may be repeated', appendValue, [])
  .option('--dry-run', 'only say what would be written')
  .option('--json', 'print JSON')
  .action(async (hosts: string[], options: InstallCommandOptions) =>
    (await import('./servers/install.js')).installCommand(hosts, options),
  );

program
  .command('uninstall')
  .description('take the bridge out of hosts again, and leave their files as they were')
  .argument('[hosts...]', 'as `install` names them')
  .option('--dry-run', 'only say what would be done')
  .option('--json', 'print JSON')
  .action(async (hosts: string[], options: UninstallCommandOptions) =>
    (await import('./servers/install.js')).uninstallCommand(hosts, options),
  );

program
  .command('adopt')
  .description(
    "move a host's MCP servers into the bridge's own folder, so that their schemas leave the model's context",
  )
  .argument('<host>', 'as `install` names it')
  .argument('[servers...]', 'only these; without a name, all that can be moved')
  .option('--name <name>', 'under which name to register the bridge where it is not yet')
  .option('--dry-run', 'only show what would be moved, what would stay, and why')
  .option('--json', 'print JSON')
  .action(async (host: string, names: string[], options: AdoptCommandOptions) =>
    (await import('./servers/adopt.js')).adoptCommand(host, names, options),
  );

program
  .command('restore')
  .description('put the servers back that `adopt` has moved out of a host')
  .argument('<host>', 'as `install` names it')
  .option('--dry-run', 'only say what would be done')
  .option('--json', 'print JSON')
  .action(async (host: string, options: AdoptCommandOptions) =>
    (await import('./servers/adopt.js')).restoreCommand(host, options),
  );

const servers = program
  .command('servers')
  .description('list the MCP servers that were found, and those passed over with the reason')
  .option('--json', 'print JSON')
  .action(async (options: { json?: true }) => (await import('./servers/server-list.js')).servers(options));

servers
  .command('refresh')
  .description('start servers once to learn their tools, and say what has changed since it was first seen')
  .argument('[names...]', 'servers, as `servers` names them; all of them without a name')
  .option('--accept', 'take changed tools for what they are to be from now on')
  .option('--json', 'print JSON')
  .action(async (names: string[], _options: object, command: Command) =>
    // An option that the parent has too is read as the parent's.
    (await import('./servers/servers-refresh.js')).serversRefresh(
      names,
      command.optsWithGlobals<RefreshOptions>(),
    ),
  );

program
  .command('login')
  .description('log in to a remote server in the browser, so that runs can use it')
  .argument('[server]', 'its name, as `servers` shows it')
  .option('--no-browser', 'only print the address; also takes the one that the browser ends at, on stdin')
  .option('--scope <scopes>', 'scopes to ask for on top, separated by spaces', spaceSeparated)
  .option(
    '--principal <name>',
    'for this principal over HTTP: a token, or subject:SUBJECT of an OAuth issuer',
  )
  .option('--list', 'show the logins that are kept; asks nobody')
  .option('--json', 'with --list: print JSON')
  .action(async (server: string | undefined, options: LoginCommandOptions) =>
    (await import('./servers/login.js')).login(server, options),
  );

program
  .command('logout')
  .description("revoke and forget a remote server's login")
  .argument('<server>', 'its name, as `servers` or `login --list` shows it')
  .option('--principal <name>', 'that of this principal over HTTP, as for `login`')
  .action(async (server: string, options: { principal?: string }) =>
    (await import('./servers/login.js')).logout(server, options),
  );

const token = program
  .command('token')
  .description('make, list and revoke the tokens of a bridge that serves over HTTP');

token
  .command('create')
  .description('make a token; prints it alone on stdout, and never again')
  .argument('<name>', 'for whom or what it is')
  .option(
    '--servers <names>',
    "servers that it reaches, separated by commas, or '*' for all; without it, none",
  )
  .option('--expires <when>', 'its end: 12h, 30d, 8w, 1y, a date or a moment; without it, none')
  .option('--scopes <scopes>', 'scopes that it counts as granted, for the rules of the principals file')
  .action(async (name: string, options: TokenOptions) =>
    (await import('./servers/token.js')).tokenCreate(name, options),
  );

token
  .command('list')
  .description('list the tokens: servers, end and last use; never the tokens themselves')
  .option('--json', 'print JSON')
  .action(async (options: { json?: true }) => (await import('./servers/token.js')).tokenList(options));

token
  .command('change')
  .description('change what a token reaches, or its end; the token stays the same')
  .argument('<name>', 'its name, as `token list` shows it')
  .option('--servers <names>', "servers that it reaches, separated by commas, or '*' for all")
  .option('--expires <when>', 'its end, as for `token create`, or never')
  .option('--scopes <scopes>', 'scopes that it counts as granted')
  .action(async (name: string, options: TokenOptions) =>
    (await import('./servers/token.js')).tokenChange(name, options),
  );

token
  .command('revoke')
  .description('refuse a token from now on, also in bridges that run')
  .argument('<name>', 'its name, as `token list` shows it')
  .action(async (name: string) => (await import('./servers/token.js')).tokenRevoke(name));

program
  .command('status')
  .description(
    'show the shared bridges of this user: which windows use them, which servers run for whom, memory',
  )
  .option('--json', 'print JSON')
  .action(async (options: { json?: true }) => (await import('./windows/shared.js')).status(options));

program
  .command('stop')
  .description('end the shared bridges of this user when the calls that are under way have ended')
  .option('--now', 'do not wait for them')
  .option('--json', 'print JSON')
  .action(async (options: { json?: true; now?: true }) =>
    (await import('./windows/shared.js')).stop(options),
  );

program
  .command('restart')
  .description('the same, and start one with the settings of this terminal')
  .option('--now', 'do not wait for calls that are under way')
  .option('--json', 'print JSON')
  .action(async (options: { json?: true; now?: true }) =>
    (await import('./windows/shared.js')).restart(options),
  );

program
  .command('shared-bridge', { hidden: true })
  .description('what a window starts: the process that all windows share')
  .argument('<socket>', 'where it listens')
  .action(async (socket: string) => (await import('./windows/shared-bridge.js')).sharedBridge(socket));

const DATA_OPTION = 'a folder that the code sees at /data: PATH, PATH:NAME or PATH:NAME:rw; may be repeated';

program
  .command('run')
  .description("run a Python file as the agent's tool would; exits with the code's own exit code")
  .argument('<script>', 'a Python file, or - for stdin')
  .option('--servers <names>', 'MCP servers to load, separated by commas', commaSeparated, [])
  .option('--timeout <seconds>', 'seconds that the code may take', wholeNumber)
  .option('--file <path>', 'a file for the working directory; may be repeated', appendValue, [])
  .option('--data <folder>', DATA_OPTION, appendValue, [])
  .option('--out <folder>', 'where pictures go, and files that the code writes to out/')
  .option(
    '--session <name>',
    'run it in this session, whose variables, imports and files stay for the next command',
  )
  .option('--require-session', 'refuse to begin the session anew where it is not there')
  .option('--json', 'print the whole result as JSON')
  .action(async (script: string, options: RunCommandOptions) =>
    (await import('./run/run.js')).run(script, options),
  );

program
  .command('repl')
  .description(
    "an interactive Python with the user's MCP servers; reads programs from stdin without a terminal",
  )
  .option('--servers <names>', 'MCP servers to load, separated by commas', commaSeparated, [])
  .option('--all', 'load all of them')
  .option('--data <folder>', DATA_OPTION, appendValue, [])
  .option('--session <name>', 'how its session is called; it ends with this command', 'repl')
  .action(async (options: ReplOptions) => (await import('./repl/repl.js')).repl(options));

program
  .command('exec')
  .description("run a program of any language, as execute_code would; exits with the program's own exit code")
  .usage('[options] <file|-> [--] [args...]')
  .argument(
    '[words...]',
    "a file, or - for stdin; then the program's arguments, after -- where they look like options",
  )
  .option('--language <name>', 'its language, where the ending of the file does not say it')
  .option('--snippet <name>', 'a snippet instead of a file; `snippets` lists them')
  .option(
    '--file <path>',
    "a further file; may be repeated. Below the program's folder it keeps its path, as does a relative path that leads down from here; any other arrives under its last part",
    appendValue,
    [],
  )
  .option('--data <folder>', DATA_OPTION, appendValue, [])
  .option('--stdin <path>', 'what the program reads: a file, or - for our own stdin; without it, nothing')
  .option('--env <name=value>', 'a variable of its environment; may be repeated', appendValue, [])
  .option('--servers <names>', 'MCP servers to load, separated by commas', commaSeparated, [])
  .option('--timeout <seconds>', 'seconds that it may take, compiling included', wholeNumber)
  .option('--out <folder>', 'where pictures go, and files that it writes to out/')
  .option(
    '--json',
    'print the result as one line of JSON: status, exitCode, stdout, stderr, durationMs, error, files',
  )
  .addHelpText('after', helpText(EXEC_EXAMPLES))
  .action(async (words: string[], options: ExecOptions) =>
    (await import('./run/exec.js')).exec(splitWords(words), options),
  );

program
  .command('snippets')
  .description("list the operator's snippets, and what lies beside them with the reason")
  .option('--json', 'print JSON')
  .action(async (options: { json?: true }) => (await import('./run/snippets.js')).snippets(options));

program
  .command('runs')
  .description('show what was run and which tools it called, as the audit has kept it')
  .option('--last <number>', 'how many', wholeCount, 20)
  .option('--failed', 'only runs that failed, or that had a call which did')
  .option('--server <name>', 'only runs that loaded or called this server')
  .option('--calls <run>', 'one run with its calls; the beginning of its name is enough')
  .option('--json', 'print JSON')
  .action(async (options: RunsOptions) => (await import('./kept/runs.js')).runs(options));

const approvals = program
  .command('approvals')
  .description('list the tool calls that wait for your answer, of all bridges that run')
  .option('--watch', 'show each new one: on a terminal a key answers it, in a pipe it is a line')
  .option('--json', 'print JSON; with --watch an object a line')
  .action(async (options: ApprovalsOptions) => (await import('./approvals/approvals.js')).approvals(options));

approvals
  .command('show')
  .description('show one of them whole: what would be sent, why it is asked, what can be answered')
  .argument('<id>', 'its id, as `approvals` lists it; the beginning is enough')
  .option('--json', 'print JSON')
  .action(async (id: string, _options: object, command: Command) =>
    // An option that the parent has too is read as the parent's.
    (await import('./approvals/approvals.js')).approvalsShow(id, command.optsWithGlobals<{ json?: true }>()),
  );

approvals
  .command('allow')
  .description('have the calls of one sent; says who was first where somebody has answered already')
  .argument('<id>', 'its id, as `approvals` lists it; the beginning is enough')
  .option('--for <how long>', 'once, run, session, or always, which is written into the policy file', 'once')
  .option('--reason <text>', 'with --for always: is written into the policy file')
  .option('--json', 'print JSON')
  .action(async (id: string, _options: object, command: Command) =>
    (await import('./approvals/approvals.js')).approvalsAllow(id, command.optsWithGlobals<AllowOptions>()),
  );

approvals
  .command('deny')
  .description('send none of them')
  .argument('<id>', 'its id, as `approvals` lists it; the beginning is enough')
  .option('--word <text>', 'what the code is told')
  .option('--json', 'print JSON')
  .action(async (id: string, _options: object, command: Command) =>
    (await import('./approvals/approvals.js')).approvalsDeny(id, command.optsWithGlobals<DenyOptions>()),
  );

program
  .command('policy')
  .description('look at what the policy says')
  .command('test')
  .description('say what becomes of a call: which rules are met, unclear or not met, and why; sends nothing')
  .argument('<call...>', 'as plans and questions show it: SERVER.TOOL and its arguments as JSON')
  .option('--principal <id>', 'whose call it is; without it, that of the user who starts the bridge')
  .option('--json', 'print JSON')
  .action(async (call: string[], options: PolicyTestOptions) =>
    (await import('./servers/policy-test.js')).policyTest(call, options),
  );

const kept = program
  .command('kept')
  .description('list what runs have left: files and long outputs, the newest first')
  .option('--json', 'print JSON')
  .action(async (options: { json?: true }) => (await import('./kept/kept.js')).listKept(options));

kept
  .command('save')
  .description('copy a file that a run has left; prints where it is')
  .argument('<file>', 'its address or name, as `kept` lists it; of several, the newest')
  .option('--to <folder>', 'where it goes', '.')
  .option('--as <name>', 'its name there, where it shall have another')
  .option('--force', 'replace a file of that name')
  .action(async (file: string, options: SaveOptions) =>
    (await import('./kept/kept.js')).saveKept(file, options),
  );

kept
  .command('open')
  .description('open a file that a run has left with the program of this desktop')
  .argument('<file>', 'its address or name, as `kept` lists it; of several, the newest')
  .action(async (file: string) => (await import('./kept/kept.js')).openKept(file));

const sessions = program
  .command('sessions')
  .description('list the sessions of run_python that live: age, calls, memory, whose they are')
  .option('--json', 'print JSON')
  .action(async (options: { json?: true }) => (await import('./kept/sessions.js')).sessions(options));

sessions
  .command('end')
  .description('end a session; whoever calls it next is told that you have ended it')
  .argument('<session>', 'its name or handle, as `sessions` lists it')
  .action(async (name: string) => (await import('./kept/sessions.js')).endSession(name));

program
  .command('code-exec')
  .description(
    'serve the tool `execute`, which runs commands on the machine that it is started on: an isolated one',
  )
  .addHelpText('after', helpText(CODE_EXEC_HELP))
  .action(async () => (await import('./serving/watched-service.js')).codeExec());

const image = program.command('image').description('make and list images');

image
  .command('build')
  .description('make images from Debian packages; needs no registry')
  .argument('[profiles...]', 'what they are to hold, one image each; base without a name')
  .option('--suite <release>', 'Debian release, such as bookworm; the recipes take trixie')
  .option(
    '--with <packages>',
    'further Debian packages, such as python3-seaborn,python3-sklearn',
    commaSeparated,
  )
  .option('--json', 'print JSON when all are there, and no progress')
  .addHelpText('after', () => helpText(profileHelp())())
  .action(async (profiles: string[], options: { suite?: string; with?: string[]; json?: true }) =>
    (await import('./setup/image.js')).imageBuild(profiles, options),
  );

image
  .command('list')
  .description('list the local images that can serve, and which one does')
  .option('--json', 'print JSON')
  .action(async (options: { json?: true }) => (await import('./setup/image.js')).imageList(options));

/** Resolves when the command that was typed has been carried out. */
export const finished: Promise<unknown> = program.parseAsync().catch(reportFailure);

function profileHelp(): string {
  const described = describedProfiles();
  const width = Math.max(...described.map(([profile]) => profile.length));
  return `\nProfiles:\n${described.map(([profile, holds]) => `  ${profile.padEnd(width)}  ${holds}`).join('\n')}`;
}

function commandNames(): string[] {
  return program.commands.map((command) => command.name());
}

/** Commander no longer knows which words stood after `--`. */
function splitWords(words: readonly string[]): Words {
  const mark = process.argv.indexOf('--');
  const after = mark === -1 ? 0 : process.argv.length - mark - 1;
  return { before: words.slice(0, words.length - after), after: words.slice(words.length - after) };
}

function spaceSeparated(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function commaSeparated(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function appendValue(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number of seconds.');
  return Number(text);
}

function wholeCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
