// Whose login `login --principal` makes: a token's by its name, or that of a person or program whom an issuer names.

import type { BridgeError } from '../../base/errors.js';
import type { Principal } from '../../base/principal.js';
import { ownCommand } from '../../base/process/own-command.js';
import { didYouMean } from '../../base/text/closest.js';
import { clipHarmless, nameList } from '../../base/text/text.js';
import { principalIdOf, TokenFile, type TokenRecord } from '../../service/access/token-file.js';
import { readPrincipalsFile } from '../../service/principals/principals-file.js';
import type { Settings } from '../../settings/environment/settings.js';
import { hostFacts } from '../../settings/files/host-facts.js';
import { principalStateDir } from '../../settings/files/state-dir.js';
import { usageError, visibleText } from '../terminal/output.js';

const ALLOWED =
  "the name of a token, subject:SUBJECT or client:CLIENT of the configured issuer, or, with several issuers, 'subject:ISSUER SUBJECT'";
const KINDS = { 'subject:': 'oauth', 'client:': 'oauth-client' } as const;

/**
 * The state directory of the principal, which is there then. Throws E_ARGUMENTS where there is no such principal, and where all
 * principals share `server`, and with it the user's own login.
 */
export function principalFolder(settings: Settings, written: string, server: string | undefined): string {
  const principal = principalNamed(
    written,
    new TokenFile(settings.stateDir).read(),
    settings.oauth?.issuers ?? [],
  );
  const { principalsFile, oauth } = settings;
  if (principalsFile !== undefined && server !== undefined) {
    const { sharedServers } = readPrincipalsFile(principalsFile, oauth?.issuers ?? [], hostFacts());
    if (sharedServers.includes(server))
      throw usageError(
        `Server '${clipHarmless(server, 200)}' is one of \`sharedServers\`: it has one login for everybody.`,
        `Leave --principal out: ${ownCommand('login', server)}`,
      );
  }
  return principalStateDir(settings.stateDir, principal);
}

/** Throws E_ARGUMENTS. */
export function principalNamed(
  written: string,
  tokens: readonly TokenRecord[],
  issuers: readonly string[],
): Pick<Principal, 'id'> {
  const token = tokens.find(({ name }) => name === written || `token:${name}` === written);
  if (token !== undefined) return { id: principalIdOf(token) };
  for (const [prefix, kind] of Object.entries(KINDS)) {
    if (!written.startsWith(prefix)) continue;
    const said = written.slice(prefix.length);
    const named = issuers.find((issuer) => said.startsWith(`${issuer} `));
    const issuer = named ?? (issuers.length === 1 ? issuers[0] : undefined);
    const subject = named === undefined ? said : said.slice(named.length + 1);
    if (issuer === undefined || subject === '') throw unknownPrincipalError(written, tokens, issuers);
    return { id: `${kind}:${issuer} ${subject}` };
  }
  throw unknownPrincipalError(written, tokens, issuers);
}

function unknownPrincipalError(
  written: string,
  tokens: readonly TokenRecord[],
  issuers: readonly string[],
): BridgeError {
  const names = tokens.map(({ name }) => name);
  const known = `Tokens: ${names.length === 0 ? 'none' : visibleText(nameList(names))}. Issuers: ${nameList(issuers)}.`;
  return usageError(
    `--principal is '${clipHarmless(written, 200)}'; allowed: ${ALLOWED}.${didYouMean(written, names)}`,
    known,
  );
}
