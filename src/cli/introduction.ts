// Text for a person who types our name and nothing else: the bridge itself would wait for an agent, in silence.

import { ownCommand } from '../base/process/own-command.js';
import { PACKAGE_NAME, VERSION } from '../base/version.js';
import { columnsOf, layOut, wrappedCommand } from './terminal/wrap.js';

const PARAGRAPHS = [
  `${PACKAGE_NAME} ${VERSION} is an MCP server: one tool, with which an agent runs Python in a throw-away container, and all of your other MCP servers callable inside.`,
  'A host such as Claude Code or Codex starts it and talks to it through a pipe. On a terminal there is nothing to type, so it has not been started.',
];

const COMMANDS = [
  ['Make this machine ready, and register it in your hosts:', 'setup'],
  ['Check this machine:', 'doctor'],
  ['See every command:', '--help'],
  ['Serve all the same, and type MCP by hand:', 'serve'],
] as const;

/** Says what this program is, and what to do instead of waiting. */
export function introduce(): void {
  const width = columnsOf(process.stdout);
  const lines = [
    ...PARAGRAPHS.flatMap((text) => [...layOut(text, { width }), '']),
    ...COMMANDS.flatMap(([what, word]) => [what, ...wrappedCommand(`${ownCommand()} ${word}`, width, '  ')]),
  ];
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
}
