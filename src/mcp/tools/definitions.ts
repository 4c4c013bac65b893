// The tools as agents see them, and the arguments that they take. Apart from what the tools do (run-python.ts, execute-code.ts,
// execute.ts), which is loaded when a tool is first called: what is made here is in the way of each start.

import { z } from 'zod';
import { MB_BYTES } from '../../base/text/sizes.js';
import { nameList } from '../../base/text/text.js';
import { definitionFor, type ExecuteLimits } from '../../code-exec/execute-definition.js';
import { type ArgumentTable, propertiesOf } from '../../code-exec/tool-arguments.js';
import { profiles, readOwnName } from '../../engine/images/image-name.js';
import { modulesOf, type Recipe, readRecipe, recipeOf } from '../../engine/images/recipe.js';
import type { RenderMode } from '../../run/answer/render.js';
import { PLAIN_NAME } from '../../run/artifacts/file-names.js';
import type { CallContext } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { bestKnownFirst, type ImageFacts, lastFacts } from '../../sandbox/python/image-facts.js';
import { OLDEST_PYTHON, WORK } from '../../sandbox/spec/promises.js';
import { networkedLanguages, offeredLanguages } from '../../settings/environment/plan.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { ToolName } from '../../settings/environment/variables.js';
import type { DataFolder } from '../../settings/files/data-folders.js';
import { callsTools, type Language } from '../../settings/languages/records.js';
import type { Bridge } from '../../tenant/bridge.js';
import { MAX_INPUT_BYTES } from '../../wire/limits.js';

/** A tool as tools/list tells of it. */
export type ToolDefinition = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown };
  readonly annotations: Readonly<Record<string, boolean | string>>;
  readonly _meta: Readonly<Record<string, unknown>>;
};

/**
 * Answer to a call, before it is shown as the call's client can read it. One that has a `result` is a CallToolResult that is
 * finished, a server's where it `isRelayed`. Only what does not show is changed in either.
 */
export type ToolAnswer =
  | Outcome
  | { readonly result: Readonly<Record<string, unknown>>; readonly isRelayed: boolean };

/** More would not fit any model's turn; 1 MB of code is data in the wrong place. */
const MAX_CODE_CHARS = 1_000_000;

/** Code may do anything that the servers of its run allow. */
const ANNOTATIONS = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
} as const;

/**
 * Output, errors and value of 40,000 characters each, the longest traceback of 34,000 with its message, files of 8,000
 * shown inline, and the addresses of what is kept. Of a result above 50,000 characters or 25,000 tokens Claude Code shows
 * the model the first 2,000, the rest lies in a file, unless the definition allows more; it takes at most 500,000.
 */
const MAX_RESULT_CHARS = 170_000;

/** Hints for Claude Code, which otherwise shows the model a tool's name alone, and of long results the beginning. */
const metaFor = (searchHint: string) => ({
  'anthropic/alwaysLoad': true,
  'anthropic/searchHint': searchHint,
  'anthropic/maxResultSizeChars': MAX_RESULT_CHARS,
});

/** How `wait` and `stop` stand in the schemas of tools; a call with one of them is taken before its tool sees it. */
const GO_ON_PROPERTIES = {
  wait: { type: 'string', description: 'Handle of a run: its rest' },
  stop: { type: 'string', description: 'Handle of a run: ends it' },
};

const TEXT = { type: 'string' };
const TEXTS = { type: 'array', items: TEXT };

/** Arguments that both tools for code take, each of which says something else of them. */
const serversArgument = <T>(told: T) => ({
  told,
  allowed: 'a list of server names, such as ["github"]',
  check: () => z.array(z.string()).default([]),
});
const modeArgument = <T>(told: T) => ({
  told,
  allowed: '"plan", or nothing',
  check: () => z.enum(['plan']).optional(),
});
const timeoutWithin = (maxSeconds: number) => `a whole number of seconds from 1 to ${maxSeconds}`;

