// The variables that Claude Code replaces in a plugin's servers: where the plugin lies, where it may write, the project,
// and the options that the user gave it. Reads nothing.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Claude Code writes variables this way

import { z } from 'zod';
import { isRecord } from '../../base/json/records.js';
import type { Environment } from '../../base/process/environment.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import type { PluginOption, ServerSkipReason } from '../skip-reason.js';
import { locate } from './source-files.js';

/** Where Claude Code keeps the user's settings and plugins. */
export const CLAUDE_FOLDER = '${CLAUDE_CONFIG_DIR:-~/.claude}';

export type PluginPlace = {
  /** `NAME@MARKETPLACE`. */
  readonly id: string;
  readonly root: string;
  /** Its plugin.json. */
  readonly manifest: Readonly<Record<string, unknown>>;
};

/** No field of an entry is nested deeper than `env` and `headers`; JSON can be until the stack ends. */
const MAX_DEPTH = 16;

const record = z.record(z.string(), z.unknown()).catch({});
const option = z.looseObject({ default: z.unknown().optional(), sensitive: z.boolean().catch(false) });

/** Replaces the variables of one plugin in one entry, and gathers the options that have no value. */
export class PluginVariables {
  readonly #fixed: Readonly<Record<string, string>>;
  readonly #options: Readonly<Record<string, unknown>>;
  readonly #declared: Readonly<Record<string, unknown>>;
  readonly #missing = new Map<string, PluginOption>();

  constructor(
    { id, root, manifest }: PluginPlace,
    options: Readonly<Record<string, unknown>>,
    context: { readonly env: Environment; readonly host: HostFacts },
  ) {
    const { env, host } = context;
    const [data = ''] = locate(`${CLAUDE_FOLDER}/plugins/data/${id.replace(/[^\w-]/g, '-')}`, env, host);
    this.#fixed = { CLAUDE_PLUGIN_ROOT: root, CLAUDE_PLUGIN_DATA: data, CLAUDE_PROJECT_DIR: host.cwd };
    this.#options = options;
    this.#declared = record.parse(manifest['userConfig']);
  }

  /** Why the entry may not start: options without a value; undefined when all of them have one. */
  get trouble(): ServerSkipReason | undefined {
    const options = [...this.#missing.values()];
    return options.length === 0 ? undefined : { kind: 'needs-plugin-options', options };
  }

  /** A program also gets the plugin's places as variables, as Claude Code gives them. */
  entry(value: unknown): unknown {
    const filled = this.#filled(value);
    if (!isRecord(filled) || filled['command'] === undefined) return filled;
    const { env } = filled;
    return env === undefined || env === null || isRecord(env)
      ? { ...filled, env: { ...this.#fixed, ...env } }
      : filled;
  }

  #filled(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (depth === MAX_DEPTH) return value;
    if (Array.isArray(value)) return value.map((item) => this.#filled(item, depth + 1));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, this.#filled(item, depth + 1)]),
    );
  }

  #text(text: string): string {
    return text
      .replace(/\$\{(CLAUDE_PLUGIN_ROOT|CLAUDE_PLUGIN_DATA|CLAUDE_PROJECT_DIR)\}/g, (whole, name: string) => {
        return this.#fixed[name] ?? whole;
      })
      .replace(/\$\{user_config\.([^{}]+)\}/g, (whole, name: string) => this.#optionValue(name) ?? whole);
  }

  #optionValue(name: string): string | undefined {
    const said = Object.hasOwn(this.#options, name) ? this.#options[name] : undefined;
    const declared = option.safeParse(
      Object.hasOwn(this.#declared, name) ? this.#declared[name] : undefined,
    ).data;
    const value = said ?? declared?.default;
    if (['string', 'number', 'boolean'].includes(typeof value)) return String(value);
    this.#missing.set(name, { name, isSensitive: declared?.sensitive ?? false });
    return undefined;
  }
}
