// The command line: a table of contents. Every command lives in its own file, loaded only when it is asked for. Arguments and
// options are handed on as they were read: the function that takes them says their types.

import { isatty } from 'node:tty';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { ownCommand } from '../base/process/own-command.js';
import { didYouMean } from '../base/text/closest.js';
import { PACKAGE_NAME, VERSION } from '../base/version.js';
import { describedProfiles } from '../engine/images/image-name.js';
import { describeInHelp } from './help/examples.js';
import type { RemovalOptions } from './remove/remove-images.js';
import type { Words } from './run/exec-input.js';
import { signalOfLostReader } from './terminal/interrupt.js';
import { reportFailure, usageError } from './terminal/output.js';
import { helpText, USUAL_COLUMNS, widthOf } from './terminal/wrap.js';

const SETTINGS_HELP = `
Settings are environment variables (MCP_BRIDGE_…); docs/settings.md lists them.`;

const EXEC_HELP = `
It exits with 124 after a timeout, and with 2 if the command line is wrong. In JSON, exitCode is -1 if the program did
not end by itself.`;

const CODE_EXEC_HELP = `
It speaks MCP on stdin and stdout, or over Streamable HTTP if MCP_EXEC_LISTEN says so:
  $ MCP_EXEC_LISTEN=127.0.0.1:8000 ${PACKAGE_NAME} code-exec
  $ docker compose -f compose.code-exec.yaml up -d     in the sandbox that this file describes

Anyone who reaches it can run anything as the user that it runs as. Settings are environment variables (MCP_EXEC_…);
docs/languages-and-commands.md lists them.`;

const program = new Command(PACKAGE_NAME)
  .description("Runs an agent's Python in a throw-away container. The code can call your MCP servers.")
  .version(VERSION, '-V, --version', 'print the version; with --json also those of Node, engine and image')
  .option('-q, --quiet', 'say nothing on stderr about progress; for every command')
  // Commands that are added below take it from here. Complaints are told by `refuse`.
  .configureOutput({
    getOutHelpWidth: () => widthOf(process.stdout) ?? USUAL_COLUMNS,
    outputError: () => {},
  })
  .configureHelp({ minWidthToWrap: 20 })
  .exitOverride(({ exitCode, message }) => {
    if (exitCode === 0) process.exit();
    refuse(message);
  });

program
  .command('serve', { isDefault: true })
  .description('speak MCP on stdin and stdout (the default), or over HTTP')
  .option(
    '--http <address>',
    'serve several clients at [HOST:]PORT or unix:/path; docs/serve-http.md says who may connect',
  )
  .option(
    '--allowed-host <name>',
    'with --http: another name under which clients reach it; may be repeated',
    appendValue,
    [],
  )
  .action(async (options: { http?: string; allowedHost: readonly string[] }) => {
    // A person who typed nothing but the name would otherwise wait for something to happen.
    if (options.http !== undefined)
      await (await import('./serving/serve-http.js')).serveHttp(
        options.http,
        options.allowedHost,
        () => import('./ui/service-page.js'),
      );
    else if (process.argv.length === 2 && isatty(0)) (await import('./introduction.js')).introduce();
    else {
      const alone = await (await import('./windows/start-relay.js')).serveShared();
      await (await import('./serving/serve.js')).serve(alone);
    }
  });

program
  .command('setup')
  .description('make this machine ready and register in your hosts: engine, image, walls, a first answer')
  .option('--yes', 'ask nothing: install what is missing, add to every host found, move their servers')
  .option('--dry-run', 'say each step, and change nothing')
  .option(
    '--host <name>',
    'register in this host only, as `install` names it; may be repeated',
    appendValue,
    [],
  )
  .option('--no-register', 'register in no host')
  .option('--no-adopt', "leave the hosts' servers where they are")
  .addOption(
    new Option('--image <profile>', 'image for new registrations: data has charts and pandas').choices([
      'base',
      'data',
    ]),
  )
  .addOption(
    new Option('--approve <mode>', 'which calls need your approval').choices([
      'off',
      'destructive',
      'writes',
      'all',
    ]),
  )
  .option('--json', 'print JSON; asks nothing')
  .action(async (options) => (await import('./setup/setup.js')).setUp(options));

