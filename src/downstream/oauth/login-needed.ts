// Errors for a server that needs a login. The remedy is the exact command to run.

import { ownCommand } from '../../base/own-command.js';
import { RemoteFailure } from '../remote/remote-failure.js';

/** What a server asks for is data, and people copy commands into a shell: others are left out. */
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

/** Its remedy is the command. It is no fault of the server's, which need not rest after it. */
export class LoginNeeded extends LoginTrouble {
  /** `scopes` are what the server asks for on top of what it has granted. */
  constructor(server: string, reason: string, scopes: readonly string[] = []) {
    super(reason, `Run \`${loginCommand(server, scopes)}\` in a terminal.`);
  }
}

/** The command as a person would type it. */
export function loginCommand(server: string, scopes: readonly string[] = []): string {
  const usable = scopes.length <= MAX_SCOPES && scopes.every((scope) => HARMLESS_SCOPE.test(scope));
  const wanted = usable && scopes.length > 0 ? ['--scope', scopes.join(' ')] : [];
  return ownCommand('login', server, ...wanted);
}
