// The names that a session has, asked of itself by a call of one statement, which leaves `_` as it is. What was asked is known
// until the next program runs.

const GLOBALS =
  'if 1: print(*{*globals(), *dir(__import__("builtins")), *__import__("keyword").kwlist}, sep="\\n")';
/** More than that nobody reads through, and it has to fit what an answer shows of its output. */
const MAX_NAMES = 2_000;

export class SessionNames {
  readonly #printed: (code: string) => Promise<string>;
  readonly #known = new Map<string | undefined, Promise<readonly string[]>>();

  /** `printed`: what code prints that runs in the session. */
  constructor(printed: (code: string) => Promise<string>) {
    this.#printed = printed;
  }

  /** Those of the session, or of one of its objects, which is named with dots. */
  of(object: string | undefined): Promise<readonly string[]> {
    const known = this.#known.get(object) ?? this.#ask(object);
    this.#known.set(object, known);
    return known;
  }

  forget(): void {
    this.#known.clear();
  }

  async #ask(object: string | undefined): Promise<readonly string[]> {
    const text = await this.#printed(object === undefined ? GLOBALS : codeFor(object));
    return text
      .split('\n')
      .filter((name) => /^\w+$/.test(name))
      .slice(0, MAX_NAMES);
  }
}

const codeFor = (object: string): string =>
  object === 'runtime'
    ? 'if 1: print(*runtime.__all__, "session", sep="\\n")'
    : `if 1: print(*dir(${object}), sep="\\n")`;