program
  .command('doctor')
  .description('check this machine: engine, image, limits, servers; starts a container')
  .option('--probe', 'attack a sandbox on this machine, and say which walls held')
  .option(
    '--http <address>',
    'check this address of `serve --http` too: who may connect, and what a stranger gets',
  )
  .option('--json', 'print JSON')
  .action(async (options: { json?: true; probe?: true; http?: string }) => {
    const { doctor, doctorHttp } = await import('./doctor/doctor.js');
    if (!options.probe) return await doctor(options);
    await (await import('./probe/probe.js')).probe(options);
    if (options.http !== undefined) await doctorHttp(options.http, options.json);
  });

program
  .command('report')
  .description('print what a maintainer needs to help you; leaves out secrets and names')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./report/report.js')).report(options));

program
  .command('completion')
  .description('print a script with which your shell completes commands and options')
  .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
  .action(async (shell) => {
    const { completionScript } = await import('./help/completion.js');
    process.stdout.write(completionScript(shell, program));
  });

program
  .command('install')
  .description('register the bridge in hosts such as Claude Code; without a name, list the hosts')
  .argument('[hosts...]', 'such as claude-code, codex, gemini, opencode, cursor, vscode')
  .option('--name <name>', 'its name there; sandbox without this option')
  .option('--env <name=value>', 'a variable that the host starts it with; may be repeated', appendValue, [])
  .option('--dry-run', 'only say what would be written')
  .option('--json', 'print JSON')
  .action(async (hosts, options) => (await import('./servers/install.js')).installCommand(hosts, options));

program
  .command('uninstall')
  .description('take the bridge out of hosts again')
  .argument('[hosts...]', 'as `install` names them')
  .option('--all', 'remove everything: entries in hosts, moved servers, shared bridges, images, state')
  .option('--yes', 'with --all: do not ask')
  .option('--dry-run', 'only say what would be done')
  .option('--json', 'print JSON')
  .action(async (hosts: string[], options: RemovalOptions & { all?: true }) => {
    if (!options.all) return (await import('./servers/install.js')).uninstallCommand(hosts, options);
    if (hosts.length > 0) refuse(`--all is given together with ${hosts[0]}: name hosts, or give --all`);
    await (await import('./remove/uninstall-all.js')).uninstallAll(options);
  });

const config = program
  .command('config')
  .description("show and change the bridge's settings in the hosts that have it");

const ofHost = [
  '--host <name>',
  'only in this host, as `install` names it; may be repeated',
  appendValue,
  [],
] as const;

config
  .command('list')
  .description('show what is set in each host, and what differs between them')
  .option(...ofHost)
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./servers/config.js')).configList(options));

config
  .command('get')
  .description('show one setting in each host, with its meaning, default and allowed values')
  .argument('<name>', 'such as MCP_BRIDGE_IMAGE')
  .option(...ofHost)
  .option('--json', 'print JSON')
  .action(async (name, options) => (await import('./servers/config.js')).configGet(name, options));

config
  .command('set')
  .description('change settings in every host that has the bridge, or only in those named')
  .argument('<pairs...>', 'NAME=VALUE, one or several')
  .option(...ofHost)
  .option('--json', 'print JSON')
  .action(async (pairs, options) => (await import('./servers/config.js')).configSet(pairs, options));

config
  .command('unset')
  .description('take settings away, so that they have their defaults')
  .argument('<names...>', 'such as MCP_BRIDGE_IMAGE')
  .option(...ofHost)
  .option('--json', 'print JSON')
  .action(async (names, options) => (await import('./servers/config.js')).configUnset(names, options));

program
  .command('adopt')
  .description("move a host's MCP servers into the bridge, so that the model reads less")
  .argument('<host>', 'as `install` names it')
  .argument('[servers...]', 'only these; without a name, all that can be moved')
  .option('--name <name>', 'the name of the bridge there, if it is not registered yet')
  .option('--dry-run', 'only show what would be moved, what would stay, and why')
  .option('--json', 'print JSON')
  .action(async (host, names, options) =>
    (await import('./servers/adopt.js')).adoptCommand(host, names, options),
  );