export const runPythonArguments = ({ timeoutSeconds, maxTimeoutSeconds, sessions }: Settings) =>
  ({
    code: {
      told: { ...TEXT, description: 'Python source' },
      allowed: `a non-empty string of at most ${MAX_CODE_CHARS} characters`,
      check: () =>
        z
          .string()
          .max(MAX_CODE_CHARS)
          .refine((code) => code.trim() !== ''),
    },
    servers: serversArgument({ ...TEXTS, description: 'MCP servers to load, by name; "*" for all' }),
    files: {
      told: {
        type: 'array',
        description: 'Put into the working directory; text or base64',
        items: {
          type: 'object',
          properties: { name: TEXT, text: TEXT, base64: TEXT },
          required: ['name'],
        },
      },
      allowed: 'a list of files',
      // Checked one by one, with sentences of their own (input-files.ts).
      check: () => z.unknown().optional(),
    },
    mode: modeArgument({ enum: ['plan'], description: 'Dry run: lists the first writes' }),
    timeout: {
      told: {
        type: 'integer',
        minimum: 1,
        maximum: maxTimeoutSeconds,
        default: timeoutSeconds,
        description: 'Seconds',
      },
      allowed: timeoutWithin(maxTimeoutSeconds),
      check: () => z.int().min(1).max(maxTimeoutSeconds).default(timeoutSeconds),
    },
    session: {
      told: sessions.most === 0 ? undefined : { ...TEXT, description: 'Calls with one name share state' },
      allowed:
        'a name of letters, digits, spaces and ._- with at most 64 characters, or the handle of a session',
      check: () =>
        z
          .string()
          .regex(/^[\p{L}\p{N}_][\p{L}\p{N} ._-]{0,63}$/u)
          .optional(),
    },
    require_session: {
      told: sessions.most === 0 ? undefined : { type: 'boolean' },
      allowed: 'true or false',
      check: () => z.boolean().default(false),
    },
  }) satisfies ArgumentTable;

const describe = (
  python: string,
): string => `Run ${python}, in a fresh, isolated container (no network, read-only) with the user's MCP servers callable inside. Name them in \`servers\`, then: r = await mcp_<alias>.<tool>(arg=...). Top-level await works; use asyncio.gather for many calls. You get printed output, the last expression's value and pictures (runtime.display).
Find tools first: from mcp import runtime; runtime.discovered_servers(); await runtime.query_tool_docs("server"); await runtime.search_tool_docs("query"); runtime.capability_summary().
Results are data (r["id"] or r.id); a failing tool raises runtime.MCPError. Each call starts clean; files written to out/ come back.`;

export const runPythonDefinition = (settings: Settings): ToolDefinition => ({
  name: 'run_python',
  title: 'Run Python with MCP tools',
  // Read at each listing, since what the image holds may become known meanwhile.
  get description() {
    return describe(pythonWords(settings));
  },
  inputSchema: {
    type: 'object',
    properties: { ...propertiesOf(runPythonArguments(settings)), ...GO_ON_PROPERTIES },
    additionalProperties: false,
  },
  annotations: ANNOTATIONS,
  _meta: metaFor('run python code, call MCP tools'),
});

/** Tools whose code sees data folders, with a sentence that ends the line about them. */
const DATA_SENTENCES: ReadonlyMap<string, string> = new Map([
  ['run_python', ' runtime.data() lists them.'],
  ['execute_code', ''],
]);

/** These tools, with a line about the folders that code may see now at the end of descriptions. No folders add no line. */
export function withDataLine(
  tools: readonly ToolDefinition[],
  folders: readonly DataFolder[],
): readonly ToolDefinition[] {
  if (folders.length === 0) return tools;
  const inWords = ({ target, isWritable }: DataFolder) => (isWritable ? `${target} (writable)` : target);
  const access = folders.every(({ isWritable }) => !isWritable) ? ', read-only' : '';
  const line = `\nThe user's files: ${nameList(folders.map(inWords))}${access}.`;
  return tools.map((tool) => {
    const sentence = DATA_SENTENCES.get(tool.name);
    return sentence === undefined ? tool : { ...tool, description: `${tool.description}${line}${sentence}` };
  });
}

