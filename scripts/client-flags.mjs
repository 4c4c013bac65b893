// Writes down which flags a client of an engine knows, as its own --help says it: `node scripts/client-flags.mjs CLIENT...`, such
// as `podman --remote` or `docker`. The stand-ins of the tests refuse what no such list has.

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { flagsIn } from '../test/fixtures/client-flags.mjs';

const FILE = fileURLToPath(new URL('../test/fixtures/client-flags.json', import.meta.url));
/** What the bridge calls, or could. */
const COMMANDS = [
  ...[
    'run',
    'ps',
    'rm',
    'rmi',
    'kill',
    'stop',
    'wait',
    'logs',
    'inspect',
    'info',
    'version',
    'cp',
    'create',
    'start',
    'attach',
  ],
  ...['exec', 'build', 'import', 'load', 'save', 'pull', 'tag', 'images'],
  ...['image inspect', 'container inspect', 'volume create', 'volume inspect', 'volume ls', 'volume rm'],
];

const client = process.argv.slice(2);
if (client.length === 0 || client.includes('--help')) {
  console.log('Usage: node scripts/client-flags.mjs CLIENT... such as: podman --remote');
  process.exit(client.length === 0 ? 2 : 0);
}

const help = (args) => {
  const { stdout, stderr, status, error } = spawnSync(client[0], [...client.slice(1), ...args], {
    encoding: 'utf8',
  });
  if (error !== undefined) throw error;
  // A client without the command says how it is used, and fails.
  return status === 0 ? stdout || stderr : undefined;
};
const version = /version ([\d.]+)/.exec(help(['--version']) ?? '')?.[1];
const name = `${client.some((word) => /docker/.test(word)) ? 'docker' : 'podman --remote'} ${version}`;
const lists = JSON.parse(readFileSync(FILE, 'utf8'));
lists[name] = Object.fromEntries(
  ['', ...COMMANDS].flatMap((command) => {
    const text = help([...command.split(' ').filter(Boolean), '--help']);
    // podman takes this one without telling of it.
    const untold = command === '' && name.startsWith('podman') ? ['--remote'] : [];
    return text === undefined ? [] : [[command, [...flagsIn(text), ...untold]]];
  }),
);
const written = Object.entries(lists).map(([client, commands]) => {
  const lines = Object.entries(commands).map(
    ([command, flags]) => `    ${JSON.stringify(command)}: ${JSON.stringify(flags)}`,
  );
  return `  ${JSON.stringify(client)}: {\n${lines.join(',\n')}\n  }`;
});
writeFileSync(FILE, `{\n${written.join(',\n')}\n}\n`);
console.log(`${name}: ${Object.keys(lists[name]).length - 1} commands`);