program
  .command('restore')
  .description("put a host's servers back after `adopt`")
  .argument('<host>', 'as `install` names it')
  .option('--dry-run', 'only say what would be done')
  .option('--json', 'print JSON')
  .action(async (host, options) => (await import('./servers/adopt.js')).restoreCommand(host, options));

const servers = program
  .command('servers')
  .description('list the MCP servers that were found, and say why some are skipped')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./servers/server-list.js')).servers(options));

servers
  .command('refresh')
  .description('start servers once to learn their tools, and say what has changed')
  .argument('[names...]', 'servers, as `servers` names them; all of them without a name')
  .option('--accept', 'trust changed tools from now on')
  .option('--json', 'print JSON')
  .action(async (names: string[], _options: object, command: Command) =>
    // An option that the parent has too is read as the parent's.
    (await import('./servers/servers-refresh.js')).serversRefresh(names, command.optsWithGlobals()),
  );

program
  .command('login')
  .description('log in to a remote server in the browser')
  .argument('[server]', 'its name, as `servers` shows it')
  .option('--no-browser', 'only print the address; you may paste the address where the browser ends')
  .option('--scope <scopes>', 'scopes to ask for on top, separated by spaces', spaceSeparated)
  .option(
    '--principal <name>',
    'for this principal over HTTP: a token, or subject:SUBJECT of an OAuth issuer',
  )
  .option('--list', 'list the logins that are kept')
  .option('--json', 'with --list: print JSON')
  .action(async (server, options) => (await import('./servers/login.js')).login(server, options));

program
  .command('logout')
  .description("revoke and forget a remote server's login")
  .argument('<server>', 'its name, as `servers` or `login --list` shows it')
  .option('--principal <name>', 'that of this principal over HTTP, as for `login`')
  .action(async (server, options) => (await import('./servers/login.js')).logout(server, options));

const token = program.command('token').description('make, list and revoke tokens for `serve --http`');

token
  .command('create')
  .description('make a token, and say what its holder pastes; it is shown once')
  .argument('<name>', 'for whom or what it is')
  .option(
    '--servers <names>',
    "servers that it reaches, separated by commas, or '*' for all; without it, none",
  )
  .option('--expires <when>', 'when it ends: 12h, 30d, 8w, 1y, a date, a moment, or never', '90d')
  .option('--scopes <scopes>', 'scopes that it counts as granted, for the rules of the principals file')
  .option('--url <address>', 'address of the bridge for clients, such as https://mcp.example.com/mcp')
  .option('--json', 'print JSON')
  .action(async (name, options) => (await import('./servers/token.js')).tokenCreate(name, options));

token
  .command('rotate')
  .description('give a token a new secret; its holder keeps files and logins')
  .argument('<name>', 'its name, as `token list` shows it')
  .option('--grace <time>', 'how long the old secret still counts: 30m, 7d, or 0 for not at all', '24h')
  .option('--expires <when>', 'when the new one ends; without it in 90d, or never if the token had no end')
  .option('--url <address>', 'address of the bridge for clients, as for `token create`')
  .option('--json', 'print JSON')
  .action(async (name, options) => (await import('./servers/token.js')).tokenRotate(name, options));

token
  .command('list')
  .description('list the tokens: servers, end and last use; never the tokens themselves')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./servers/token.js')).tokenList(options));

token
  .command('change')
  .description('change what a token reaches, or its end; the token stays the same')
  .argument('<name>', 'its name, as `token list` shows it')
  .option('--servers <names>', "servers that it reaches, separated by commas, or '*' for all")
  .option('--expires <when>', 'its end, as for `token create`, or never')
  .option('--scopes <scopes>', 'scopes that it counts as granted')
  .option('--json', 'print JSON')
  .action(async (name, options) => (await import('./servers/token.js')).tokenChange(name, options));

token
  .command('revoke')
  .description('refuse a token from now on, also in bridges that run')
  .argument('<name>', 'its name, as `token list` shows it')
  .option('--json', 'print JSON')
  .action(async (name, options) => (await import('./servers/token.js')).tokenRevoke(name, options));

