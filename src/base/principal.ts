// Whom the bridge serves. Over stdio it is the user who started it; over HTTP it is whoever a credential names. What one
// principal has, no other can see, use or stop.

export type Principal = {
  /**
   * Unique among all, and for ever: `local`, `token:NAME#ID`, `oauth:ISSUER SUBJECT`, `oauth-client:ISSUER CLIENT`. Never
   * shown to another principal. A token that is revoked and made anew under the same name has another ID.
   */
  readonly id: string;
  /** Named so in logs, the audit and the principal's own errors. */
  readonly name: string;
  /** Names of the servers that its credential reaches; undefined means all that the policy allows. */
  readonly servers: readonly string[] | undefined;
  /** Scopes that the principal's credential was granted; empty for principals that know no scopes. */
  readonly scopes: readonly string[];
  /** The groups that its issuer says it is in; undefined for those that know no groups. */
  readonly groups?: readonly string[];
  /** When its credential ends, in ms since 1970; undefined for one that does not. */
  readonly expiresAtMs: number | undefined;
};

/**
 * Text that is equal for credentials of one principal that give the same rights: another credential may reach fewer servers, or
 * name other groups. The end of a credential, and the name of the principal, give no rights.
 */
export function rightsOf({ name: _name, expiresAtMs: _expiresAtMs, ...rights }: Principal): string {
  const sorted = Object.entries(rights).map(([right, value]) => [
    right,
    Array.isArray(value) ? [...value].sort() : value,
  ]);
  return JSON.stringify(sorted.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)));
}

/** Name of the principal in its id: of a token, of a subject or client; the id itself for the user of the machine. */
export function nameInId(id: string): string {
  const { token, subject } =
    /^(?:token:(?<token>.+)#[0-9a-f]+|oauth(?:-client)?:\S+ (?<subject>.+))$/s.exec(id)?.groups ?? {};
  return token ?? subject ?? id;
}

/** The user whose process the bridge is: reaches everything that the settings allow. */
export const LOCAL_USER: Principal = {
  id: 'local',
  name: 'local user',
  servers: undefined,
  scopes: [],
  expiresAtMs: undefined,
};
