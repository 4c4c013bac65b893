// The part of the configured servers that one principal has, as its bridge asks for it. principal-access.ts has the rules of
// principals other than the user who started the bridge.

import type { Discovery } from '../hosts/discovery/discover.js';
import type { DownstreamSpec, RemoteSpec } from '../hosts/downstream-spec.js';
import type { Policy } from '../policy/rules/policy.js';
import type { LoginOwner, ServerLogin } from '../servers/remote/login-needed.js';

export interface ServerAccess {
  /** Whether it is told of all that there is, with the reason where something is denied or passed over. */
  readonly isWhole: boolean;
  /** The servers of `found` that exist for the principal, as the principal reaches them. */
  existing(found: Discovery): Discovery;
  /** The principal's own layer on top of the operator's policy; the same object as long as both are the same. */
  policy(operators: Policy, specs: readonly DownstreamSpec[]): Policy;
  /** Why its rules as they are now do not count, in one line; undefined where they do. */
  readonly trouble: string | undefined;
  /** Why it has few servers or none, and who can change that; undefined where nothing narrows what it reaches. */
  readonly advice: string | undefined;
  /** Whose logins its bridge uses. */
  readonly loginOwner: LoginOwner;
  /** How it is known to this server where no login of its own is used. */
  loginFor(spec: RemoteSpec): ServerLogin | undefined;
}

/** Access of the user who started the bridge. */
export const FULL_ACCESS: ServerAccess = {
  isWhole: true,
  existing: (found) => found,
  policy: (operators) => operators,
  trouble: undefined,
  advice: undefined,
  loginOwner: undefined,
  loginFor: () => undefined,
};