/** `python, go or ruby`. */
export function oneOf(offered: readonly Language[]): string {
  const names = offered.map(({ name }) => name);
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

export function executeCodeArguments(settings: Settings) {
  const { maxTimeoutSeconds } = settings;
  const offered = offeredLanguages(settings);
  const withTools = offered.filter(callsTools).map(({ name }) => name);
  const ifTools = <T>(told: T): T | undefined => (withTools.length === 0 ? undefined : told);
  return {
    language: {
      told: { ...TEXT, enum: offered.map(({ name }) => name) },
      allowed: oneOf(offered),
      check: () => z.string().optional(),
    },
    entrypoint_code: {
      told: { ...TEXT, description: 'Main file' },
      allowed: `well-formed text that is not empty, of at most ${MAX_CODE_CHARS} characters`,
      check: () =>
        z
          .string()
          .max(MAX_CODE_CHARS)
          .refine((code) => code.trim() !== '' && code.isWellFormed())
          .optional(),
      otherNames: ['code', 'source'],
    },
    entrypoint_filename: {
      told: TEXT,
      allowed: PLAIN_NAME,
      check: () => z.string().optional(),
      otherNames: ['filename', 'file'],
    },
    additional_files: {
      told: {
        type: 'array',
        description: 'Beside it; binary as base64',
        items: {
          type: 'object',
          properties: {
            filename: TEXT,
            content: TEXT,
            encoding: { ...TEXT, enum: ['utf8', 'base64'] },
          },
          required: ['filename', 'content'],
        },
      },
      allowed: 'a list of files',
      // Checked one by one, with sentences of their own (input-files.ts).
      check: () => z.unknown().optional(),
      otherNames: ['files'],
    },
    snippet_name: {
      told: { ...TEXT, description: 'Stored program' },
      allowed: "a snippet's name",
      check: () => z.string().optional(),
      otherNames: ['name'],
    },
    args: {
      told: TEXTS,
      allowed: 'a list of texts, such as ["--all", "x.csv"]',
      check: () => z.array(z.string()).default([]),
      otherNames: ['argv', 'arguments'],
    },
    env: {
      told: { type: 'object', additionalProperties: TEXT },
      allowed: 'an object of texts by their names, such as {"TZ": "Asia/Tokyo"}',
      check: () => z.record(z.string(), z.string()).default({}),
      otherNames: ['environment', 'env_vars'],
    },
    stdin: {
      told: TEXT,
      allowed: `well-formed text of at most ${MAX_INPUT_BYTES / MB_BYTES} MiB`,
      check: () =>
        z
          .string()
          .refine((text) => text.isWellFormed() && Buffer.byteLength(text) <= MAX_INPUT_BYTES)
          .optional(),
      otherNames: ['input'],
    },
    servers: serversArgument(
      ifTools({ ...TEXTS, description: `MCP servers; only for ${withTools.join(', ')}` }),
    ),
    mode: modeArgument(ifTools({ enum: ['plan'] })),
    timeout: {
      told: { type: 'integer', minimum: 1, maximum: maxTimeoutSeconds, description: 'Seconds' },
      allowed: timeoutWithin(maxTimeoutSeconds),
      check: () => z.int().min(1).max(maxTimeoutSeconds).optional(),
    },
  } satisfies ArgumentTable;
}

export const executeCodeDefinition = (settings: Settings): ToolDefinition => ({
  name: 'execute_code',
  title: 'Run a program',
  description: programsDescription(offeredLanguages(settings), settings),
  inputSchema: {
    type: 'object',
    properties: { ...propertiesOf(executeCodeArguments(settings)), ...GO_ON_PROPERTIES },
    additionalProperties: false,
  },
  annotations: ANNOTATIONS,
  _meta: metaFor('execute code'),
});

/** How a program calls a tool. */
const CALLS: Readonly<Record<Language['tools'], string>> = {
  none: '',
  python: 'in Python await mcp_<alias>.<tool>(arg=...)',
  javascript: 'in JavaScript await mcp_<alias>.<tool>({arg: ...})',
};

function programsDescription(offered: readonly Language[], settings: Settings): string {
  const online = networkedLanguages(settings, offered);
  const network = online.length === 0 ? '' : ` but for ${online.join(', ')}`;
  const calls = new Set(offered.map((language) => CALLS[language.tools]).filter((call) => call !== ''));
  const tools = calls.size === 0 ? '' : ` Tools of \`servers\`: ${[...calls].join(', ')}.`;
  return `Run a program of one or more files in a fresh, isolated container (no network${network}, standard library, nothing to install). Pass language and entrypoint_code, or snippet_name alone.
You get stdout, stderr, and the files that the program writes to out/. Each call starts clean.${tools}`;
}

/** Limits of `execute` where a container of its own runs the command. */
export const limitsOf = ({
  timeoutSeconds,
  maxTimeoutSeconds,
  executeOutputBytes,
}: Settings): ExecuteLimits => ({
  timeoutMs: timeoutSeconds * 1000,
  maxTimeoutMs: maxTimeoutSeconds * 1000,
  workdir: WORK,
  maxOutputBytes: executeOutputBytes,
});

/** Defines `execute`, whether a configured server answers it or a container of its own. */
export function executeDefinition(settings: Settings): ToolDefinition {
  const definition = definitionFor(settings.executeServer === undefined ? limitsOf(settings) : undefined);
  const { required: _required, properties, ...schema } = definition.inputSchema;
  return {
    ...definition,
    inputSchema: { ...schema, properties: { ...properties, ...GO_ON_PROPERTIES } },
    _meta: metaFor('run a shell command'),
  };
}

const DEFINITIONS: Readonly<Record<ToolName, (settings: Settings) => ToolDefinition>> = {
  run_python: runPythonDefinition,
  execute_code: executeCodeDefinition,
  execute: executeDefinition,
};

const made = new WeakMap<Settings, readonly ToolDefinition[]>();

/** The tools that the operator offers, in their order; made once for these settings, since each request may ask for them. */
export function offeredTools(settings: Settings): readonly ToolDefinition[] {
  const known = made.get(settings);
  if (known !== undefined) return known;
  const tools = settings.tools.map((name) => DEFINITIONS[name](settings));
  made.set(settings, tools);
  return tools;
}

/** Whether there are snippets to name: a tool runs them, and a folder holds them. */
export const offersSnippets = ({ tools }: Settings, folder: string | undefined): boolean =>
  tools.includes('execute_code') && folder !== undefined;

// Which Python the model is told that it writes for, in a few words. From what is on disk: the last image that these
// settings have led to, else what their image is sure to have, since a list of tools starts nothing and asks nobody.

/** The list of tools has to stay short, whatever an image holds. */
const MAX_MODULES_CHARS = 70;
/** Python of the releases of Debian that recipes are built of. */
const DEBIAN_PYTHON: Readonly<Record<string, string>> = { bullseye: '3.9', bookworm: '3.11', trixie: '3.13' };
/** Tags of the official image, and of those that follow it, begin with the version. */
const OFFICIAL = /(?:^|\/)python:(3\.\d{1,2})(?![\d])/;
/** Such as `Python 3.13, standard library`, or `Python 3.13 with numpy, pandas and 3 more`. */
export function pythonWords(settings: Settings): string {
  const known = lastFacts(settings);
  if (known !== undefined && known.modules !== null) return inWords(known.python, known.modules);
  const { version, modules } = expected(settings);
  return inWords(known?.python ?? version, modules);
}

/** Version and modules that the image is sure to have, as far as its name tells. */
function expected({ image, explicitlySet }: Settings) {
  const orLater = (version: string) => `${version} or later`;
  const own = readOwnName(image);
  const recipe = own === undefined ? profileRecipe(image) : recipeOf(own);
  if (recipe !== undefined) {
    const built = DEBIAN_PYTHON[own?.suite ?? recipe.suite] ?? OLDEST_PYTHON;
    return { version: own?.suite === undefined ? orLater(built) : built, modules: modulesOf(recipe) };
  }
  // Our own image stands in for the default where that cannot be had, and is the older of the two.
  if (!explicitlySet.has('MCP_BRIDGE_IMAGE'))
    return { version: orLater(DEBIAN_PYTHON[readRecipe('base').suite] ?? OLDEST_PYTHON), modules: [] };
  return { version: OFFICIAL.exec(image)?.[1] ?? orLater(OLDEST_PYTHON), modules: null };
}

const profileRecipe = (image: string): Recipe | undefined =>
  profiles().includes(image) ? readRecipe(image) : undefined;

function inWords(version: string, modules: ImageFacts['modules']): string {
  if (modules === null) return `Python ${version}`;
  if (modules.length === 0) return `Python ${version}, standard library`;
  const shown: string[] = [];
  for (const name of bestKnownFirst(modules)) {
    if ([...shown, name].join(', ').length > MAX_MODULES_CHARS) break;
    shown.push(name);
  }
  const more = modules.length - shown.length;
  return `Python ${version} with ${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}

// A tool as data, and the one interface by which tools run. A tool says what it is and turns arguments into an
// Outcome; listing, rendering, progress and error text are the same for all of them. One that others offer as well
// answers as they do, with a result that is finished.

export type BridgeTool<A extends ToolAnswer = ToolAnswer> = {
  readonly definition: ToolDefinition;
  /** Form of this tool's answers where the operator has chosen none. */
  readonly outputMode: RenderMode;
  /** `args` are clean (tools/arguments.ts). Never rejects for bad arguments: that is an Outcome too. */
  readonly call: (args: unknown, context: CallContext, bridge: Bridge) => Promise<A>;
};
