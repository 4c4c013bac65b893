// Parts of help texts besides commander's own lines: the group of each command, and examples of it. A record here for
// each command; test/cli/help.test.ts fails for a command that has none.

import { type Command, Help, type Option } from 'commander';
import { PACKAGE_NAME } from '../../base/version.js';
import { helpText } from '../terminal/wrap.js';

/** Commands by the heading below which they are listed, in the order of the list. */
export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Start:': [
    'setup',
    'doctor',
    'install',
    'uninstall',
    'config',
    'adopt',
    'restore',
    'servers',
    'login',
    'logout',
    'report',
    'completion',
  ],
  'Run:': ['run', 'repl', 'exec', 'snippets'],
  'Watch:': ['ui', 'approvals', 'runs', 'again', 'sessions', 'kept', 'policy'],
  'Serve:': ['serve', 'token', 'status', 'stop', 'restart', 'code-exec'],
  'Images:': ['image'],
};

/** Examples by command, each as the words to type and what they do; the first one is the plainest. The empty name is the program itself. */
export const EXAMPLES: Readonly<Record<string, readonly (readonly [words: string, does: string])[]>> = {
  '': [
    ['setup', 'make this machine ready, step by step'],
    ['install claude-code', 'register the bridge in one host'],
    ['doctor', 'check this machine'],
    ['run job.py --servers github,files', 'run a file as the agent would'],
    ['approvals --watch', 'answer tool calls that need your approval'],
    ['runs --failed', 'see which runs failed lately, and why'],
  ],
  serve: [
    ['serve', 'speak MCP on stdin and stdout, as hosts start it'],
    ['serve --http 8808', 'serve several clients on this machine'],
  ],
  setup: [
    ['setup', 'ask before each change'],
    ['setup --dry-run', 'see the steps first; nothing is changed'],
    ['setup --yes --host codex', 'ask nothing, and register in Codex only'],
  ],
  doctor: [
    ['doctor', 'check this machine'],
    ['doctor --probe', 'attack a sandbox here and see what holds'],
    ['doctor --http 8808', 'see also what a stranger gets at this port'],
  ],
  report: [
    ['report > report.md', 'read it, then paste it into an issue'],
    ['report --json', 'the same for a program'],
  ],
  completion: [
    ['completion bash', 'print it; docs/command-line.md says where it goes'],
    ['completion fish | source', 'try it in this fish'],
  ],
  install: [
    ['install', 'see which hosts are on this machine'],
    ['install claude-code', 'register in Claude Code'],
    ['install codex --env MCP_BRIDGE_IMAGE=data', 'with a setting for this host'],
  ],
  uninstall: [
    ['uninstall', 'see in which hosts it is registered'],
    ['uninstall claude-code', 'take it out of Claude Code'],
    ['uninstall --all --dry-run', 'see everything that could be removed'],
  ],
  config: [['config list', 'see what is set in each host, and what differs']],
  'config list': [['config list --host codex', 'see what is set in Codex']],
  'config get': [['config get MCP_BRIDGE_IMAGE', 'see its value in each host, and what is allowed']],
  'config set': [
    ['config set MCP_BRIDGE_IMAGE=data', 'in every host that has the bridge'],
    ['config set MCP_BRIDGE_TIMEOUT=60 --host codex', 'in Codex only'],
  ],
  'config unset': [['config unset MCP_BRIDGE_IMAGE', 'have its default again']],
  adopt: [
    ['adopt codex --dry-run', 'see what would be moved'],
    ['adopt codex', 'move all servers of Codex that can be moved'],
    ['adopt codex github files', 'move these two only'],
  ],
  restore: [['restore codex', "put Codex's servers back"]],
  servers: [
    ['servers', 'see what was found, and what was not taken'],
    ['servers --json', 'the same for a script'],
  ],
  'servers refresh': [
    ['servers refresh', 'learn the tools of all servers'],
    ['servers refresh github --accept', 'trust its changed tools from now on'],
  ],
  login: [
    ['login linear', 'log in to a remote server, in the browser'],
    ['login --list', 'see which logins are kept'],
  ],
  logout: [['logout linear', 'forget the login of this server']],
  token: [['token create ann --servers github', 'a token that reaches one server']],
  'token create': [['token create ann --servers github,files --expires 30d', 'two servers, for 30 days']],
  'token list': [['token list', 'see each token, its servers and its end']],
  'token change': [['token change ann --expires 8w', 'give it another end']],
  'token rotate': [['token rotate ann', 'a new secret; the old one is taken for a while']],
  'token revoke': [['token revoke ann', 'refuse it from now on']],
  status: [['status', 'see which processes share a bridge']],
  stop: [
    ['stop', 'end shared bridges after the calls under way'],
    ['stop --now', 'end them at once'],
  ],
  restart: [['restart', 'end shared bridges and start one with new settings']],
  run: [
    ['run job.py --servers github,files', 'run a file with two servers'],
    ['run plot.py --file data.csv --out results', 'a file goes in, files come out'],
    ['run plot.py --image data', 'in the image with charts and pandas'],
    ['run load.py --session data', 'keep what it has loaded for the next command'],
  ],
  repl: [
    ['repl --servers github', 'try a server at a prompt'],
    ['repl --all', 'with all of your servers'],
  ],
  exec: [
    ['exec cmd/main.go --file cmd/util/util.go -- -v input.txt', 'a program in two files, with arguments'],
    ['exec --language js - --json < job.js', 'read a program from stdin, print JSON'],
  ],
  snippets: [['snippets', 'see which programs are kept under a name']],
  runs: [
    ['runs --failed', 'which runs failed lately, and why'],
    ['runs --last 5 --server github', 'the last five that used this server'],
    ['runs --since 12h --principal ann', 'what somebody ran in the last twelve hours'],
    ['runs --calls r-4f', 'the calls of one run'],
  ],
  again: [['again 4f1c2a9b-12', 'see why a run did what it did, while nothing reaches a server']],
  ui: [
    ['ui', 'open the page in your browser'],
    ['ui --service --principal ann', 'print a link to the page of the bridge over HTTP, for ann'],
    ['ui --no-browser --port 8810', 'print the link, for a browser behind ssh -L 8810:127.0.0.1:8810'],
  ],
  approvals: [
    ['approvals', 'see which tool calls need your approval'],
    ['approvals --watch', 'answer each new one with a key'],
  ],
  'approvals show': [['approvals show q-4f', 'read what would be sent']],
  'approvals allow': [
    ['approvals allow q-4f', 'have it sent this once'],
    ['approvals allow q-4f --for run', 'and all calls of this tool in this run'],
  ],
  'approvals deny': [['approvals deny q-4f --word "not on Fridays"', 'and tell the code why']],
  policy: [[`policy test 'bank.pay {"sum":9}'`, 'what your policy makes of a call']],
  'policy test': [
    [`policy test 'bank.pay {"sum":9}'`, 'is this call allowed, asked about or denied?'],
    ['policy test github.create_issue --principal ann', 'the same for somebody else'],
  ],
  kept: [['kept', 'see what runs have left, the newest first']],
  'kept save': [
    ['kept save chart.png --to charts', 'copy a file into a folder'],
    ['kept save chart.png --as new.png --force', 'under another name, replacing that file'],
  ],
  'kept open': [['kept open chart.png', 'show a file']],
  sessions: [['sessions', 'see which sessions live, and whose they are']],
  'sessions end': [['sessions end data', 'end this session']],
  'code-exec': [['code-exec', 'speak MCP on stdin and stdout']],
  image: [['image list', 'see which images are there']],
  'image build': [
    ['image build', 'make the image without a registry'],
    ['image build javascript go', 'make the images of two languages'],
    ['image build data --with python3-seaborn', 'an image with one more package'],
    ['image build data --pip polars,duckdb', 'and with packages of a Python index'],
  ],
  'image rm': [['image rm data', 'remove the image of this profile']],
  'image prune': [
    ['image prune --dry-run', 'see which images are old'],
    ['image prune', 'remove them after a question'],
  ],
  'image list': [['image list', 'see which image is used']],
};

