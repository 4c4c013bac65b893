// The values of one entry with their variables replaced, and everything that stands against the entry, gathered so that
// its owner reads all of it at once. Reads only the files that an entry names, and those only where it may start.

import type { Environment } from '../../base/process/environment.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { readGuarded } from '../../settings/files/guarded-file.js';
import { absolutePath, type HostFacts } from '../../settings/files/host-facts.js';
import { dotenvParser } from '../../settings/files/parsers.js';
import type { Mistake, Need, ServerSkipReason } from '../skip-reason.js';
import { EXPANSIONS, type Expansion, type ExpansionContext } from '../terms/expansions.js';

/** Files that an entry names hold a token or a page of variables. */
const MAX_NAMED_FILE_BYTES = MB_BYTES;

export class Filling {
  readonly #context;
  readonly #expansion: ExpansionContext;
  readonly #needs: Need[] = [];
  readonly #mistakes: Mistake[] = [];

  constructor(context: {
    readonly expansion: Expansion;
    readonly env: Environment;
    readonly host: HostFacts;
    readonly workspace: string;
    /** Where relative paths of the entry begin. */
    readonly folder: string;
    /** Whether files that the entry names are opened; of one that is not approved they are not. */
    readonly mayRead: boolean;
  }) {
    this.#context = context;
    const { env, host, workspace } = context;
    this.#expansion = { env, host, workspace, contentOf: (written) => this.#contentOf(written) };
  }

  text(written: string): string {
    const { text, needs } = EXPANSIONS[this.#context.expansion](written, this.#expansion);
    this.#needs.push(...needs);
    // A file may bring one in; what the kernel is handed ends there.
    if (text.includes('\0')) this.object({ kind: 'nul-in-value' });
    return text;
  }

  map(written: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(Object.entries(written).map(([name, value]) => [name, this.text(value)]));
  }

  path(written: string): string {
    return absolutePath(this.text(written), this.#context.folder, this.#context.host);
  }

  /** The value of a variable that the entry names itself. */
  variable(name: string): string {
    const value = Object.hasOwn(this.#context.env, name) ? this.#context.env[name] : undefined;
    if (value === undefined) this.#needs.push({ kind: 'variable', name });
    return value ?? '';
  }

  /** The variables of `names` that are set. */
  variables(names: readonly string[]): Record<string, string> {
    const { env } = this.#context;
    return Object.fromEntries(
      names.flatMap((name) => {
        const value = Object.hasOwn(env, name) ? env[name] : undefined;
        return value === undefined ? [] : [[name, value]];
      }),
    );
  }

  /** The variables of a file in the format of dotenv. */
  envFile(written: string): Record<string, string> {
    const needed = this.#needs.length;
    const file = this.path(written);
    if (!this.#context.mayRead || this.#needs.length > needed) return {};
    const found = readGuarded(file, MAX_NAMED_FILE_BYTES, this.#context.host);
    if (found.state === 'read') return dotenvParser().parse(found.text);
    const isUnsafe = found.state === 'refused' && found.isUnsafe;
    const trouble = found.state === 'absent' ? 'does not exist' : found.message;
    this.object({ kind: 'wrong-file', field: 'envFile', file, trouble, isUnsafe });
    return {};
  }

  object(mistake: Mistake): void {
    this.#mistakes.push(mistake);
  }

  /** Why the entry cannot be used; undefined as long as nothing stands against it. */
  get problem(): ServerSkipReason | undefined {
    if (this.#needs.length + this.#mistakes.length === 0) return undefined;
    return { kind: 'unusable', needs: this.#needs, mistakes: this.#mistakes };
  }

  #contentOf(written: string): string | undefined {
    if (!this.#context.mayRead) return '';
    const file = absolutePath(written, this.#context.folder, this.#context.host);
    const found = readGuarded(file, MAX_NAMED_FILE_BYTES, this.#context.host);
    if (found.state === 'absent') return undefined;
    if (found.state === 'read') return found.text;
    const { message: trouble, isUnsafe } = found;
    this.object({ kind: 'wrong-file', field: 'file', file, trouble, isUnsafe });
    return '';
  }
}
