// JSON of an issuer, by GET or for a form: over https, with an end and a limit of bytes, and no redirect is followed. What the operator has
// configured may lie in any network; what an issuer only points at must have a public address, which is looked at after the
// name was resolved and is the one that is connected to.

import { lookup } from 'node:dns';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { messageOf } from '../../base/errors.js';
import { isLoopback } from '../../base/text/loopback.js';
import { KB_BYTES } from '../../base/text/sizes.js';

/** Documents of issuers have a few kilobytes; keys of a large one some twenty. */
export const MAX_DOCUMENT_BYTES = 512 * KB_BYTES;

/** An issuer's document could not be had; the message is a clause without a full stop. */
export class IssuerFetchError extends Error {
  /** There is no such document at this address, and there may be one at another. */
  readonly isAbsent: boolean;

  constructor(message: string, isAbsent = false) {
    super(message);
    this.isAbsent = isAbsent;
  }
}

/** Reads a JSON document of the issuer `issuer`, with `form` what it answers to a POST of it; throws IssuerFetchError. */
export async function fetchJson(
  address: string,
  issuer: string,
  signal: AbortSignal,
  form?: URLSearchParams,
): Promise<unknown> {
  const url = allowedUrl(address, issuer);
  const isConfigured = url.origin === new URL(issuer).origin;
  const text = await bodyOf(url, isConfigured ? undefined : publicLookup, signal, form?.toString());
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new IssuerFetchError(`${url.origin} answers with something other than JSON`);
  }
}

/** An address that may be used of those that the issuer names; throws IssuerFetchError for every other one. */
export function allowedUrl(address: string, issuer: string): URL {
  if (!URL.canParse(address)) throw new IssuerFetchError('the issuer names something that is not an address');
  const [url, own] = [new URL(address), new URL(issuer)];
  const isOwn = url.origin === own.origin;
  if (url.protocol !== 'https:' && !(isOwn && url.protocol === 'http:' && isLoopback(url.hostname)))
    throw new IssuerFetchError(`${url.origin} is not https`);
  const ip = url.hostname.replace(/^\[|\]$/g, '');
  // No name is looked up for a literal address.
  if (!isOwn && isIP(ip) !== 0 && !isPublicAddress(ip)) throw notPublic(url.hostname);
  return url;
}

const notPublic = (host: string): IssuerFetchError =>
  new IssuerFetchError(
    `${host}, which the issuer names, is in a private network and not at the issuer's own address`,
  );

const publicLookup: LookupFunction = (host, options, done) => {
  lookup(host, { ...options, all: true }, (error, found) => {
    if (error !== null) return done(error, '', 0);
    const first = found[0];
    if (first === undefined || found.some(({ address }) => !isPublicAddress(address)))
      return done(notPublic(host) as NodeJS.ErrnoException, '', 0);
    return options.all === true ? done(null, found) : done(null, first.address, first.family);
  });
};

function bodyOf(
  url: URL,
  only: LookupFunction | undefined,
  signal: AbortSignal,
  form: string | undefined,
): Promise<string> {
  const { promise, resolve, reject } = withResolvers<string>();
  const failed = (thrown: unknown) =>
    reject(
      thrown instanceof IssuerFetchError
        ? thrown
        : new IssuerFetchError(`${url.origin} cannot be reached: ${reasonOf(thrown, signal)}`),
    );
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    method: form === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    agent: false,
    signal,
    ...(only === undefined ? {} : { lookup: only }),
  });
  request.once('error', failed);
  request.once('response', (response) => {
    const status = response.statusCode ?? 0;
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('error', failed);
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_DOCUMENT_BYTES) return void chunks.push(chunk);
      failed(new IssuerFetchError(`${url.origin} answers with more than ${MAX_DOCUMENT_BYTES} bytes`));
      request.destroy();
    });
    response.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    if (status === 200) return;
    const isAbsent = status >= 400 && status < 500;
    failed(new IssuerFetchError(`${url.origin}${url.pathname} answers with status ${status}`, isAbsent));
    request.destroy();
  });
  request.end(form);
  return promise;
}

const reasonOf = (thrown: unknown, signal: AbortSignal): string =>
  signal.aborted ? 'no answer in time' : String(Object(thrown).code ?? messageOf(thrown));

/** Promise.withResolvers, which Node 20 does not have. */
function withResolvers<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}

// Which IP addresses are of the public internet. What an issuer merely points at may not lead into networks that only this
// machine can reach: its own services, its neighbours, or the metadata service of a cloud.

/** [network, bits]: RFC 6890 and what came after it. */
const NOT_PUBLIC_V4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const;
/** Within 2000::/3, the only part that is public: Teredo, documentation, 6to4, which hold or may hold other addresses. */
const NOT_PUBLIC_V6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

const notPublicLists = new BlockList();
for (const [network, bits] of NOT_PUBLIC_V4) notPublicLists.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of NOT_PUBLIC_V6) notPublicLists.addSubnet(network, bits, 'ipv6');
const publicV6 = new BlockList();
publicV6.addSubnet('2000::', 3, 'ipv6');

/** False as well for what is no IP address. An IPv4 address in the clothes of IPv6 is not public. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !notPublicLists.check(address, 'ipv4');
  return isIP(address) === 6 && publicV6.check(address, 'ipv6') && !notPublicLists.check(address, 'ipv6');
}
