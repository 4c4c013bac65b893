// isolator's configuration file, read as it is: what of it holds here, and a warning for each key that changes nothing.
// Read like a file that decides which programs run, and only where an operator names it. A wrong value stops the start.

import { z } from 'zod';
import { BridgeError, messageOf } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless } from '../../base/text/text.js';
import { CPUS, DAY_SECONDS, imageReferenceTrouble, MIN_MEMORY_BYTES, PIDS, WORD } from '../bounds.js';
import { parseText } from '../files/file-formats.js';
import { readGuarded } from '../files/guarded-file.js';
import { absolutePath, type HostFacts, pathRules } from '../files/host-facts.js';
import { DEFAULT_WORKDIR, languageNamed, noSuchLanguage, workdirTrouble } from './records.js';

/** One for fifty languages has a hundredth of it. */
const MAX_FILE_BYTES = MB_BYTES;
const MAX_VALUE_CHARS = 120;
const MAX_PROBLEMS = 10;

/** Throws E_SETTINGS that names the file and each wrong key. `deciding` are the settings that come before it. */
export function readIsolatorFile(
  file: string,
  deciding: { readonly explicitlySet: ReadonlySet<string>; readonly maxTimeoutSeconds: number },
  host: HostFacts,
): ImportedSettings {
  const read = readGuarded(file, MAX_FILE_BYTES, host);
  if (read.state === 'absent') throw unusableError(file, ['does not exist.']);
  if (read.state === 'refused') throw unusableError(file, [`${read.message}.`]);
  const raw = plainValue(file, read.text);
  const parsed = isolatorKeys.safeParse(raw, { reportInput: true });
  if (!parsed.success) throw unusableError(file, parsed.error.issues.slice(0, MAX_PROBLEMS).map(complaint));
  const said = parsed.data;
  const { defaultMemoryMB: memoryMb } = said;
  const languages = readLanguages(said.languageSettings);
  return {
    source: "isolator's file",
    file,
    timeoutSeconds: said.defaultTimeoutSeconds,
    memoryBytes: memoryMb === undefined ? undefined : memoryMb * MB_BYTES,
    cpus: said.defaultCpus,
    pids: said.defaultPidsLimit,
    network: said.defaultNetworkMode,
    workdir: said.defaultContainerWorkdir,
    images: languages.images,
    snippetsDir: snippetsDirOf(said, file, host),
    warnings: [...warningsOf(said, deciding), ...languages.warnings],
  };
}

/** Where the file names none it is `prompts` beside it, if that is there. */
function snippetsDirOf({ promptsDir }: IsolatorKeys, file: string, host: HostFacts): string | undefined {
  const { dirname, join } = pathRules(host);
  if (promptsDir !== undefined) return absolutePath(promptsDir, dirname(file), host);
  const beside = join(dirname(file), DEFAULT_PROMPTS_DIR);
  return host.exists(beside) ? beside : undefined;
}

function plainValue(file: string, text: string): unknown {
  try {
    const parsed = parseText(text, 'JSON');
    if ('value' in parsed) return parsed.value;
    throw unusableError(file, [`line ${parsed.line}, column ${parsed.column}: ${parsed.mistake}.`]);
  } catch (thrown) {
    // Nested deeper than the parser's stack.
    throw thrown instanceof BridgeError
      ? thrown
      : unusableError(file, [`cannot be read: ${messageOf(thrown)}.`]);
  }
}

function warningsOf(said: IsolatorKeys, deciding: Parameters<typeof readIsolatorFile>[1]): string[] {
  const warnings: string[] = [];
  const { maxTimeoutSeconds: most } = deciding;
  const { defaultTimeoutSeconds: timeout, defaultCapDrop: capDrop } = said;
  if ('isolatorPath' in said)
    warnings.push('isolatorPath has no effect: the bridge does not start isolator.');
  if (timeout !== undefined && timeout > most && !deciding.explicitlySet.has('MCP_BRIDGE_TIMEOUT'))
    warnings.push(
      `defaultTimeoutSeconds is ${timeout}, but MCP_BRIDGE_MAX_TIMEOUT is ${most}: runs get ${most}.`,
    );
  if (said.defaultNetworkMode === 'outbound' && !deciding.explicitlySet.has('MCP_BRIDGE_NETWORK'))
    warnings.push(
      'defaultNetworkMode opens the network for every language; MCP_BRIDGE_NETWORK can name those that need it, or none.',
    );
  if (capDrop !== undefined && !capDrop.some((name) => /^all$/i.test(name)))
    warnings.push(
      `defaultCapDrop is ${clipValue(JSON.stringify(capDrop))}, which has no effect: all capabilities are dropped.`,
    );
  if (said.defaultReadOnlyRootfs === false)
    warnings.push('defaultReadOnlyRootfs is false, which has no effect: the root file system is read-only.');
  return [...warnings, ...unknownKeys(said, Object.keys(isolatorKeys.shape), '')];
}

