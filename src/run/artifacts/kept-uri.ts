// The address of what is kept of a run: a handle that cannot be guessed, and the name under which it was shown. It is
// all that reading needs, so whoever has it may read; nothing else is made of it, least of all a path.

import { PACKAGE_NAME } from '../../base/version.js';

const PREFIX = `resource://${PACKAGE_NAME}/kept/`;
/** RFC 6570; the name may have several parts. */
export const KEPT_URI_TEMPLATE = `${PREFIX}{handle}/{+name}`;
/** 128 bits. */
export const HANDLE = /^[0-9a-f]{32}$/;

export type KeptAddress = { readonly handle: string; readonly name: string };

export function keptUri({ handle, name }: KeptAddress): string {
  return `${PREFIX}${handle}/${name.split('/').map(encodeURIComponent).join('/')}`;
}

/** Undefined for anything that keptUri did not make. */
export function parseKeptUri(uri: string): KeptAddress | undefined {
  if (!uri.startsWith(PREFIX)) return undefined;
  const [handle = '', ...parts] = uri.slice(PREFIX.length).split('/');
  if (!HANDLE.test(handle) || parts.length === 0) return undefined;
  try {
    return { handle, name: parts.map(decodeURIComponent).join('/') };
  } catch {
    return undefined;
  }
}
