// The operator's rules as they are now: the settings, and the policy file as it is, read anew when it has changed. What
// cannot be read stops the start; later it changes nothing, so that no slip of an editor lets anything through.

import { statSync } from 'node:fs';
import { messageOf } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import type { Discovery } from '../config/discover.js';
import type { DownstreamSpec } from '../config/downstream-spec.js';
import type { HostFacts } from '../config/host-facts.js';
import { readPolicyFile } from '../config/policy-file.js';
import type { Settings } from '../config/settings.js';
import { type Policy, type PolicyRules, policyOf } from './policy.js';

export class PolicyBook {
  readonly #path: string | undefined;
  readonly #host: HostFacts;
  readonly #observer: Observer;
  #rules: PolicyRules;
  #stamp: string;
  #made:
    | { readonly rules: PolicyRules; readonly specs: readonly DownstreamSpec[]; readonly policy: Policy }
    | undefined;

  /** Throws E_SETTINGS where there is to be a policy file and it cannot be used. */
  constructor(
    { policyFile, allow, deny }: Pick<Settings, 'policyFile' | 'allow' | 'deny'>,
    host: HostFacts,
    observer: Observer,
  ) {
    this.#path = policyFile;
    this.#host = host;
    this.#observer = observer;
    // Before reading: a change in between is seen the next time.
    this.#stamp = stampOf(policyFile);
    const file =
      policyFile === undefined ? undefined : { path: policyFile, content: readPolicyFile(policyFile, host) };
    this.#rules = { allow, deny, file };
  }

  /** The policy that holds now for these servers; cheap enough to be asked for every call. */
  policy(specs: readonly DownstreamSpec[]): Policy {
    const rules = this.#current();
    if (this.#made?.rules !== rules || this.#made.specs !== specs)
      this.#made = { rules, specs, policy: policyOf(rules, specs) };
    return this.#made.policy;
  }

  #current(): PolicyRules {
    const path = this.#path;
    if (path === undefined) return this.#rules;
    const stamp = stampOf(path);
    if (stamp === this.#stamp) return this.#rules;
    this.#stamp = stamp;
    try {
      this.#rules = { ...this.#rules, file: { path, content: readPolicyFile(path, this.#host) } };
    } catch (thrown) {
      this.#observer({
        type: 'config.problem',
        file: path,
        message: `${messageOf(thrown)} Until then the policy of before holds.`,
      });
    }
    return this.#rules;
  }
}

/** Differs when the file was written, exchanged, or given other rights. */
function stampOf(path: string | undefined): string {
  if (path === undefined) return '';
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? 'absent' : [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ');
}

/** What of a discovery may be used: a denied server is passed over like one that is switched off. */
export function withoutDenied(discovery: Discovery, policy: Policy): Discovery {
  const judged = discovery.ready.map((spec) => ({ spec, verdict: policy.server(spec.name) }));
  const passedOver = judged.filter(({ verdict }) => !verdict.allowed);
  if (passedOver.length === 0) return discovery;
  return {
    ...discovery,
    ready: judged.filter(({ verdict }) => verdict.allowed).map(({ spec }) => spec),
    skipped: [
      ...discovery.skipped,
      ...passedOver.map(({ spec: { name, source }, verdict }) => ({
        name,
        reason: `denied by ${verdict.rule}`,
        source,
      })),
    ],
  };
}
