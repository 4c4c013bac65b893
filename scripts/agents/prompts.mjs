// A prompt of a server that `adopt` has moved behind the bridge, in real hosts: found in the menu of the host's own screen, completed
// there and sent, and used by its name without a screen. The host lists it and gets it, and its model is sent what the server
// wrote. Findings as in judge.mjs.

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

const ENTER = '\r';
const TAB = '\t';
/**
 * The hosts whose menu is tried: `files` are what their users have below the home, `screen` starts a session at a terminal. `shown` is the
 * line of the menu, and `presses` are the keys for what the screen shows (terminal.mjs), this line among it.
 * @type {Record<string, { files?: (place: { project: string }) => Record<string, object>, screen: () => string[], shown: string, presses: (shown: string) => import('./terminal.mjs').Answer[] }>}
 */
const MENUS = {
  'claude-code': {
    files: ({ project }) => ({
      '.claude.json': {
        hasCompletedOnboarding: true,
        customApiKeyResponses: { approved: ['not-a-key'], rejected: [] },
        projects: { [project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
      },
    }),
    screen: () => [],
    shown: '/sandbox:desk.review (MCP) Reviews a fruit. (arguments: fruit)',
    presses: (shown) => [
      ['shift+tab to cycle', '/desk'],
      [shown, TAB],
      ['[fruit]', 'apple'],
      ['apple', ENTER],
      ['Done.', '/exit'],
      ['Exit the CLI', ENTER],
    ],
  },
  gemini: {
    screen: () => ['--yolo', '-m', 'gemini-2.5-flash'],
    shown: 'desk.review [MCP] Reviews a fruit.',
    presses: (shown) => [
      // It fills its menu when a server is connected, and asks for the server's prompts after that.
      ['1 MCP server', '/commands reload'],
      ['/commands reload', ENTER],
      ['Type your message', '/desk'],
      [shown, TAB],
      ['--fruit="', '--fruit="apple"'],
      ['/desk.review --fruit="apple"', ENTER],
      ['Done.', '/quit'],
      ['Exit the cli', ENTER],
    ],
  },
};

/** Findings by the id of the host. Starts no container. */
export async function judgePrompts(/** @type {any[]} */ hosts, /** @type {any} */ { stage, engine }) {
  /** @type {Record<string, object[]>} */
  const found = {};
  for (const { id, host, argv } of hosts) {
    const at = { stage, engine };
    found[id] = [
      host.prompted
        ? await usePrompt(id, { ...host, session: host.prompted }, argv, at)
        : { what: PROMPT, saw: 'it has no way to use a prompt without a screen', held: undefined },
      id in MENUS
        ? await chooseFromMenu(id, host, argv, at)
        : { what: MENU, saw: 'its screen is not tried', held: undefined },
    ];
  }
  return found;
}

const PROMPT = 'prompt of a moved server';
const MENU = 'in its own menu';

async function usePrompt(/** @type {[string, any, string[], any]} */ ...about) {
  try {
    const { isUsed, body } = await play(about, undefined);
    const saw = isUsed
      ? 'its model was sent what the server wrote'
      : `its model was sent ${body.slice(-300)}`;
    return { what: PROMPT, saw, held: isUsed };
  } catch (thrown) {
    return { what: PROMPT, saw: /** @type {Error} */ (thrown).message, held: false };
  }
}

async function chooseFromMenu(/** @type {[string, any, string[], any]} */ ...[id, host, argv, at]) {
  const { files = () => ({}), screen, shown, presses } = /** @type {(typeof MENUS)[string]} */ (MENUS[id]);
  const furnish = (/** @type {{ home: string, project: string }} */ place) => {
    host.furnish?.(place);
    for (const [path, content] of Object.entries(files(place)))
      writeFileSync(join(place.home, path), JSON.stringify(content));
  };
  try {
    const { isUsed, body } = await play([id, { ...host, furnish, screen }, argv, at], presses(shown));
    const sent = isUsed ? 'what the server wrote' : body.slice(-300);
    return { what: MENU, saw: `"${shown}", completed by Tab; its model was sent ${sent}`, held: isUsed };
  } catch (thrown) {
    return { what: MENU, saw: /** @type {Error} */ (thrown).message, held: false };
  }
}

/** { isUsed, body }: whether the host got the prompt of the bridge and sent its model the text, and all that it sent. */
async function play(
  /** @type {[string, any, string[], any]} */ [id, host, argv, { stage, engine }],
  /** @type {readonly import('./terminal.mjs').Answer[] | undefined} */ answers,
) {
  const session = new Session(id, host, argv, stage, engine, {});
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
  const { standIn } = await session.play([], { prepare, answers });
  const body = standIn.turns[0]?.body ?? 'nothing';
  const since = asked().slice(asked().indexOf('adopted') + 1);
  return { isUsed: WRITTEN.test(body) && since.includes('prompts/get'), body };
}
