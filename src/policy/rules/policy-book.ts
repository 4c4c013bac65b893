// The operator's rules as they are now: the settings, and the policy file as it is, read anew when it has changed. What
// cannot be read stops the start; later it changes nothing, so that no slip of an editor lets anything through.

import { isDeepStrictEqual } from 'node:util';
import { asBridgeError } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { inOneLine } from '../../base/text/text.js';
import type { Discovery } from '../../hosts/discovery/discover.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import type { Settings } from '../../settings/environment/settings.js';
import { stampOf } from '../../settings/files/config-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { type Policy, type PolicyRules, policyOf } from './policy.js';
import { readPolicyFile } from './policy-file.js';

export class PolicyBook {
  readonly #path: string | undefined;
  readonly #host: HostFacts;
  readonly #observer: Observer;
  #rules: PolicyRules;
  /** Stamp of the file as last read; undefined when it may have changed since without a trace. */
  #stamp: string | undefined;
  /** Message that was last told of a file that cannot be used; undefined while the file can be used. */
  #told: string | undefined;
  #made:
    | { readonly rules: PolicyRules; readonly specs: readonly DownstreamSpec[]; readonly policy: Policy }
    | undefined;

  /** Throws E_SETTINGS where there is to be a policy file and it cannot be used. */
  constructor(
    { policyFile, ...settings }: Pick<Settings, 'policyFile'> & Omit<PolicyRules, 'file'>,
    host: HostFacts,
    observer: Observer,
  ) {
    this.#path = policyFile;
    this.#host = host;
    this.#observer = observer;
    // Before reading: a change in between is seen the next time.
    this.#stamp = policyFile === undefined ? undefined : stampOf(policyFile);
    const file =
      policyFile === undefined ? undefined : { path: policyFile, content: readPolicyFile(policyFile, host) };
    const { allow, deny, names, approve, approveTrust } = settings;
    this.#rules = { allow, deny, file, names, approve, approveTrust };
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
    if (stamp !== undefined && stamp === this.#stamp) return this.#rules;
    this.#stamp = stamp;
    try {
      const content = readPolicyFile(path, this.#host);
      this.#told = undefined;
      // Compare first: a file read again shortly after a change is mostly the same, and new rules have a policy made anew.
      if (!isDeepStrictEqual(content, this.#rules.file?.content))
        this.#rules = { ...this.#rules, file: { path, content } };
    } catch (thrown) {
      this.#tell(path, asBridgeError(thrown).message);
    }
    return this.#rules;
  }

  /** Why the policy file as it is now does not count, in one line; undefined where it does. */
  get trouble(): string | undefined {
    return this.#told === undefined ? undefined : untilCorrected(this.#told);
  }

  #tell(file: string, reason: string): void {
    if (reason === this.#told) return;
    this.#told = reason;
    this.#observer({ type: 'config.problem', file, message: untilCorrected(reason) });
  }
}

const untilCorrected = (reason: string): string =>
  `${inOneLine(reason)} Until the file is corrected, the previous policy stays in force.`;

/** Part of a discovery that may be used: a denied server is passed over like one that is switched off. */
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
        reason: { kind: 'denied', rule: verdict.rule } as const,
        source,
      })),
    ],
  };
}