program
  .command('status')
  .description('show your shared bridges and those over HTTP: who uses them, their servers, their memory')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./windows/shared.js')).status(options));

program
  .command('stop')
  .description('end your shared bridges, and those over HTTP, after the calls that are under way')
  .option('--now', 'do not wait for them')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./windows/shared.js')).stop(options));

program
  .command('restart')
  .description('end the shared bridges, and start one with the settings of this terminal')
  .option('--now', 'do not wait for calls that are under way')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./windows/shared.js')).restart(options));

program
  .command('shared-bridge', { hidden: true })
  .description('what a window starts: the process that all windows share')
  .argument('<socket>', 'where it listens')
  .action(async (socket) => (await import('./windows/shared-bridge.js')).sharedBridge(socket));

const DATA_OPTION = 'a folder that the code sees at /data: PATH, PATH:NAME or PATH:NAME:rw; may be repeated';

program
  .command('run')
  .description("run a Python file as the agent's tool would; exits with its exit code")
  .argument('<script>', 'a Python file, or - for stdin')
  .option('--servers <names>', 'MCP servers to load, separated by commas', commaSeparated, [])
  .option('--timeout <seconds>', 'seconds that the code may take', wholeNumber)
  .option('--file <path>', 'a file for the working directory; may be repeated', appendValue, [])
  .option('--data <folder>', DATA_OPTION, appendValue, [])
  .option('--out <folder>', 'where pictures go, and files that the code writes to out/')
  .option('--image <name>', 'the image for this run, such as data; `image list` shows them')
  .option(
    '--session <name>',
    'run it in this session, whose variables, imports and files stay for the next command',
  )
  .option('--require-session', 'refuse to run if there is no such session')
  .option('--json', 'print the whole result as JSON')
  .action(async (script, options) => (await import('./run/run.js')).run(script, options));

program
  .command('repl')
  .description('a Python prompt with your MCP servers; without a terminal it reads stdin')
  .option('--servers <names>', 'MCP servers to load, separated by commas', commaSeparated, [])
  .option('--all', 'load all of them')
  .option('--data <folder>', DATA_OPTION, appendValue, [])
  .option('--image <name>', 'the image for this prompt, such as data; `image list` shows them')
  .option('--session <name>', 'the name of its session, which ends with this command', 'repl')
  .action(async (options) => (await import('./repl/repl.js')).repl(options));

