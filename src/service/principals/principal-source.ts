// Where a principal's identity comes from, read out of its id, and how the command line names it.

import type { Principal } from '../../base/principal.js';

type PrincipalSource =
  | { readonly kind: 'local' }
  | { readonly kind: 'token' }
  /** `name` is the subject or the client id, as the issuer writes it. */
  | { readonly kind: 'subject' | 'client'; readonly issuer: string; readonly name: string };

/** Anything that is neither the local user nor of an issuer counts as a token. */
export function sourceOf({ id }: Pick<Principal, 'id'>): PrincipalSource {
  if (id === 'local') return { kind: 'local' };
  for (const [prefix, kind] of [
    ['oauth:', 'subject'],
    ['oauth-client:', 'client'],
  ] as const) {
    const at = id.indexOf(' ');
    if (id.startsWith(prefix) && at !== -1)
      return { kind, issuer: id.slice(prefix.length, at), name: id.slice(at + 1) };
  }
  return { kind: 'token' };
}

/** A principal as the command line names it, where only its id is known. */
export const wordOfId = (id: string): string =>
  principalWord({ id, name: id.replace(/^token:/, '').replace(/#[^#]*$/, '') });

/** The value of `login --principal` for this principal; its issuer is named in any case, since there may be several. */
export function principalWord(principal: Pick<Principal, 'id' | 'name'>): string {
  const source = sourceOf(principal);
  if (source.kind !== 'subject' && source.kind !== 'client') return principal.name;
  return `${source.kind}:${source.issuer} ${source.name}`;
}
