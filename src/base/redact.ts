// Secrets out of text that leaves our hands as words of ours: log lines, errors, a server's last words. By value, for
// whatever the configuration is known to hold, also in the forms in which a program quotes it; and by key, for what
// only looks like one. Data that a tool returns is not touched. Never throws; knows nothing of where text goes.

/** Shorter values (`1`, `true`, `en`) are no secrets, and hiding them would make every text unreadable. */
const MIN_CHARS = 8;
/** Names of variables whose values are secret wherever they come from. */
const SECRET_NAME =
  /TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL|AUTHORIZATION|COOKIE/i;
/** `token=…`, `"apiKey": "…"`, `Authorization: Bearer …`; a digit tells a secret from a word such as `expired`. */
const BY_KEY =
  /\b([\w-]{0,40}(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|authorization|cookie)["']?\s*[=:]\s*["']?(?:(?:bearer|basic)\s+)?)(?=[^\s"',;&]*\d)[^\s"',;&]{8,}/gi;
/** A member of a JSON object whose name says so; its value need not look like a secret. */
const SECRET_MEMBER =
  /("[^"\\]{0,60}(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization|cookie)[^"\\]{0,60}"\s*:\s*)"(?:[^"\\]|\\.)*"/gis;
/** The password of a URL. */
const IN_URL = /(\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:)[^\s/@]+@/gi;
const HIDDEN = '…';
/** Of a value that is replaced now and then: an older one has ended, and a pattern of all of them would only grow. */
const LATEST_KEPT = 4;

/** Text without secrets; what `Redactor.redact` is to those who only use it. */
export type Redact = (text: string) => string;

/** JSON text without the texts that its objects call passwords, tokens and the like. It stays JSON. */
export function withoutSecretMembers(json: string): string {
  return json.replace(SECRET_MEMBER, `$1"${HIDDEN}"`);
}

export class Redactor {
  /** What is shown in place of each form of each value. */
  readonly #shown = new Map<string, string>();
  /** By name, the oldest first; see `addLatest`. */
  readonly #latest = new Map<string, readonly string[]>();
  #pattern: RegExp | undefined;

  /** Learns every value of `env` that is long enough; it is shown as its variable's name. Nothing of it is forgotten. */
  addAll(env: Readonly<Record<string, string | undefined>>): void {
    for (const [name, value] of Object.entries(env)) {
      if (value === undefined || value.trim().length < MIN_CHARS) continue;
      for (const form of formsOf(value.trim())) this.#shown.set(form, `[${name}]`);
      this.#pattern = undefined;
    }
  }

  /** Learns a value that takes the place of earlier ones, such as a token; only the last few of one name are hidden. */
  addLatest(name: string, value: string): void {
    const known = this.#latest.get(name) ?? [];
    if (known.includes(value)) return;
    const kept = [...known, value].slice(-LATEST_KEPT);
    for (const old of known.filter((one) => !kept.includes(one)))
      for (const form of formsOf(old.trim())) this.#shown.delete(form);
    this.#latest.set(name, kept);
    // All that stay, since two values may have a form in common.
    for (const one of kept) this.addAll({ [name]: one });
  }

  /** Learns the values of `env` whose names say that they are secret, or are among `names`. */
  addSecrets(env: Readonly<Record<string, string | undefined>>, names: readonly string[] = []): void {
    const isSecret = ([name]: [string, unknown]) => SECRET_NAME.test(name) || names.includes(name);
    this.addAll(Object.fromEntries(Object.entries(env).filter(isSecret)));
  }

  /** `text` without known values, and without what stands where a secret would. */
  redact(text: string): string {
    return this.redactValues(text).replace(BY_KEY, `$1${HIDDEN}`).replace(IN_URL, `$1${HIDDEN}@`);
  }

  /** Known values only: JSON stays JSON. */
  redactValues(text: string): string {
    if (this.#shown.size === 0) return text;
    this.#pattern ??= new RegExp(
      // The longest first, so that a value inside another leaves no rest behind.
      [...this.#shown.keys()]
        .sort((a, b) => b.length - a.length)
        .map(quoted)
        .join('|'),
      'g',
    );
    return text.replace(this.#pattern, (form) => this.#shown.get(form) ?? HIDDEN);
  }
}

/** A value as programs write it: itself, in JSON, in base64 at each of its three offsets, in a URL. */
function formsOf(value: string): Set<string> {
  const json = JSON.stringify(value).slice(1, -1);
  const asciiJson = json.replace(
    /[^ -~]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const url = encodeURIComponent(value.toWellFormed());
  const base64 = [0, 1, 2].map((offset) => base64Core(value, offset));
  const forms = [value, json, asciiJson, url, url.replaceAll('%20', '+'), ...base64, ...base64.map(urlSafe)];
  return new Set(forms.filter((form) => form.length >= MIN_CHARS));
}

/** The characters of base64 that depend on the value alone, whatever stands before and after it in the encoded text. */
function base64Core(value: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]);
  const start = offset === 0 ? 0 : offset + 1;
  return bytes.toString('base64').slice(start, Math.floor((bytes.length * 8) / 6));
}

const urlSafe = (base64: string): string => base64.replaceAll('+', '-').replaceAll('/', '_');

const quoted = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
