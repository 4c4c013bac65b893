// How each host replaces variables in its entries. Pure but for `{file:…}`, which is read through the context. A value
// that was put in is never looked at again.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: hosts write variables this way

import type { Environment } from '../../base/process/environment.js';
import { type HostFacts, pathRules } from '../../settings/files/host-facts.js';
import type { Need } from '../skip-reason.js';

export type ExpansionContext = {
  readonly env: Environment;
  readonly host: HostFacts;
  /** The project's folder. */
  readonly workspace: string;
  /** The content of a file that an entry names; undefined when it cannot be had. */
  readonly contentOf: (written: string) => string | undefined;
};

/**
 * Ways to expand text, by the host whose way it is; `editor` is that of Cursor, VS Code and what grew out of VS Code. `needs`
 * are the values that are not there; their references stay in the text.
 */
export const EXPANSIONS = {
  /** Text stays as it is. */
  none: (text) => ({ text, needs: [] }),
  /** `${NAME}` and `${NAME:-default}`. */
  'claude-code': (text, { env }) => {
    const { text: filled, missing } = expand(text, env);
    return { text: filled, needs: missing.map((name) => ({ kind: 'variable', name })) };
  },
  /** `${env:NAME}` only. */
  cline: (text, context) =>
    replaceMatches(text, /\$\{env:([^{}]*)\}/g, (_whole, name) => variable(name, context)),
  /** `${env:NAME}` and `${file:path}`. */
  windsurf: (text, context) =>
    replaceMatches(text, /\$\{(env|file):([^{}]*)\}/g, (_whole, kind, name) =>
      kind === 'env' ? variable(name, context) : fileContent(name, context),
    ),
  /** `${env:NAME}`, `${userHome}`, `${workspaceFolder}` and their like; other references stay. */
  editor: (text, context) =>
    replaceMatches(text, /\$\{([^{}]*)\}/g, (whole, name) => editorValue(whole, name, context)),
  /** `$NAME`, `${NAME}`, `${NAME:-default}`, on Windows `%NAME%`; what is not set is empty. */
  'gemini-cli': (text, { env, host }) => {
    const bare = host.platform === 'win32' ? /\$([A-Za-z_]\w*)|%(\w{1,256})%/g : /\$([A-Za-z_]\w*)/g;
    const pattern = new RegExp(`${bare.source}|\\$\\{([^{}]+)\\}`, 'g');
    return replaceMatches(
      text,
      pattern,
      (_whole, ...names) => {
        const [name = '', fallback = ''] = (names.find((one) => one !== undefined) ?? '').split(/:-(.*)/s);
        return setValue(env, name) ?? fallback;
      },
      bare,
    );
  },
  /** `{env:NAME}`, which is empty when it is not set, and `{file:path}`. */
  opencode: (text, context) =>
    replaceMatches(text, /\{(env|file):([^{}]+)\}/g, (_whole, kind, name) => {
      if (kind === 'env') return setValue(context.env, name) ?? '';
      return fileContent(name, context);
    }),
  /** `{env:NAME}` and `{file:path}`, as it writes them for all hosts, and `${NAME}` and `${NAME:-default}` of its users. */
  'home-manager': (text, context) =>
    replaceMatches(
      text,
      /(?<!\$)\{(env|file):([^{}]+)\}|\$\{([A-Za-z_]\w*)(?::-([^{}]*))?\}/g,
      (_whole, kind, name, own, fallback) => {
        if (kind === 'file') return fileContent(name, context);
        if (kind === 'env') return variable(name, context);
        const found = variable(own, context);
        return typeof found === 'string' ? found : (fallback ?? found);
      },
    ),
  /** `${{ secrets.NAME }}`, which only Continue itself can look up. */
  continue: (text) =>
    replaceMatches(text, /\$\{\{([^{}]{0,256})\}\}/g, (_whole, written) => {
      const [kind = '', name] = written.trim().split(/\.(.*)/s);
      return name === undefined ? hostValue('value', kind) : hostValue(kind.replace(/s$/, ''), name);
    }),
} satisfies Record<
  string,
  (text: string, context: ExpansionContext) => { readonly text: string; readonly needs: readonly Need[] }
>;

export type Expansion = keyof typeof EXPANSIONS;

const hostValue = (what: string, name: string): Need => ({ kind: 'host-value', what, name });

const setValue = (env: Environment, name: string): string | undefined =>
  Object.hasOwn(env, name) ? env[name] : undefined;

const variable = (name: string, { env }: ExpansionContext): string | Need =>
  setValue(env, name) ?? { kind: 'variable', name };

const fileContent = (name: string, { contentOf }: ExpansionContext): string | Need =>
  contentOf(name)?.trim() ?? { kind: 'file', name };

function editorValue(whole: string, name: string, context: ExpansionContext): string | Need {
  const { host, workspace } = context;
  const rules = pathRules(host);
  const [kind = '', rest] = name.split(/:(.*)/s);
  if (rest !== undefined) {
    if (kind === 'env') return variable(rest, context);
    // An input is asked of the user, a command is run; both only by the host.
    return ['input', 'command', 'config', 'workspaceFolder'].includes(kind) ? hostValue(kind, rest) : whole;
  }
  switch (name) {
    case 'userHome':
      return host.home;
    case 'workspaceFolder':
      return workspace;
    case 'workspaceFolderBasename':
      return rules.basename(workspace);
    case 'pathSeparator':
    case '/':
      return rules.sep;
    default:
      return whole;
  }
}

/** Replaces each match by the value; of a need, the match stays. After the last brace only `bare` is looked for. */
function replaceMatches(
  text: string,
  pattern: RegExp,
  value: (whole: string, ...groups: string[]) => string | Need,
  bare?: RegExp,
) {
  const needs: Need[] = [];
  const [head, tail] = atLastBrace(text);
  const put = (whole: string, ...rest: unknown[]): string => {
    // After the groups come the offset and the whole text.
    const found = value(whole, ...(rest.slice(0, -2) as string[]));
    if (typeof found === 'string') return found;
    needs.push(found);
    return whole;
  };
  return { text: head.replace(pattern, put) + (bare === undefined ? tail : tail.replace(bare, put)), needs };
}

// `${NAME}` and `${NAME:-default}` as Claude Code replaces them in its configuration: nothing nested, no `$NAME`,
// a variable that is set but empty counts as set. Pure; the variables are passed in.

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^$}]|\$(?!\{))*))?\}/g;

/** `missing` names the variables that are neither set nor have a default; their references stay in the text. */
export function expand(
  text: string,
  env: Environment,
): { readonly text: string; readonly missing: readonly string[] } {
  const missing: string[] = [];
  const [head, tail] = atLastBrace(text);
  const expanded = head.replace(REFERENCE, (reference, name: string, fallback: string | undefined) => {
    const value = (Object.hasOwn(env, name) ? env[name] : undefined) ?? fallback;
    if (value !== undefined) return value;
    missing.push(name);
    return reference;
  });
  return { text: expanded + tail, missing };
}

/**
 * `text` in two: up to its last `}`, and what follows. No reference ends in the second part, and looking for an end from
 * each of many beginnings there would take time by the square of their number.
 */
function atLastBrace(text: string): readonly [string, string] {
  const end = text.lastIndexOf('}') + 1;
  return [text.slice(0, end), text.slice(end)];
}
