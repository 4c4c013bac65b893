// A host program that reaches the bridge over HTTP: with a token in its own configuration, as its own command writes it where
// it has one; over-oauth.mjs has the other way. The same calls as over stdio have to give its model the same. Findings as in judge.mjs.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MAIN } from '../bench/stage.mjs';
import { freePort } from '../free-port.mjs';
import { SCOPE, serveAuthorization } from './authorization.mjs';
import { PERSON } from './browser.mjs';
import { CALLS } from './trials.mjs';

const READY_MS = 60_000;
const SAID_CHARS = 1_000;
const WORDS_CHARS = 200;
const LISTENS = /listens at (http:[^\s"\\]+)/;
const TRIED = ['text', 'tool call', 'error'];

/**
 * A bridge that serves over HTTP, with a token and with the access tokens of an authorization server of its own:
 * { url, token, authorization, close }. `env` and `home` are those of the bridge, not of a host.
 */
export async function serveHttp(env, home) {
  const authorization = await serveAuthorization();
  try {
    const bridge = await serveBridge(env, home, authorization);
    const close = async () => {
      await bridge.close();
      authorization.close();
    };
    return { ...bridge, authorization, close };
  } catch (thrown) {
    authorization.close();
    throw thrown;
  }
}

async function serveBridge(env, home, authorization) {
  // The address that tokens are made for is a setting, so the port has to be known before the bridge listens.
  const address = `127.0.0.1:${await freePort()}`;
  const oauth = oauthSettings(authorization, `http://${address}/mcp`, home);
  const named = { ...env, ...oauth, MCP_BRIDGE_LOG_LEVEL: 'info' };
  const words = [MAIN, 'token', 'create', 'host', '--servers', '*'];
  const made = spawnSync(process.execPath, words, { env: named, cwd: home, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`token create: ${made.stderr}`);
  const options = {
    env: named,
    cwd: home,
    stdio: /** @type {import('node:child_process').StdioOptions} */ (['ignore', 'ignore', 'pipe']),
  };
  const child = spawn(process.execPath, [MAIN, 'serve', '--http', address], options);
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
  const { saw, held } = await playOverHttp(session, ref, async ({ home, host, theirs }) => {
    const args = host.addRemote({ home, name: 'sandbox', url, token });
    if (args !== undefined) await theirs(args);
  });
  return [{ what: 'over HTTP', saw, held }];
}

/** { prepared, saw, held } of a session with three calls, after `prepare` (see Session.play) has told the host of the bridge. */
export async function playOverHttp(session, ref, prepare) {
  const calls = TRIED.map((name) => CALLS[name]);
  const { listed, standIn, prepared } = await session.play(calls, { prepare });
  const isOffered = standIn.turns[0].tools.some(({ name }) => name.endsWith('run_python'));
  const { results } = standIn.turns.at(-1);
  const same = TRIED.filter((name, index) => {
    const sent = ref.answers[name].text;
    const got = results[index]?.text ?? '';
    return got.includes(sent) || got.includes(JSON.stringify(sent).slice(1, -1));
  });
  const held = listed === session.host.isWell && isOffered && same.length === TRIED.length;
  const offered = isOffered ? 'its tool in the prompt' : 'its tool not in the prompt';
  const saw = `${listed}; ${offered}; ${same.length} of ${TRIED.length} answers as over stdio`;
  return { prepared, saw: held ? saw : `${saw}: ${results[0]?.text.slice(0, WORDS_CHARS)}`, held };
}

/** Settings with which a bridge takes access tokens of `issuer`, and the person at the browser reaches every server. */
function oauthSettings({ issuer }, resource, home) {
  const principals = join(home, 'principals.json');
  const rules = { version: 1, subjects: { [PERSON]: { servers: '*' } } };
  writeFileSync(principals, JSON.stringify(rules), { mode: 0o600 });
  return {
    MCP_BRIDGE_HTTP_OAUTH_ISSUER: issuer,
    MCP_BRIDGE_HTTP_OAUTH_RESOURCE: resource,
    MCP_BRIDGE_HTTP_OAUTH_SCOPES: SCOPE,
    MCP_BRIDGE_PRINCIPALS: principals,
  };
}
