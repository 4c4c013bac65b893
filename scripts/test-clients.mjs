// Tries the built bridge with clients that others have written: the SDK's first line, its second line in each way to choose a
// revision, and the command line of the Inspector, each over stdio and over HTTP with a token. Exits with 1 when something that
// is demanded did not hold, 2 for a wrong option, 3 when this machine lacks something. --help says how.

import { existsSync, writeFileSync } from 'node:fs';
import pc from 'picocolors';
import { MAIN, ROOT, Stage } from './bench/stage.mjs';
import { INSPECTOR, inspect } from './clients/inspector.mjs';
import { clientTable } from './clients/report.mjs';
import { CLIENTS, trySdkClient, versionOf } from './clients/sdk-clients.mjs';
import { openWay, WAYS } from './clients/ways.mjs';
import { putIntoRegion, REGIONS } from './measured-region.mjs';
import { takeOptions } from './options.mjs';

const NAMES = [...Object.keys(CLIENTS), 'inspector'];

const { only, over, json, publish } = takeOptions({
  command: 'npm run test:clients --',
  about:
    'Has clients of MCP that others have written list and call what the built bridge offers, be asked, be told of\nprogress, and use a prompt. Starts no container: the call goes to a server behind the bridge. The Inspector comes from npm.',
  options: {
    only: { value: 'NAME,NAME', says: 'only these clients', among: NAMES },
    over: { value: 'WAY,WAY', says: 'only over these transports', among: WAYS },
    json: { value: 'FILE', says: 'write the whole report there' },
    publish: { says: `put the table into ${REGIONS.clients}` },
  },
});

const leave = (exitCode, message) => {
  console.error(message);
  process.exit(exitCode);
};
if (publish && only.length * over.length < NAMES.length * WAYS.length)
  leave(2, '--publish is for all that is tried: leave out --only and --over. See --help.');
if (!existsSync(MAIN)) leave(3, 'The bridge is not built. Run `npm run build`.');
const stage = new Stage({ quick: true });
process.once('exit', () => stage.close());
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

/** { client, version, way, findings }, or with `failed` where it could not be tried at all. */
async function tryClient(client, way) {
  const version = client === 'inspector' ? INSPECTOR.version : versionOf(CLIENTS[client]);
  const opened = await openWay(way, stage);
  try {
    const findings = await (client === 'inspector'
      ? inspect(opened, ROOT, (text) => console.error(pc.dim(text)))
      : trySdkClient(client, opened));
    return { client, version, way, findings };
  } catch (thrown) {
    return { client, version, way, findings: [], failed: `${thrown.message} ${opened.said()}`.trim() };
  } finally {
    await opened.close();
  }
}

const report = [];
for (const client of only)
  for (const way of over) {
    const result = await tryClient(client, way);
    report.push(result);
    console.log(pc.bold(`\n${client} over ${way}`));
    if (result.failed !== undefined) console.log(pc.red(`  not tried: ${result.failed}`));
    for (const { what, saw, held } of result.findings)
      console.log(`  ${held ? pc.green('✓') : pc.red('✗')} ${what.padEnd(12)} ${saw}`);
  }
const table = `${clientTable(report)}\n\nTried on ${new Date().toISOString().slice(0, 10)}.`;
console.log(`\n${table}`);
if (publish) putIntoRegion('clients', table);
if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, null, 1)}\n`);
const isHeld = ({ findings, failed }) => failed === undefined && findings.every(({ held }) => held);
if (!report.every(isHeld)) process.exitCode = 1;
