// A prompt of a server that `adopt` has moved behind the bridge, used by its name in real hosts as a person types it, without a
// screen: the host lists it, gets it, and its model is sent what the server wrote. Findings as in judge.mjs.

import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REVIEW } from '../../test/fixtures/fruit-prompts.mjs';
import { MAIN } from '../bench/stage.mjs';
import { run } from './install.mjs';
import { Session } from './session.mjs';

const SERVER = fileURLToPath(new URL('../../test/fixtures/prompting-server.mjs', import.meta.url));
/** What the server writes; its quotation marks are escaped once more in the text of a request. */
const WRITTEN = /review with \{\\*"fruit\\*":\\*"apple\\*"\}/;

/** Findings by the id of the host. Starts no container. */
export async function judgePrompts(/** @type {any[]} */ hosts, /** @type {any} */ { stage, engine }) {
  /** @type {Record<string, object[]>} */
  const found = {};
  for (const { id, host, argv } of hosts)
    found[id] = host.prompted
      ? await usePrompt(id, host, argv, { stage, engine }).catch((thrown) => [
          { what: 'prompt', saw: thrown.message, held: false },
        ])
      : [{ what: 'prompt', saw: 'it has no way to use a prompt without a screen', held: undefined }];
  return found;
}

async function usePrompt(/** @type {[string, any, string[], any]} */ ...[id, host, argv, { stage, engine }]) {
  const session = new Session(id, { ...host, session: host.prompted }, argv, stage, engine, {});
  session.handedOn = [...session.handedOn, ['MCP_BRIDGE_WARM', '0']];
  const folder = join(session.home, 'desk');
  mkdirSync(folder);
  writeFileSync(join(folder, 'prompts.json'), JSON.stringify([REVIEW]));
  const log = join(folder, 'asked');
  const asked = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  const prepare = async (/** @type {any} */ { home, ours, theirs, env }) => {
    await ours('install');
    const server = { command: process.execPath, args: [SERVER, folder] };
    const added = host.add({ home, name: 'desk', server });
    if (added !== undefined) await theirs(added);
    await ours('adopt');
    const state = Object.fromEntries(session.handedOn);
    await run(process.execPath, [MAIN, 'servers', 'refresh', '--json'], { env: { ...env, ...state } });
    appendFileSync(log, 'adopted\n');
  };
  const { standIn } = await session.play([], { prepare });
  const { body } = standIn.turns[0];
  const since = asked().slice(asked().indexOf('adopted') + 1);
  const isSent = WRITTEN.test(body);
  return [
    {
      what: 'prompt of a moved server',
      saw: isSent ? 'its model was sent what the server wrote' : `its model was sent ${body.slice(-300)}`,
      held: isSent && since.includes('prompts/get'),
    },
  ];
}
