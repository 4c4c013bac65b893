// Findings of `doctor --http` about TLS: the certificate in its files, and a real handshake, with whoever listens at the address
// or, if nobody does, with a listener on loopback that lives as long as the handshake. Nothing secret is sent.

import { readFileSync } from 'node:fs';
import { type AddressInfo, isIP } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { asBridgeError, messageOf } from '../../base/errors.js';
import { isLoopback } from '../../base/text/loopback.js';
import type { HttpAddress } from '../../service/http/address.js';
import { certificateFacts, readTls, type TlsFiles } from '../../service/http/tls-files.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Finding } from './examination.js';

const SOON_MS = 14 * 86_400_000;
const HANDSHAKE_MS = 5_000;
const ANY_ADDRESS = ['0.0.0.0', '::'];
/** Codes that mean that nobody listens. */
const NOBODY = ['ECONNREFUSED', 'ENOENT'];

/** Whether a connection failed because nobody listens there. */
export const isNobody = (thrown: unknown): boolean => NOBODY.includes(String(Object(thrown).code));

/** A connection's target: a path, or a host that stands for all addresses of this machine. */
export const targetOf = (address: Exclude<HttpAddress, { at: 'systemd' }>) =>
  address.at === 'unix'
    ? { path: address.path, host: undefined, port: undefined }
    : { path: undefined, host: reachableHost(address.host), port: address.port };

const reachableHost = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;

/** Whether the certificate can be used, holds now, and is for the names under which clients reach the bridge. */
export function examineCertificate(
  files: TlsFiles,
  address: HttpAddress,
  settings: Settings,
): Omit<Finding, 'name'> {
  try {
    readTls(files);
    const { from, until, names, isFor } = certificateFacts(readFileSync(files.cert));
    const detail = `${files.cert} is for ${names}, from ${day(from)} to ${day(until)}`;
    const leftMs = until.getTime() - Date.now();
    const remedy = 'Replace certificate and key. A running bridge takes the new ones by itself.';
    if (leftMs < 0 || from.getTime() > Date.now()) return { status: 'fail', detail, remedy };
    const reached = namesOfClients(address, settings);
    const foreign = reached.filter((name) => !isFor(name));
    if (foreign.length > 0)
      return {
        status: 'fail',
        detail: `${detail}; clients reach the bridge as ${foreign.join(', ')}, which is not among these names`,
        remedy: `Get a certificate that names ${foreign.join(', ')}, or correct MCP_BRIDGE_HTTP_HOSTS.`,
      };
    if (leftMs < SOON_MS) return { status: 'warn', detail, remedy };
    const isOwn = address.at !== 'tcp' || isLoopback(address.host);
    if (reached.length > 0 || isOwn) return { status: 'ok', detail };
    return {
      status: 'warn',
      detail: `${detail}; no setting says under which name clients reach the bridge`,
      remedy: 'Set MCP_BRIDGE_HTTP_HOSTS to these names; requests under any other name are refused.',
    };
  } catch (thrown) {
    const { message, remedy } = asBridgeError(thrown);
    return { status: 'fail', detail: message, ...(remedy === undefined ? {} : { remedy }) };
  }
}

const day = (date: Date): string => date.toISOString().slice(0, 10);

/** Names and addresses, without the brackets of IPv6, that are set or listened on. */
function namesOfClients(address: HttpAddress, { http: { hosts }, oauth }: Settings): readonly string[] {
  const listened =
    address.at === 'tcp' && !isLoopback(address.host) && !ANY_ADDRESS.includes(address.host)
      ? [address.host]
      : [];
  const resource = oauth === undefined ? [] : [new URL(oauth.resource).hostname];
  const all = [...hosts, ...listened, ...resource].map((name) => name.replace(/^\[(.*)\]$/, '$1'));
  return [...new Set(all)].filter((name) => !isLoopback(name));
}

/** A handshake as a client would make it; undefined if the files cannot be used, which another finding says. */
export async function tryHandshake(
  files: TlsFiles,
  address: HttpAddress,
  settings: Settings,
): Promise<Omit<Finding, 'name'> | undefined> {
  const material = usable(files);
  if (material === undefined) return undefined;
  const [name] = namesOfClients(address, settings).filter((one) => isIP(one) === 0);
  try {
    if (address.at === 'systemd') throw Object.assign(new Error('systemd listens'), { code: NOBODY[0] });
    return judge(await handshake(targetOf(address), name), files, 'with the program that listens there');
  } catch (thrown) {
    if (!isNobody(thrown))
      return {
        status: 'fail',
        detail: `the program that listens there makes no TLS handshake (${messageOf(thrown)})`,
        remedy: 'Stop that program, or start the bridge with MCP_BRIDGE_HTTP_CERT and MCP_BRIDGE_HTTP_KEY.',
      };
  }
  return judge(await trial(material, name), files, 'in a trial, since nothing listens there');
}

function usable(files: TlsFiles): ReturnType<typeof readTls> | undefined {
  try {
    return readTls(files);
  } catch {
    return undefined;
  }
}

function judge(
  { protocol, fingerprint, untrusted }: Awaited<ReturnType<typeof handshake>>,
  { cert }: TlsFiles,
  how: string,
): Omit<Finding, 'name'> {
  const did = `${protocol} ${how}`;
  if (fingerprint !== certificateFacts(readFileSync(cert)).fingerprint)
    return {
      status: 'warn',
      detail: `${did}, which has another certificate than ${cert}`,
      remedy: 'Send SIGHUP to the bridge that listens there, or start it with these files.',
    };
  if (untrusted === undefined) return { status: 'ok', detail: `${did}; clients trust the certificate` };
  return {
    status: 'warn',
    detail: `${did}; by default, clients do not trust the certificate (${untrusted})`,
    remedy: `Put the whole chain into ${cert}. If you signed it yourself, give clients your CA, such as with NODE_EXTRA_CA_CERTS.`,
  };
}

/** Resolves when both sides have agreed. Rejects with what the connection came to. */
function handshake(
  target: ReturnType<typeof targetOf>,
  servername: string | undefined,
): Promise<{
  readonly protocol: string;
  readonly fingerprint: string;
  readonly untrusted: string | undefined;
}> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({
      ...target,
      ...(servername === undefined ? {} : { servername }),
      rejectUnauthorized: false,
      timeout: HANDSHAKE_MS,
      // Names are compared with those that clients use, and here the address may be another.
      checkServerIdentity: () => undefined,
    });
    socket.once('secureConnect', () => {
      const { fingerprint256 } = socket.getPeerCertificate();
      const untrusted = socket.authorized ? undefined : String(socket.authorizationError);
      resolve({ protocol: socket.getProtocol() ?? 'TLS', fingerprint: fingerprint256, untrusted });
      socket.destroy();
    });
    socket.once('timeout', () => socket.destroy(new Error('no answer in time')));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed')));
  });
}

async function trial(material: ReturnType<typeof readTls>, servername: string | undefined) {
  const server = createServer(material, (socket) => socket.on('error', () => {}));
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  try {
    const { port } = server.address() as AddressInfo;
    return await handshake({ path: undefined, host: '127.0.0.1', port }, servername);
  } finally {
    server.close();
  }
}
