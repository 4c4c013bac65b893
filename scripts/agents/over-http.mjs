// A host program that reaches the bridge over HTTP: with a token in its own configuration, as its own command writes it where
// it has one. The same calls as over stdio have to give its model the same. Findings as in judge.mjs.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { MAIN } from '../bench/stage.mjs';
import { CALLS } from './trials.mjs';

const READY_MS = 60_000;
const SAID_CHARS = 1_000;
const LISTENS = /listens at (http:[^\s"\\]+)/;
const TRIED = ['text', 'tool call', 'error'];

/** A bridge that serves over HTTP: { url, token, close }. `env` and `home` are those of the bridge, not of a host. */
export async function serveHttp(env, home) {
  const named = { ...env, MCP_BRIDGE_LOG_LEVEL: 'info' };
  const words = [MAIN, 'token', 'create', 'host', '--servers', '*'];
  const made = spawnSync(process.execPath, words, { env: named, cwd: home, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`token create: ${made.stderr}`);
  const options = { env: named, cwd: home, stdio: ['ignore', 'ignore', 'pipe'] };
  const child = spawn(process.execPath, [MAIN, 'serve', '--http', '127.0.0.1:0'], options);
  const ended = once(child, 'exit');
  const close = async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    await ended;
  };
  let said = '';
  let clock;
  try {
    const url = await new Promise((resolve, reject) => {
      clock = setTimeout(() => reject(new Error(`serve --http does not listen: ${said}`)), READY_MS);
      void ended.then(() => reject(new Error(`serve --http has ended: ${said}`)));
      createInterface({ input: child.stderr }).on('line', (line) => {
        said = `${said}\n${line}`.slice(-SAID_CHARS);
        const found = LISTENS.exec(line)?.[1];
        if (found !== undefined) resolve(found);
      });
    });
    return { url, token: made.stdout.trim(), close };
  } catch (thrown) {
    await close();
    throw thrown;
  } finally {
    clearTimeout(clock);
  }
}

/** `session` is one whose home has no servers; `ref` is what the bridge itself says (trials.mjs). */
export async function judgeHttp(session, ref, { url, token }) {
  const prepare = async ({ home, host, theirs }) => {
    const args = host.addRemote({ home, name: 'sandbox', url, token });
    if (args !== undefined) await theirs(args);
  };
  const { listed, standIn } = await session.play(
    TRIED.map((name) => CALLS[name]),
    { prepare },
  );
  const results = standIn.turns.at(-1).results;
  const same = TRIED.filter((name, index) => {
    const sent = ref.answers[name].text;
    const got = results[index]?.text ?? '';
    return got.includes(sent) || got.includes(JSON.stringify(sent).slice(1, -1));
  });
  const held = listed === session.host.isWell && same.length === TRIED.length;
  const saw = `${listed}; ${same.length} of ${TRIED.length} answers as over stdio`;
  return [{ what: 'over HTTP', saw: held ? saw : `${saw}: ${results[0]?.text.slice(0, 200)}`, held }];
}
