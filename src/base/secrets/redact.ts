// Secrets out of text that leaves our hands as words of ours: log lines, errors, a server's last words. By value, for
// whatever the configuration is known to hold, however a program quotes it (`secrets/finder.ts`); and by key, for what
// only looks like one (`secrets/by-key.ts`). Data that a tool returns is not touched. Never throws; knows nothing of
// where text goes. Strangers write these texts, so all of it takes time in proportion to their length.

import { withoutKeyed, withoutUrlPasswords } from './by-key.js';
import { Finder, type Span } from './finder.js';

/** Shorter values (`1`, `true`, `en`) are no secrets, and hiding them would make every text unreadable. */
const MIN_CHARS = 8;
/** Names of variables whose values are secret wherever they come from. */
const SECRET_NAME =
  /TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL|AUTHORIZATION|COOKIE/i;
/** Whether the value of a variable, header or field of this name is nobody's to read. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name);

/**
 * How many values of a secret that is renewed are kept, newest last. Older values have expired, and every kept one
 * costs time in each search.
 */
const LATEST_KEPT = 4;

/** Names of servers and tools come with each of a thousand calls: what a short text has become is remembered for so many. */
const MAX_SEEN = 500;
const MAX_SEEN_CHARS = 100;

/** Text without secrets; what `Redactor.redact` is to those who only use it. */
export type Redact = (text: string) => string;

/** Finder of all known values, their names by the finder's labels, and what short texts have become. */
type KnownValues = {
  readonly finder: Finder;
  readonly names: readonly string[];
  readonly seen: Map<string, string>;
};

export class Redactor {
  /** The name that is shown in the place of each value. */
  readonly #names = new Map<string, string>();
  /** The values of each name, the oldest first; see `addLatest`. */
  readonly #latest = new Map<string, readonly string[]>();
  /** Made when it is needed, and anew after a value was learned. */
  #finder: KnownValues | undefined;
  readonly #parent: { readonly redactor: Redactor; readonly owner: string } | undefined;

  /**
   * The parent learns all that this one learns, which it shows as the owner's; this one learns nothing of what the parent
   * knows besides: what one principal is shown must not tell which texts are secrets of another.
   */
  constructor(parent?: { readonly redactor: Redactor; readonly owner: string }) {
    this.#parent = parent;
  }

  /** Learns every value of `env` that is long enough; it is shown as its variable's name. Nothing of it is forgotten. */
  addAll(env: Readonly<Record<string, string | undefined>>): void {
    this.#parent?.redactor.addAll(env);
    for (const [name, value] of Object.entries(env)) {
      const trimmed = value?.trim() ?? '';
      if (trimmed.length < MIN_CHARS || this.#names.get(trimmed) === name) continue;
      this.#names.set(trimmed, name);
      this.#finder = undefined;
    }
  }

  /** Learns a value that takes the place of earlier ones, such as a token; only the last few of one name are hidden. */
  addLatest(name: string, value: string): void {
    this.#parent?.redactor.addLatest(`${name}, ${this.#parent.owner}`, value);
    const known = this.#latest.get(name) ?? [];
    if (known.includes(value)) return;
    this.#latest.set(name, [...known, value].slice(-LATEST_KEPT));
    this.#finder = undefined;
  }

  /** Learns the values of `env` whose names say that they are secret, or are among `names`. */
  addSecrets(env: Readonly<Record<string, string | undefined>>, names: readonly string[] = []): void {
    const isSecret = ([name]: [string, unknown]) => isSecretName(name) || names.includes(name);
    this.addAll(Object.fromEntries(Object.entries(env).filter(isSecret)));
  }

  /** `text` without known values, and without what stands where a secret would. */
  redact(text: string): string {
    const { finder, names, seen } = this.#makeFinder();
    const known = seen.get(text);
    if (known !== undefined) return known;
    const shown = replaceSpans(text, finder.inText(text), ({ label }) => `[${names[label]}]`);
    const redacted = withoutUrlPasswords(withoutKeyed(shown));
    if (text.length <= MAX_SEEN_CHARS) {
      if (seen.size >= MAX_SEEN) seen.clear();
      seen.set(text, redacted);
    }
    return redacted;
  }

  /** JSON without known values. It stays JSON: a number that is one becomes a string. */
  redactValues(json: string): string {
    const { finder, names } = this.#makeFinder();
    const literals = new Set<number>();
    const spans = finder.inJson(json, (start) => literals.add(start));
    return replaceSpans(json, spans, ({ start, label }) => {
      const shown = JSON.stringify(`[${names[label]}]`);
      return literals.has(start) ? shown : shown.slice(1, -1);
    });
  }

  #makeFinder(): KnownValues {
    if (this.#finder !== undefined) return this.#finder;
    const finder = new Finder();
    const names: string[] = [];
    const add = (value: string, name: string) => {
      if (value.length >= MIN_CHARS) finder.add(value, names.push(name) - 1);
    };
    for (const [value, name] of this.#names) add(value, name);
    for (const [name, values] of this.#latest) for (const value of values) add(value.trim(), name);
    this.#finder = { finder, names, seen: new Map() };
    return this.#finder;
  }
}

function replaceSpans(text: string, spans: readonly Span[], shown: (span: Span) => string): string {
  if (spans.length === 0) return text;
  const pieces: string[] = [];
  let at = 0;
  for (const span of spans) {
    pieces.push(text.slice(at, span.start), shown(span));
    at = span.end;
  }
  return pieces.join('') + text.slice(at);
}

// Tells the redactor what is secret of one server, so that values which are replaced now and then (rotating headers, a
// token that the user's configuration is given anew) do not make it grow without end.

/** Hides the values of `secrets`: of each name of a server the last few. */
export function hideLatest(
  redactor: Redactor,
  server: string,
  secrets: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(secrets)) redactor.addLatest(`${name} of ${server}`, value);
}

/** The scheme that stands before a key in a header. */
const SCHEME = /^(?:bearer|basic|token) +/i;
/** Any other scheme, where one word follows it. */
const ANY_SCHEME = /^[A-Za-z][\w-]{0,31} +(?=\S+$)/;

/** Hides the values of headers. A server that quotes a token leaves out the scheme before it: no part of the secret. */
export function hideHeaders(
  redactor: Redactor,
  server: string,
  headers: Readonly<Record<string, string>>,
): void {
  const bare = Object.entries(headers).map(([name, value]) => {
    const scheme = name.toLowerCase() === 'authorization' ? ANY_SCHEME : SCHEME;
    return [name, value.replace(scheme, '')] as const;
  });
  hideLatest(redactor, server, Object.fromEntries(bare));
}
