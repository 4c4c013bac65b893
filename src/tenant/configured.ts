// Which of the user's servers are configured and allowed now, by name: what an agent is told before anything is called. Knows
// nothing of how they are started; configured-servers.ts has the live ones.

import { isDeepStrictEqual } from 'node:util';
import type { Observer } from '../base/log/events.js';
import {
  type DiscoverContext,
  type Discovery,
  discover,
  LastGoodFiles,
} from '../hosts/discovery/discover.js';
import type { DownstreamSpec, RemoteSpec } from '../hosts/downstream-spec.js';
import type { Policy } from '../policy/rules/policy.js';
import { PolicyBook, withoutDenied } from '../policy/rules/policy-book.js';
import type { LoginOwner, ServerLogin } from '../servers/remote/login-needed.js';
import type { Settings } from '../settings/environment/settings.js';

// The part of the configured servers that one principal has, as its bridge asks for it. principal-access.ts has the rules of
// principals other than the user who started the bridge.

export interface ServerAccess {
  /** Whether the principal is told of all that there is, with the reason where something is denied or passed over. */
  readonly isWhole: boolean;
  /** The servers of `found` that exist for the principal, as the principal reaches them. */
  grantedOf(found: Discovery): Discovery;
  /** The principal's own layer on top of the operator's policy; the same object as long as both are the same. */
  policy(operators: Policy, specs: readonly DownstreamSpec[]): Policy;
  /** Why the principal's rules as they are now do not count, in one line; undefined where they do. */
  readonly trouble: string | undefined;
  /** Why the principal has few servers or none, and who can change that; undefined where nothing narrows what it reaches. */
  readonly advice: string | undefined;
  /** Owner of the logins that the principal's bridge uses. */
  readonly loginOwner: LoginOwner;
  /** How the principal is known to the server of `spec` where no login of the principal's own is used. */
  loginFor(spec: RemoteSpec): ServerLogin | undefined;
}

/** Access of the user who started the bridge. */
const FULL_ACCESS: ServerAccess = {
  isWhole: true,
  grantedOf: (found) => found,
  policy: (operators) => operators,
  trouble: undefined,
  advice: undefined,
  loginOwner: undefined,
  loginFor: () => undefined,
};

export class Configured {
  /** Sources that discovery reads from, with what it has read before. */
  readonly context: DiscoverContext;
  readonly access: ServerAccess;
  readonly #observer: Observer;
  readonly #policyBook: PolicyBook;
  #everything: Discovery | undefined;
  /** The part that may be used of what was found last, by the policy of then. */
  #usable: { readonly of: Discovery; readonly by: Policy; readonly discovery: Discovery } | undefined;
  /** Allowed or not: the hosts' own choices of tools are rules. */
  #specs: readonly DownstreamSpec[] = [];

  /** Throws E_SETTINGS where the policy cannot be used. */
  constructor({
    settings,
    context,
    observer,
    access = FULL_ACCESS,
  }: {
    readonly settings: Settings;
    readonly context: DiscoverContext;
    readonly observer: Observer;
    /** Access of the principal to the configured servers; without it, to all of them. */
    readonly access?: ServerAccess | undefined;
  }) {
    this.context = { lastGood: new LastGoodFiles(), ...context };
    this.access = access;
    this.#observer = observer;
    this.#policyBook = new PolicyBook(settings, context.host, observer);
  }

  /** Reads anew what is configured, since a host may have changed its file. */
  rediscover(): Discovery {
    const everything = discover(this.context, this.#observer);
    this.#everything = everything;
    const found = this.access.grantedOf(everything);
    // Keep the array as long as the servers are the same: what is made of the array is kept.
    if (!isDeepStrictEqual(found.ready, this.#specs)) this.#specs = found.ready;
    const policy = this.policy();
    // Keep it where nothing has changed: names and slots are made of it.
    if (this.#usable?.of !== found || this.#usable.by !== policy)
      this.#usable = { of: found, by: policy, discovery: this.#usableOf(found, policy) };
    return this.#usable.discovery;
  }

  /** The servers as last read. */
  get discovery(): Discovery {
    return this.#usable?.discovery ?? this.rediscover();
  }

  #usableOf(found: Discovery, policy: Policy): Discovery {
    if (this.access.isWhole) return withoutDenied(found, policy);
    return { ...found, ready: found.ready.filter(({ name }) => policy.server(name).allowed) };
  }

  /** Discovery as last read, with the servers of all principals. */
  get everything(): Discovery {
    if (this.#everything === undefined) this.rediscover();
    return this.#everything ?? this.discovery;
  }

  /** Names of the servers that a run can use. */
  get names(): readonly string[] {
    return this.discovery.ready.map(({ name }) => name);
  }

  /** Whether one of this name exists for the principal, allowed or not. */
  has(name: string): boolean {
    return this.#specs.some((spec) => spec.name === name);
  }

  /** The policy that applies now. */
  policy(): Policy {
    return this.access.policy(this.#policyBook.policy(this.#specs), this.#specs);
  }

  /** Why the policy file as it is now does not count, in one line; undefined where it does. */
  get policyTrouble(): string | undefined {
    return this.access.trouble ?? this.#policyBook.trouble;
  }
}