/** Has `program` and every command below it show its group, its examples, and no default that says nothing. */
export function describeInHelp(program: Command): void {
  const order = Object.values(GROUPS).flat();
  // Help texts list commands as they lie in this array.
  (program.commands as Command[]).sort(
    (one, other) => order.indexOf(one.name()) - order.indexOf(other.name()),
  );
  for (const [heading, names] of Object.entries(GROUPS))
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);
  for (const [name, command] of commandsBelow(program)) {
    command.configureHelp({ ...command.configureHelp(), optionDescription, subcommandTerm });
    command.addHelpText('after', helpText(examplesText(EXAMPLES[name] ?? [])));
  }
}

/** Every command with the words that name it; the program itself has none. */
export function commandsBelow(command: Command, name = ''): readonly (readonly [name: string, Command])[] {
  return [
    [name, command],
    ...command.commands.flatMap((each) => commandsBelow(each, `${name} ${each.name()}`.trim())),
  ];
}

/** Lists have names only; each command's own help has its arguments. */
const subcommandTerm = (command: Command): string => command.name();

function examplesText(examples: readonly (readonly [words: string, does: string])[]): string {
  if (examples.length === 0) return '';
  const width = Math.max(...examples.map(([words]) => words.length));
  const lines = examples.map(([words, does]) => `  $ ${PACKAGE_NAME} ${words.padEnd(width)}  ${does}`);
  return ['', 'Examples:', ...lines].join('\n');
}

/** An option that may be repeated begins with an empty list, which is no news. */
function optionDescription(this: Help, option: Option): string {
  const isEmptyList = Array.isArray(option.defaultValue) && option.defaultValue.length === 0;
  const shown = isEmptyList ? Object.create(option, { defaultValue: { value: undefined } }) : option;
  return Help.prototype.optionDescription.call(this, shown);
}
