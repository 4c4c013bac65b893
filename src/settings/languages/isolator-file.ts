// isolator's configuration file, read as it is: what of it holds here, and a warning for each key that changes nothing.
// Read like a file that decides which programs run, and only where an operator names it. A wrong value stops the start.

import type { z } from 'zod';
import { BridgeError, messageOf } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless } from '../../base/text/text.js';
import { parseText } from '../files/file-formats.js';
import { readGuarded } from '../files/guarded-file.js';
import { absolutePath, type HostFacts, pathRules } from '../files/host-facts.js';
import type { ImportedSettings } from './imported-settings.js';
import { allowedAt, DEFAULT_PROMPTS_DIR, type IsolatorKeys, isolatorKeys } from './isolator-keys.js';
import { noSuchLanguage } from './naming.js';
import { languageNamed } from './records.js';

/** One for fifty languages has a hundredth of it. */
const MAX_FILE_BYTES = MB_BYTES;
const MAX_VALUE_CHARS = 120;
const MAX_PROBLEMS = 10;

type Deciding = { readonly explicitlySet: ReadonlySet<string>; readonly maxTimeoutSeconds: number };

/** Throws E_SETTINGS that names the file and each wrong key. `deciding` are the settings that come before it. */
export function readIsolatorFile(file: string, deciding: Deciding, host: HostFacts): ImportedSettings {
  const read = readGuarded(file, MAX_FILE_BYTES, host);
  if (read.state === 'absent') throw unusable(file, ['does not exist.']);
  if (read.state === 'refused') throw unusable(file, [`${read.message}.`]);
  const raw = plainValue(file, read.text);
  const parsed = isolatorKeys.safeParse(raw, { reportInput: true });
  if (!parsed.success) throw unusable(file, parsed.error.issues.slice(0, MAX_PROBLEMS).map(complaint));
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
    throw unusable(file, [`line ${parsed.line}, column ${parsed.column}: ${parsed.mistake}.`]);
  } catch (thrown) {
    // Nested deeper than the parser's stack.
    throw thrown instanceof BridgeError ? thrown : unusable(file, [`cannot be read: ${messageOf(thrown)}.`]);
  }
}

function warningsOf(said: IsolatorKeys, deciding: Deciding): string[] {
  const warnings: string[] = [];
  const { maxTimeoutSeconds: most } = deciding;
  const { defaultTimeoutSeconds: timeout, defaultCapDrop: capDrop } = said;
  if ('isolatorPath' in said) warnings.push('isolatorPath has no effect: no program of isolator is started.');
  if (timeout !== undefined && timeout > most && !deciding.explicitlySet.has('MCP_BRIDGE_TIMEOUT'))
    warnings.push(`defaultTimeoutSeconds is ${timeout}; runs get ${most}, which is MCP_BRIDGE_MAX_TIMEOUT.`);
  if (said.defaultNetworkMode === 'outbound' && !deciding.explicitlySet.has('MCP_BRIDGE_NETWORK'))
    warnings.push(
      'defaultNetworkMode opens the network for every language; MCP_BRIDGE_NETWORK can name those that need it, or none.',
    );
  if (capDrop !== undefined && !capDrop.some((name) => /^all$/i.test(name)))
    warnings.push(
      `defaultCapDrop is ${shown(JSON.stringify(capDrop))}, without effect: all capabilities are dropped.`,
    );
  if (said.defaultReadOnlyRootfs === false)
    warnings.push('defaultReadOnlyRootfs is false, without effect: the root file system is read-only.');
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
    const key = `languageSettings.${shown(name)}`;
    if (language === undefined) warnings.push(`${key} has no effect. ${noSuchLanguage(name)}`);
    else if (images.has(language.name))
      warnings.push(`${key} has no effect: ${language.title} is there twice.`);
    else if (entry.image !== undefined) images.set(language.name, entry.image);
    warnings.push(...unknownKeys(entry, ['image'], `${key}.`));
  }
  return { images, warnings };
}

const unknownKeys = (value: object, known: readonly string[], prefix: string): string[] =>
  Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `${prefix}${shown(key)} has no effect here.${didYouMean(key, known)}`);

function complaint(issue: z.core.$ZodIssue): string {
  const name = issue.path.join('.');
  const got = issue.input === undefined ? 'missing' : shown(JSON.stringify(issue.input));
  const why = issue.code === 'custom' ? ` (${issue.message})` : '';
  return `${name === '' ? 'the whole' : `'${shown(name)}'`} is ${got}${why}; allowed: ${allowedAt(issue.path)}.`;
}

function unusable(file: string, problems: readonly string[]): BridgeError {
  const lines = problems.map((problem) => `MCP_BRIDGE_ISOLATOR_CONFIG: ${file}: ${problem}`);
  return new BridgeError('E_SETTINGS', lines.join('\n'), {
    fault: 'operator',
    remedy:
      'Correct the file, or the variable that names it, then restart the host: it is read only at the start.',
  });
}

const shown = (text: string): string => clipHarmless(text, MAX_VALUE_CHARS);
