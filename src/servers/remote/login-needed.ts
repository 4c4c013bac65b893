// Errors for a server that needs a login. The remedy is the exact command to run.

import { ownCommand, shellLine } from '../../base/process/own-command.js';
import { PACKAGE_NAME } from '../../base/version.js';
import { RemoteFailure } from './remote-failure.js';

/** A scope that a server asks for is data, and people copy commands into a shell: one of other characters is left out. */
const HARMLESS_SCOPE = /^[\w.:/@+*-]{1,200}$/;
const MAX_SCOPES = 50;

/** A login that cannot be used now. */
export class LoginTrouble extends RemoteFailure {
  constructor(reason: string, remedy: string, cause?: unknown) {
    super(reason, { fault: 'operator', remedy, cause });
  }

  override get saysNothingOfServer(): boolean {
    return true;
  }
}

/**
 * Whose a login is: that of the user who started the bridge, who then is the one to read of it (undefined); that of a
 * principal, as `login --principal` names it; or the one that all principals share.
 */
export type LoginOwner = { readonly principal: string } | 'everybody' | undefined;

/** A failure whose remedy is the login command. The server is not at fault, and need not rest after it. */
export class LoginNeeded extends LoginTrouble {
  constructor(
    server: string,
    reason: string,
    {
      scopes = [],
      owner,
    }: {
      /** Scopes that the server asks for on top of those that it has granted. */
      readonly scopes?: readonly string[];
      readonly owner?: LoginOwner;
    } = {},
  ) {
    super(
      reason,
      owner === undefined
        ? `Run \`${loginCommand(server, scopes)}\` in a terminal.`
        : `Whoever runs the bridge can log in: \`${shellLine([PACKAGE_NAME, ...words(server, scopes, owner)])}\`.`,
    );
  }
}

/** The command as a person at this machine would type it for a login of their own. */
export function loginCommand(server: string, scopes: readonly string[] = []): string {
  return ownCommand(...words(server, scopes, undefined));
}

function words(server: string, scopes: readonly string[], owner: LoginOwner): readonly string[] {
  const usable = scopes.length <= MAX_SCOPES && scopes.every((scope) => HARMLESS_SCOPE.test(scope));
  const wanted = usable && scopes.length > 0 ? ['--scope', scopes.join(' ')] : [];
  const whose = typeof owner === 'object' ? ['--principal', owner.principal] : [];
  return ['login', server, ...wanted, ...whose];
}

// The user's login at a remote server, as the connection to that server knows it. Given from above: the connection neither
// keeps tokens nor asks a person.

export interface ServerLogin {
  /**
   * The access token, for the server's own origin only; undefined where nobody has logged in, since the server may do
   * without. Throws RemoteFailure where the login has ended, and where a refresh is due and its issuer cannot be reached.
   */
  token(signal: AbortSignal): Promise<string | undefined>;
  /** The server answered 401 to a request with `refused`; afterwards `token` gives another one. Throws as it does. */
  renew(refused: string | undefined, signal: AbortSignal): Promise<void>;
  /** The failure for a 401 to a renewed token, or for a 403; undefined for a 403 that no login would fix. */
  onRefused(challenge: Challenge): RemoteFailure | undefined;
}

export type Challenge = {
  readonly status: number;
  /** The value of `WWW-Authenticate`. */
  readonly challenge: string | undefined;
};