function readLanguages(settings: IsolatorKeys['languageSettings']): {
  readonly images: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
} {
  const images = new Map<string, string>();
  const warnings: string[] = [];
  for (const [name, entry] of Object.entries(settings)) {
    const language = languageNamed(name);
    const key = `languageSettings.${clipValue(name)}`;
    if (language === undefined) warnings.push(`${key} has no effect. ${noSuchLanguage(name)}`);
    else if (images.has(language.name))
      warnings.push(`${key} has no effect: ${language.title} is given twice.`);
    else if (entry.image !== undefined) images.set(language.name, entry.image);
    warnings.push(...unknownKeys(entry, ['image'], `${key}.`));
  }
  return { images, warnings };
}

const unknownKeys = (value: object, known: readonly string[], prefix: string): string[] =>
  Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `${prefix}${clipValue(key)} has no effect here.${didYouMean(key, known)}`);

function complaint(issue: z.core.$ZodIssue): string {
  const name = issue.path.join('.');
  const got = issue.input === undefined ? 'missing' : clipValue(JSON.stringify(issue.input));
  const why = issue.code === 'custom' ? ` (${issue.message})` : '';
  return `${name === '' ? 'the file' : `'${clipValue(name)}'`} is ${got}${why}; allowed: ${allowedAt(issue.path)}.`;
}

function unusableError(file: string, problems: readonly string[]): BridgeError {
  const lines = problems.map((problem) => `MCP_BRIDGE_ISOLATOR_CONFIG: ${file}: ${problem}`);
  return new BridgeError('E_SETTINGS', lines.join('\n'), {
    fault: 'operator',
    remedy:
      'Correct the file, or the variable that names it. Then restart the host: the file is read only at the start.',
  });
}

const clipValue = (text: string): string => clipHarmless(text, MAX_VALUE_CHARS);

// The keys of isolator's configuration file: what each may be, and what it does here, for errors and the documentation.
// Which of them change nothing is said here too.

/** isolator's own default, beside its file. */
const DEFAULT_PROMPTS_DIR = 'prompts';
const MEMORY_MB = { min: MIN_MEMORY_BYTES / MB_BYTES, max: 1024 ** 2 } as const;
/** Docker's own words for a network of one's own with a way out. */
const OUTBOUND = ['bridge', 'default'];

const workdir = z
  .string()
  .transform((path) => path.replace(/(?<=^\/|[^/])\/+$/, ''))
  .refine((path) => workdirTrouble(path) === undefined, {
    error: ({ input }) => `${workdirTrouble(String(input))}`,
  });
const networkMode = z
  .string()
  .refine((mode) => mode === 'none' || OUTBOUND.includes(mode), {
    error: ({ input }) => networkTrouble(String(input)),
  })
  .transform((mode) => (mode === 'none' ? ('none' as const) : ('outbound' as const)));
const image = z
  .string()
  .regex(WORD, { abort: true })
  .refine((text) => imageReferenceTrouble(text) === undefined, {
    error: ({ input }) => `${imageReferenceTrouble(String(input))}`,
  });
const languageSettings = z.record(z.string(), z.looseObject({ image: image.optional() }));

/** Whatever else the file has is kept, to be told of. */
const isolatorKeys = z.looseObject({
  defaultTimeoutSeconds: z.int().min(1).max(DAY_SECONDS).optional(),
  defaultMemoryMB: z.int().min(MEMORY_MB.min).max(MEMORY_MB.max).optional(),
  defaultCpus: z.number().min(CPUS.min).max(CPUS.max).optional(),
  defaultPidsLimit: z.int().min(PIDS.min).max(PIDS.max).optional(),
  defaultNetworkMode: networkMode.optional(),
  defaultCapDrop: z.array(z.string()).optional(),
  defaultReadOnlyRootfs: z.boolean().optional(),
  defaultContainerWorkdir: workdir.optional(),
  languageSettings: languageSettings.default({}),
  promptsDir: z.string().min(1).optional(),
  isolatorPath: z.unknown().optional(),
});
type IsolatorKeys = z.output<typeof isolatorKeys>;

