// Findings of `doctor` about a bridge that serves over HTTP: who may come in by the settings, and, where one listens at the
// address, what that bridge answers to somebody who may not.

import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { asBridgeError, messageOf } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { Authenticator } from '../../service/access/authenticator.js';
import { type HttpAddress, isLoopback, parseHttpAddress } from '../../service/http/address.js';
import { certificateFacts, readTls } from '../../service/http/tls-files.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Finding } from './examination.js';

const SOON_MS = 14 * 86_400_000;
const ASK_MS = 5_000;
const CREATE = ownCommand('token', 'create', 'NAME', '--servers', 'SERVER');

/** Findings about `serve --http` at `written`. Throws E_ARGUMENTS where that is no address. */
export async function httpFindings(written: string, settings: Settings): Promise<Finding[]> {
  const address = parseHttpAddress(written);
  return [
    { name: 'http access', ...access(address, settings) },
    { name: 'http encryption', ...encryption(address, settings) },
    ...(await probes(address, settings)),
  ];
}

type HttpFinding = Omit<Finding, 'name'>;

function access(address: HttpAddress, settings: Settings): HttpFinding {
  if (address.at === 'unix')
    return { status: 'ok', detail: `${address.path} is for this user alone, without a credential` };
  let isConfigured: boolean;
  try {
    isConfigured = new Authenticator(settings, () => {}).credentialsConfigured();
  } catch (thrown) {
    const { message, remedy } = asBridgeError(thrown);
    return { status: 'fail', detail: message, ...(remedy === undefined ? {} : { remedy }) };
  }
  const who =
    settings.oauth === undefined ? 'holders of tokens' : 'holders of tokens, and whom an issuer names';
  if (isConfigured) return { status: 'ok', detail: `${who} may come in` };
  const isOwn = address.at === 'tcp' && isLoopback(address.host);
  return isOwn
    ? { status: 'ok', detail: 'nobody has a credential yet: the first start makes a token and shows it once' }
    : {
        status: 'fail',
        detail: 'nobody has a credential, so a bridge does not start where other machines reach it',
        remedy: `Make a token: ${CREATE}`,
      };
}

function encryption(address: HttpAddress, { http: { cert, key, proxies } }: Settings): HttpFinding {
  if (cert !== undefined && key !== undefined) return certificate({ cert, key });
  if (address.at !== 'tcp' || isLoopback(address.host))
    return { status: 'ok', detail: 'none, and none is needed on this machine' };
  return proxies.length > 0
    ? { status: 'ok', detail: `left to the proxies ${proxies.join(', ')}` }
    : {
        status: 'fail',
        detail: 'none, so credentials from other machines are refused',
        remedy:
          'Set MCP_BRIDGE_HTTP_CERT and MCP_BRIDGE_HTTP_KEY, or name the proxy that has TLS in MCP_BRIDGE_HTTP_PROXIES.',
      };
}

function certificate(files: { readonly cert: string; readonly key: string }): HttpFinding {
  try {
    readTls(files);
    const { from, until, names } = certificateFacts(readFileSync(files.cert));
    const detail = `${files.cert} is for ${names}, from ${day(from)} to ${day(until)}`;
    const leftMs = until.getTime() - Date.now();
    const remedy = 'Replace certificate and key; a bridge that runs takes the new ones by itself.';
    if (leftMs < 0 || from.getTime() > Date.now()) return { status: 'fail', detail, remedy };
    return leftMs < SOON_MS ? { status: 'warn', detail, remedy } : { status: 'ok', detail };
  } catch (thrown) {
    const { message, remedy } = asBridgeError(thrown);
    return { status: 'fail', detail: message, ...(remedy === undefined ? {} : { remedy }) };
  }
}

const day = (date: Date): string => date.toISOString().slice(0, 10);

/** Attempts of a stranger, and the answers that keep the stranger out. */
const ATTEMPTS = [
  { what: 'without a credential', headers: {}, wanted: [401] },
  { what: 'with a wrong token', headers: { authorization: 'Bearer not-a-token' }, wanted: [401, 403] },
  { what: 'under a name that is not its own', headers: { host: 'rebound.invalid' }, wanted: [403] },
  { what: 'from a web page', headers: { origin: 'https://stranger.invalid' }, wanted: [403] },
] as const;

/** Asks whoever listens there; nobody may, and then there is nothing to say but that. */
async function probes(address: HttpAddress, settings: Settings): Promise<Finding[]> {
  if (address.at === 'systemd') return [];
  const isTls = settings.http.cert !== undefined;
  let health: number;
  try {
    health = await status(address, isTls, 'GET', '/healthz');
  } catch (thrown) {
    return [{ name: 'http live', status: 'ok', detail: `nothing listens there now (${messageOf(thrown)})` }];
  }
  const ready = await status(address, isTls, 'GET', '/readyz').catch(() => 0);
  const live: Finding = {
    name: 'http live',
    status: health === 200 ? (ready === 200 ? 'ok' : 'warn') : 'fail',
    detail: `it listens; /healthz ${health}, /readyz ${ready}`,
    ...(health === 200 && ready === 200 ? {} : { remedy: 'Read its log, which says what is wrong.' }),
  };
  // On a unix socket its owner needs none.
  const attempts = address.at === 'unix' ? ATTEMPTS.slice(1) : ATTEMPTS;
  const findings = attempts.map(async ({ what, headers, wanted }): Promise<Finding> => {
    const got = await status(address, isTls, 'POST', '/mcp', headers).catch(() => 0);
    const isOut = (wanted as readonly number[]).includes(got);
    const detail = `a request ${what} was answered with ${got || 'nothing'}`;
    if (isOut) return { name: 'http walls', status: 'ok', detail };
    const remedy = 'End what listens there, and look whether it is this bridge.';
    return { name: 'http walls', status: 'fail', detail, remedy };
  });
  return [live, ...(await Promise.all(findings))];
}

function status(
  address: Exclude<HttpAddress, { at: 'systemd' }>,
  isTls: boolean,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const target =
    address.at === 'unix'
      ? { socketPath: address.path }
      : { host: reachableHost(address.host), port: address.port };
  return new Promise((resolve, reject) => {
    const options = {
      ...target,
      method,
      path,
      agent: false,
      timeout: ASK_MS,
      headers: { host: 'localhost', 'content-type': 'application/json', ...headers },
    };
    // Whose certificate it is does not matter here: nothing secret is sent.
    const request = isTls ? https.request({ ...options, rejectUnauthorized: false }) : http.request(options);
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('error', reject);
    request.end(method === 'POST' ? '{}' : undefined);
  });
}

/** All addresses of a machine are reached by its own. */
const reachableHost = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
