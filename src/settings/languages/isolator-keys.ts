// The keys of isolator's configuration file: what each may be, and what it does here, for errors and the documentation.
// Which of them change nothing is said here too.

import { z } from 'zod';
import { MB_BYTES } from '../../base/text/sizes.js';
import { CPUS, DAY_SECONDS, MIN_MEMORY_BYTES, PIDS, WORD } from '../bounds.js';
import { imageReferenceTrouble } from '../image-reference.js';
import { DEFAULT_WORKDIR, workdirTrouble } from './workdir.js';

/** One key, as docs describe it. */
type IsolatorRow = { readonly key: string; readonly here: string; readonly allowed: string };

/** isolator's own default, beside its file. */
export const DEFAULT_PROMPTS_DIR = 'prompts';
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
export const isolatorKeys = z.looseObject({
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
export type IsolatorKeys = z.output<typeof isolatorKeys>;

const DOCS: Readonly<Record<keyof typeof isolatorKeys.shape, Omit<IsolatorRow, 'key'>>> = {
  defaultTimeoutSeconds: {
    here: 'Seconds of a run whose call does not say; never more than `MCP_BRIDGE_MAX_TIMEOUT`. `MCP_BRIDGE_TIMEOUT` comes first.',
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
    here: `The working directory, in memory, in place of \`${DEFAULT_WORKDIR}\`. One that would hide what the image or the sandbox needs is refused.`,
    allowed: `an absolute path in which nothing of the system lies, such as ${DEFAULT_WORKDIR} or /app`,
  },
  languageSettings: {
    here: "`image` of each language, by any of its names; our own image stands in for one that is not present, and a warning says so. `MCP_BRIDGE_LANGUAGE_IMAGES` comes first and, for Python, `MCP_BRIDGE_IMAGE`. TypeScript does not follow JavaScript's.",
    allowed: 'a map from languages to {"image": an image reference}',
  },
  promptsDir: {
    here: `The folder of snippets, relative to the file's own; without this key \`${DEFAULT_PROMPTS_DIR}\` beside the file, if it is there at the start. \`MCP_BRIDGE_SNIPPETS\` comes first.`,
    allowed: 'a path',
  },
  isolatorPath: { here: 'Nothing: there is no program of isolator to start.', allowed: 'anything' },
};

/** Every key, in the order of the documentation. */
export function isolatorTable(): readonly IsolatorRow[] {
  return Object.entries(DOCS).map(([key, doc]) => ({ key, ...doc }));
}

/** In words, for what stands at `path` of the file. */
export function allowedAt(path: readonly PropertyKey[]): string {
  const [key, , field] = path;
  if (field === 'image') return 'an image reference';
  const [, doc] = Object.entries(DOCS).find(([known]) => known === key) ?? [];
  return doc?.allowed ?? 'an object';
}

function networkTrouble(mode: string): string {
  if (mode === 'host') return "it would give programs the host's own network";
  if (mode.startsWith('container:')) return "it would give programs another container's network";
  return 'a network of that name is not joined';
}
