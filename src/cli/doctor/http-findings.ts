// Findings of `doctor` about a bridge that serves over HTTP: who may come in by the settings, and, where one listens at the
// address, what that bridge answers to somebody who may not.

import { existsSync, statSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { dirname } from 'node:path';
import { asBridgeError, messageOf } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { isLoopback } from '../../base/text/loopback.js';
import { Authenticator } from '../../service/access/authenticator.js';
import { type HttpAddress, parseHttpAddress } from '../../service/http/address.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Finding } from './examination.js';
import { examineCertificate, isNobody, targetOf, tryHandshake } from './tls-findings.js';

const ASK_MS = 5_000;
const CREATE = ownCommand('token', 'create', 'NAME', '--servers', 'SERVER');

/** Findings about `serve --http` at `written`. Throws E_ARGUMENTS where that is no address. */
export async function httpFindings(written: string, settings: Settings): Promise<Finding[]> {
  const address = parseHttpAddress(written);
  return [
    { name: 'http access', ...access(address, settings) },
    { name: 'http encryption', ...encryption(address, settings) },
    ...(await handshakes(address, settings)),
    ...(await probes(address, written, settings)),
  ];
}

function access(address: HttpAddress, settings: Settings): Omit<Finding, 'name'> {
  if (address.at === 'unix') return socketAccess(address.path);
  let isConfigured: boolean;
  try {
    isConfigured = new Authenticator(settings, () => {}).credentialsConfigured();
  } catch (thrown) {
    const { message, remedy } = asBridgeError(thrown);
    return { status: 'fail', detail: message, ...(remedy === undefined ? {} : { remedy }) };
  }
  const who = settings.oauth === undefined ? 'holders of tokens' : 'holders of tokens and users of an issuer';
  if (isConfigured) return { status: 'ok', detail: `${who} may connect` };
  const isOwn = address.at === 'tcp' && isLoopback(address.host);
  return isOwn
    ? { status: 'ok', detail: 'nobody has a credential yet: the first start makes a token and shows it once' }
    : {
        status: 'fail',
        detail: 'nobody has a credential, so no bridge starts at an address that other machines reach',
        remedy: `Make a token: ${CREATE}`,
      };
}

function socketAccess(path: string): Omit<Finding, 'name'> {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined)
    return existsSync(dirname(path))
      ? {
          status: 'warn',
          detail: `${path} does not exist yet; the bridge makes it for this user only`,
          remedy: startIt(`unix:${path}`),
        }
      : {
          status: 'fail',
          detail: `there is no folder ${dirname(path)}`,
          remedy: `Make it: mkdir -m 700 ${dirname(path)}`,
        };
  const isOpen = (stats.mode & FOR_OTHERS) !== 0;
  return isOpen
    ? {
        status: 'fail',
        detail: `${path} can be opened by others, who need no credential there`,
        remedy: 'Restart the bridge, or set SocketMode=0600 in the socket unit.',
      }
    : { status: 'ok', detail: `only this user can open ${path}; no credential is needed` };
}

const FOR_OTHERS = 0o077;
const startIt = (written: string): string => `Start it: ${ownCommand('serve', '--http', written)}`;

function encryption(address: HttpAddress, settings: Settings): Omit<Finding, 'name'> {
  const { cert, key, proxies } = settings.http;
  if (cert !== undefined && key !== undefined) return examineCertificate({ cert, key }, address, settings);
  if (address.at !== 'tcp' || isLoopback(address.host))
    return { status: 'ok', detail: 'none; not needed on this machine' };
  return proxies.length > 0
    ? { status: 'ok', detail: `done by the proxies ${proxies.join(', ')}` }
    : {
        status: 'fail',
        detail: 'none, so credentials from other machines are refused',
        remedy:
          'Set MCP_BRIDGE_HTTP_CERT and MCP_BRIDGE_HTTP_KEY, or name the proxy that has TLS in MCP_BRIDGE_HTTP_PROXIES.',
      };
}

async function handshakes(address: HttpAddress, settings: Settings): Promise<Finding[]> {
  const { cert, key } = settings.http;
  if (cert === undefined || key === undefined) return [];
  const found = await tryHandshake({ cert, key }, address, settings);
  return found === undefined ? [] : [{ name: 'http TLS', ...found }];
}

/** Attempts of a stranger, and the answers that keep the stranger out. */
const ATTEMPTS = [
  { what: 'without a credential', headers: {}, wanted: [401] },
  { what: 'with a wrong token', headers: { authorization: 'Bearer not-a-token' }, wanted: [401, 403] },
  { what: 'under a name that is not its own', headers: { host: 'rebound.invalid' }, wanted: [403] },
  { what: 'from a web page', headers: { origin: 'https://stranger.invalid' }, wanted: [403] },
] as const;

/** Asks whoever listens there, and says so if nobody does. */
async function probes(address: HttpAddress, written: string, settings: Settings): Promise<Finding[]> {
  const name = 'http live';
  if (address.at === 'systemd')
    return [
      {
        name,
        status: 'warn',
        detail: 'not tried: systemd listens, and the address does not say where',
        remedy: `Give the address of its socket: ${ownCommand('doctor', '--http')} ADDRESS`,
      },
    ];
  const wantsTls = settings.http.cert !== undefined;
  let isTls = wantsTls;
  let health: number;
  try {
    health = await status(address, wantsTls, 'GET', '/healthz');
  } catch (thrown) {
    const detail = `nothing listens there now (${messageOf(thrown)})`;
    if (isNobody(thrown)) return [{ name, status: 'warn', detail, remedy: startIt(written) }];
    isTls = !wantsTls;
    health = await status(address, isTls, 'GET', '/healthz').catch(() => 0);
    if (health === 0)
      return [
        {
          name,
          status: 'fail',
          detail: `what listens there does not answer as a bridge (${messageOf(thrown)})`,
          remedy: 'Stop that program, or choose another address.',
        },
      ];
  }
  const ready = await status(address, isTls, 'GET', '/readyz').catch(() => 0);
  const other: Finding[] =
    isTls === wantsTls
      ? []
      : [
          {
            name,
            status: 'fail',
            detail: `it listens ${isTls ? 'with' : 'without'} TLS, but the settings here say ${wantsTls ? 'with' : 'without'} TLS`,
            remedy: 'Give the bridge and doctor the same MCP_BRIDGE_HTTP_CERT and MCP_BRIDGE_HTTP_KEY.',
          },
        ];
  const live: Finding = {
    name,
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
    const remedy = 'Stop the program that listens there, and check whether it is this bridge.';
    return { name: 'http walls', status: 'fail', detail, remedy };
  });
  return [...other, live, ...(await Promise.all(findings))];
}

function status(
  address: Exclude<HttpAddress, { at: 'systemd' }>,
  isTls: boolean,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { path: socketPath, ...place } = targetOf(address);
  const target = socketPath === undefined ? place : { socketPath };
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
