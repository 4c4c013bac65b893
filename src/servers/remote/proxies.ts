// Which proxy leads to an address, from the variables that curl and most programs know. Pure.

import { BlockList, isIP } from 'node:net';
import { BridgeError } from '../../base/errors.js';
import type { Environment } from '../../base/process/environment.js';

/** The proxy for a request, or undefined where it goes straight; throws E_SETTINGS for one that cannot be used. */
export type ProxyFor = (url: URL) => URL | undefined;

export const NO_PROXIES: ProxyFor = () => undefined;

/**
 * `https_proxy` and `http_proxy` by the scheme of the address, else `all_proxy`; small letters win over large ones.
 * `no_proxy` takes hosts out. What listens on this machine is never reached by way of another.
 */
export function proxiesOf(env: Environment): ProxyFor {
  return (url) => {
    if (isLoopback(hostOf(url))) return undefined;
    const name = url.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
    const said = variable(env, name) ?? variable(env, 'all_proxy');
    if (said === undefined || isExcepted(url, variable(env, 'no_proxy')?.value ?? '')) return undefined;
    return proxyOf(said);
  };
}

/** The passwords in the addresses of proxies, by the variables that hold them. */
export function proxySecrets(env: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value = '']) => {
      if (!/^(?:https?|all)_proxy$/i.test(name)) return [];
      const written = value.includes('://') ? value : `http://${value}`;
      const password = URL.canParse(written) ? decoded(new URL(written).password) : '';
      return password === '' ? [] : [[`password of ${name}`, password]];
    }),
  );
}

/** A part of an address as it was meant; as it stands where it is not encoded as it should be. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Variable = { readonly name: string; readonly value: string };

function variable(env: Environment, name: string): Variable | undefined {
  for (const spelling of [name, name.toUpperCase()]) {
    const value = env[spelling]?.trim();
    if (value !== undefined && value !== '') return { name: spelling, value };
  }
  return undefined;
}

/** The value may hold a password, so it is not quoted. */
function proxyOf({ name, value }: Variable): URL {
  const written = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  const got = url === undefined ? 'is no address' : `names a proxy of the kind ${url.protocol.slice(0, -1)}`;
  throw new BridgeError('E_SETTINGS', `The variable ${name} ${got}; allowed are http:// and https://.`, {
    fault: 'operator',
    remedy: `Correct ${name}, or name the server's host in no_proxy.`,
  });
}

/** Whether `no_proxy` names the host: by itself, by a suffix, by a network in CIDR, each with or without a port; `*` is all. */
function isExcepted(url: URL, exceptions: string): boolean {
  const host = hostOf(url);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return exceptions
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const { name, onlyPort } = split(entry.toLowerCase());
      return (onlyPort === undefined || onlyPort === port) && isOf(host, name);
    });
}

/** `[::1]:80`, `host:80`, `10.0.0.0/8`, `::1` and `host`. */
function split(entry: string): { readonly name: string; readonly onlyPort: string | undefined } {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(entry);
  if (bracketed !== null) return { name: bracketed[1] ?? '', onlyPort: bracketed[2] };
  const withPort = /^([^:]+):(\d+)$/.exec(entry);
  return withPort === null
    ? { name: entry, onlyPort: undefined }
    : { name: withPort[1] ?? '', onlyPort: withPort[2] };
}

function isOf(host: string, name: string): boolean {
  const [address = '', bits] = name.split('/', 2);
  if (isIP(address) !== 0) return isWithin(host, address, bits);
  const suffix = name.replace(/^\*?\./, '').replace(/\.$/, '');
  return suffix !== '' && (host === suffix || host.endsWith(`.${suffix}`));
}

function isWithin(host: string, address: string, bits: string | undefined): boolean {
  const family = familyOf(address);
  if (isIP(host) === 0 || familyOf(host) !== family) return false;
  const most = family === 'ipv4' ? 32 : 128;
  const prefix = bits === undefined ? most : Number(bits);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > most) return false;
  const network = new BlockList();
  network.addSubnet(address, prefix, family);
  return network.check(host, family);
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function isLoopback(host: string): boolean {
  if (isIP(host) !== 0) return LOOPBACK.check(host, familyOf(host));
  return host === 'localhost' || host.endsWith('.localhost');
}

/** Without the brackets of an address of IPv6 and the dot at the end of a whole name. */
const hostOf = ({ hostname }: URL): string =>
  hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