program
  .command('exec')
  .description('run a program in any language, as execute_code would; exits with its exit code')
  .usage('[options] <file|-> [--] [args...]')
  .argument(
    '[words...]',
    "a file, or - for stdin; then the program's arguments, after -- if they look like options",
  )
  .option('--language <name>', 'its language, if the ending of the file does not say it')
  .option('--snippet <name>', 'a snippet instead of a file; `snippets` lists them')
  .option(
    '--file <path>',
    "another file; may be repeated. It keeps its path if it is below the program's folder or below this one",
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
  .addHelpText('after', helpText(EXEC_HELP))
  .action(async (words, options) => (await import('./run/exec.js')).exec(splitWords(words), options));

program
  .command('snippets')
  .description('list the programs that are kept under a name')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./run/snippets.js')).snippets(options));

program
  .command('runs')
  .description('show what was run, and which tools it called')
  .option('--last <number>', 'how many; without it 20, or all with --since', wholeCount)
  .option('--since <when>', 'only from then on: 30m, 12h, 7d ago, a date or a moment')
  .option('--failed', 'only runs that failed or were refused, or that had a call which did')
  .option('--server <name>', 'only runs that loaded or called this server')
  .option('--principal <name>', 'only of this token or subject; local is the user of the machine')
  .option('--calls <run>', 'one run with its calls; the beginning of its name is enough')
  .option('--logins', 'who came in over HTTP, and who was refused')
  .option('--follow', 'print each new run and login as it comes, one a line, until Ctrl-C')
  .option('--json', 'print JSON; with --follow an object a line')
  .action(async (options) => (await import('./kept/runs.js')).runs(options));

program
  .command('again')
  .description('run a recorded run again, with the answers that its servers gave then')
  .argument('<run>', 'its id, as `runs` and `ui` show it; the beginning is enough')
  .option('--out <folder>', 'where the files that it writes are put')
  .action(async (run: string, options) => (await import('./run/again.js')).again(run, options));

program
  .command('ui')
  .description('open a page that shows what your bridges do, and takes your answers')
  .option('--no-browser', 'only print the link')
  .option('--port <number>', 'listen at this port of 127.0.0.1 instead of any free one', wholeCount)
  .option('--service [address]', 'print a link to the page of the bridge that serves over HTTP')
  .option('--principal <name>', 'with --service: for this token or subject, who sees what is theirs')
  .action(async (options) => (await import('./ui/ui.js')).ui(options));

const approvals = program
  .command('approvals')
  .description('list the tool calls that need your approval')
  .option('--watch', 'show each new one; on a terminal, a key answers it')
  .option('--json', 'print JSON; with --watch an object a line')
  .action(async (options) => (await import('./approvals/approvals.js')).approvals(options));

approvals
  .command('show')
  .description('show one of them: what would be sent, why, and the possible answers')
  .argument('<id>', 'its id, as `approvals` lists it; the beginning is enough')
  .option('--json', 'print JSON')
  .action(async (id: string, _options: object, command: Command) =>
    // An option that the parent has too is read as the parent's.
    (await import('./approvals/approvals.js')).approvalsShow(id, command.optsWithGlobals()),
  );

approvals
  .command('allow')
  .description('allow one: its calls are sent')
  .argument('<id>', 'its id, as `approvals` lists it; the beginning is enough')
  .option('--for <how long>', 'once, run, session, or always, which is written into the policy file', 'once')
  .option('--reason <text>', 'with --for always: a reason for the policy file')
  .option('--json', 'print JSON')
  .action(async (id: string, _options: object, command: Command) =>
    (await import('./approvals/approvals.js')).approvalsAllow(id, command.optsWithGlobals()),
  );

approvals
  .command('deny')
  .description('deny one: none of its calls is sent')
  .argument('<id>', 'its id, as `approvals` lists it; the beginning is enough')
  .option('--word <text>', 'a reason for the code to read')
  .option('--json', 'print JSON')
  .action(async (id: string, _options: object, command: Command) =>
    (await import('./approvals/approvals.js')).approvalsDeny(id, command.optsWithGlobals()),
  );

program
  .command('policy')
  .description('ask what your policy says')
  .command('test')
  .description('say whether a call is allowed, and which rules decide; sends nothing')
  .argument('<call...>', 'as plans and questions show it: SERVER.TOOL and its arguments as JSON')
  .option('--principal <id>', 'judge it as a call of this principal; without it, as your own')
  .option('--json', 'print JSON')
  .action(async (call, options) => (await import('./servers/policy-test.js')).policyTest(call, options));

const kept = program
  .command('kept')
  .description('list files and long outputs of runs, the newest first')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./kept/kept.js')).listKept(options));

kept
  .command('save')
  .description('copy a file of a run into a folder, and print its path')
  .argument('<file>', 'its address or name, as `kept` lists it; of several, the newest')
  .option('--to <folder>', 'where it goes', '.')
  .option('--as <name>', 'another name for it')
  .option('--force', 'replace a file of that name')
  .action(async (file, options) => (await import('./kept/kept.js')).saveKept(file, options));

kept
  .command('open')
  .description('open a file of a run on this desktop')
  .argument('<file>', 'its address or name, as `kept` lists it; of several, the newest')
  .action(async (file) => (await import('./kept/kept.js')).openKept(file));

const sessions = program
  .command('sessions')
  .description('list Python sessions that are alive: age, calls, memory, owner')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./kept/sessions.js')).sessions(options));

sessions
  .command('end')
  .description('end a session; its next caller is told that you ended it')
  .argument('<session>', 'its name or handle, as `sessions` lists it')
  .action(async (name) => (await import('./kept/sessions.js')).endSession(name));

program
  .command('code-exec')
  .description('serve the tool `execute`, for a machine that is isolated already')
  .addHelpText('after', helpText(CODE_EXEC_HELP))
  .action(async () => (await import('./serving/watched-service.js')).codeExec());

const image = program.command('image').description('make and list sandbox images');

image
  .command('build')
  .description('make images from Debian packages; no registry is needed')
  .argument('[profiles...]', 'one image for each; without a name, base')
  .option('--suite <release>', 'Debian release, such as bookworm; the recipes take trixie')
  .option(
    '--with <packages>',
    'further Debian packages, such as python3-seaborn,python3-sklearn',
    commaSeparated,
  )
  .option(
    '--pip <packages>',
    'Python packages from an index, such as polars,duckdb==1.2.2; may be repeated; needs a network',
    appendValue,
  )
  .option('--json', 'print JSON at the end, and no progress')
  .addHelpText('after', () => helpText(profileHelp())())
  .action(async (profiles, options) => (await import('./setup/image.js')).imageBuild(profiles, options));

image
  .command('list')
  .description('list local images, and say which one is used')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./setup/image.js')).imageList(options));

image
  .command('rm')
  .description('remove images that were built here')
  .argument('<names...>', 'profiles, or names as `image list` shows them')
  .option('--json', 'print JSON')
  .action(async (names, options) => (await import('./remove/remove-images.js')).imageRemove(names, options));

image
  .command('prune')
  .description('remove images of other versions that nothing here uses; lists them and asks')
  .option('--yes', 'do not ask')
  .option('--dry-run', 'only list them')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./remove/remove-images.js')).imagePrune(options));

describeInHelp(program);
program
  .addHelpText('after', helpText(SETTINGS_HELP))
  .commandsGroup('Help:')
  .helpCommand('help [command]', 'show the help of a command');

/** Commands that go on when nobody reads their log any more, and see to their own streams. */
const SERVICES = ['serve', 'shared-bridge', 'code-exec'];

/** Resolves when the command that was typed has been carried out. */
export const finished: Promise<unknown> = carryOut().catch(reportFailure);

async function carryOut(): Promise<void> {
  const words = process.argv.slice(2);
  const [[, named] = []] = namesTyped();
  if (named !== undefined && !SERVICES.includes(named)) signalOfLostReader();
  if (words.length === 2 && words.includes('--json') && words.some((word) => /^(?:-V|--version)$/.test(word)))
    return await (await import('./report/report.js')).printVersions();
  checkNames();
  await program.parseAsync();
}

/**
 * Says which word is no command. Commander would take it for an argument of the command before it, or complain about the options
 * that come after it.
 */
function checkNames(): void {
  for (const [command, word] of namesTyped()) {
    const names = [...command.commands.map((each) => each.name()), 'help'];
    if (names.includes(word)) continue;
    const known = command === program ? '' : ` '${command.name()}' has: ${names.join(', ')}.`;
    refuse(`unknown command '${word}'.${didYouMean(word, names) || known}`);
  }
}

/** Words that have to name a command, each with the command to which that belongs. */
function* namesTyped(): Generator<readonly [command: Command, word: string]> {
  let command: Command | undefined = program;
  for (const word of process.argv.slice(2)) {
    if (['-q', '--quiet'].includes(word)) continue;
    if (word.startsWith('-') || command === undefined || command.commands.length === 0) return;
    yield [command, word];
    command = command.commands.find((each) => each.name() === word);
  }
}

/** Ends the program because of what was typed. */
function refuse(complaint: string): never {
  const names = [...namesTyped()].filter(([command, word]) =>
    command.commands.some((each) => each.name() === word),
  );
  const help = ownCommand(...names.map(([, word]) => word), '--help');
  reportFailure(usageError(complaint.replace(/^error: /, '').replaceAll('\n', ' '), `See \`${help}\`.`));
  process.exit();
}

function profileHelp(): string {
  const described = describedProfiles();
  const width = Math.max(...described.map(([profile]) => profile.length));
  return `\nProfiles:\n${described.map(([profile, holds]) => `  ${profile.padEnd(width)}  ${holds}`).join('\n')}`;
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

function appendValue(value: string, before: readonly string[] = []): readonly string[] {
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