const DOCS: Readonly<
  Record<keyof typeof isolatorKeys.shape, { readonly here: string; readonly allowed: string }>
> = {
  defaultTimeoutSeconds: {
    here: 'Seconds of a run if its call sets no time; never more than `MCP_BRIDGE_MAX_TIMEOUT`. `MCP_BRIDGE_TIMEOUT` comes first.',
    allowed: `a whole number from 1 to ${DAY_SECONDS}`,
  },
  defaultMemoryMB: {
    here: 'Memory, for every language, files included. `MCP_BRIDGE_MEMORY` comes first.',
    allowed: `a whole number of megabytes from ${MEMORY_MB.min} to ${MEMORY_MB.max}`,
  },
  defaultCpus: {
    here: 'CPUs. `MCP_BRIDGE_CPUS` comes first.',
    allowed: `a number from ${CPUS.min} to ${CPUS.max}`,
  },
  defaultPidsLimit: {
    here: 'Processes and threads. `MCP_BRIDGE_PIDS` comes first.',
    allowed: `a whole number from ${PIDS.min} to ${PIDS.max}`,
  },
  defaultNetworkMode: {
    here: '`bridge` and `default` open the network for every language, and a warning says so. `MCP_BRIDGE_NETWORK` comes first.',
    allowed: 'none, bridge or default',
  },
  defaultCapDrop: {
    here: 'Nothing: all capabilities are dropped, always.',
    allowed: 'a list of names',
  },
  defaultReadOnlyRootfs: {
    here: 'Nothing: the root file system is read-only, always.',
    allowed: 'true or false',
  },
  defaultContainerWorkdir: {
    here: `The working directory, in memory, in place of \`${DEFAULT_WORKDIR}\`. A folder that would hide what the image or the sandbox needs is refused.`,
    allowed: `an absolute path in which nothing of the system lies, such as ${DEFAULT_WORKDIR} or /app`,
  },
  languageSettings: {
    here: "`image` of each language, by any of its names; if an image is not here, ours is used, with a warning. `MCP_BRIDGE_LANGUAGE_IMAGES` comes first and, for Python, `MCP_BRIDGE_IMAGE`. TypeScript does not follow JavaScript's.",
    allowed: 'a map from languages to {"image": an image reference}',
  },
  promptsDir: {
    here: `The folder of snippets, relative to the file's own; without this key \`${DEFAULT_PROMPTS_DIR}\` beside the file, if it is there at the start. \`MCP_BRIDGE_SNIPPETS\` comes first.`,
    allowed: 'a path',
  },
  isolatorPath: { here: 'Nothing: the bridge does not start isolator.', allowed: 'anything' },
};

/** Every key, in the order of the documentation. */
export function isolatorTable() {
  return Object.entries(DOCS).map(([key, doc]) => ({ key, ...doc }));
}

/** Allowed values, in words, for what stands at `path` of the file. */
export function allowedAt(path: readonly PropertyKey[]): string {
  const [key, , field] = path;
  if (field === 'image') return 'an image reference';
  const [, doc] = Object.entries(DOCS).find(([known]) => known === key) ?? [];
  return doc?.allowed ?? 'an object';
}

function networkTrouble(mode: string): string {
  if (mode === 'host') return "it would give programs the machine's own network";
  if (mode.startsWith('container:')) return "it would give programs another container's network";
  return 'the bridge joins no network of that name';
}

/** Settings that the configuration of another program has for running code, in our units; undefined where it says nothing. */
export type ImportedSettings = {
  /** Name of the configuration in a sentence, such as `isolator's file`. */
  readonly source: string;
  readonly file: string;
  readonly timeoutSeconds: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly cpus: number | undefined;
  readonly pids: number | undefined;
  readonly network: 'none' | 'outbound' | undefined;
  readonly workdir: string | undefined;
  /** Images, by a language's own name. */
  readonly images: ReadonlyMap<string, string>;
  /** Absolute. */
  readonly snippetsDir: string | undefined;
  /** A sentence for each thing that it says in vain, or that is better known. */
  readonly warnings: readonly string[];
};
