// The principals file: what each principal may reach and use, as YAML or JSON. Read like the policy file, as a whole or not at
// all: rules that are understood in part would open what their author has closed.

import type { z } from 'zod';
import { BridgeError } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless } from '../../base/text/text.js';
import { type DataFolder, openFolders, placedFolders } from '../../settings/files/data-folders.js';
import { strictYaml } from '../../settings/files/file-formats.js';
import { readGuarded } from '../../settings/files/guarded-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import {
  allowedAt,
  ENTRY_MAPS,
  fieldsAt,
  isSecretAt,
  type PrincipalEntry,
  type PrincipalsFile,
  principalsSchema,
} from './principals-table.js';

/** Thousands of principals. */
const MAX_FILE_BYTES = 4 * MB_BYTES;
const MAX_VALUE_CHARS = 120;
const MAX_PROBLEMS = 10;

/**
 * `issuers` are those whose tokens are taken: with several, a key that says no issuer would mean somebody of each of them.
 * Throws E_SETTINGS that names the file and each wrong field.
 */
export function readPrincipalsFile(
  file: string,
  issuers: readonly string[],
  host: HostFacts,
): PrincipalsFile {
  const read = readGuarded(file, MAX_FILE_BYTES, host);
  if (read.state === 'absent') throw unusableError(file, ['does not exist']);
  if (read.state === 'refused') throw unusableError(file, [read.message]);
  const text = strictYaml(read.text);
  if ('mistake' in text) throw unusableError(file, [text.mistake]);
  const parsed = principalsSchema.safeParse(text.value, { reportInput: true });
  const problems = parsed.success
    ? [...withoutExchange(parsed.data), ...withoutIssuer(parsed.data, issuers)]
    : parsed.error.issues.flatMap(complaints);
  if (!parsed.success || problems.length > 0) throw unusableError(file, problems.slice(0, MAX_PROBLEMS));
  return parsed.data;
}

/**
 * The data folders of each entry, as they are on the disk. Throws E_SETTINGS that names those which no code may see.
 */
export function openEntries(
  file: string,
  content: PrincipalsFile,
  stateDir: string,
  host: HostFacts,
): ReadonlyMap<PrincipalEntry, readonly DataFolder[]> {
  const problems: string[] = [];
  const opened = entriesOf(content).map(([path, entry]) => {
    const { folders, troubles } = openFolders(placedFolders(entry.data, host), { ...host, stateDir });
    problems.push(...troubles.map((trouble) => `'${clipValue(`${path}.data`)}': ${trouble}`));
    return [entry, folders] as const;
  });
  if (problems.length > 0) throw unusableError(file, problems.slice(0, MAX_PROBLEMS));
  return new Map(opened);
}

function unusableError(file: string, problems: readonly string[]): BridgeError {
  const lines = problems.map((problem) => `MCP_BRIDGE_PRINCIPALS: ${file}: ${problem}`);
  return new BridgeError('E_SETTINGS', lines.join('\n'), {
    fault: 'operator',
    remedy:
      'Correct the principals file; docs/principals.md has every field. The bridge does not start with a wrong one.',
  });
}

function complaints(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map(String);
  const field = clipValue(path.join('.'));
  if (issue.code === 'unrecognized_keys') {
    const known = fieldsAt(path);
    const within = field === '' ? '' : `${field}.`;
    return issue.keys.map(
      (key) =>
        `there is no field '${within}${clipValue(key)}'.${didYouMean(key, known)} Fields here: ${known.join(', ')}.`,
    );
  }
  const why = issue.code === 'custom' && !isSecretAt(path) ? ` (${issue.message})` : '';
  const got =
    issue.input === undefined
      ? 'missing'
      : isSecretAt(path)
        ? 'wrong'
        : clipValue(JSON.stringify(issue.input));
  const allowed = allowedAt(path) ?? `a map with ${fieldsAt(path).join(', ') || 'names as its keys'}`;
  return [`${field === '' ? 'the whole' : `'${field}'`} is ${got}${why}; allowed: ${allowed}.`];
}

/** Every entry with the path to it. */
export const entriesOf = (
  file: PrincipalsFile,
): readonly (readonly [path: string, entry: PrincipalEntry])[] => [
  ...(file.default === undefined ? [] : [['default', file.default] as const]),
  ...ENTRY_MAPS.flatMap((map) =>
    Object.entries(file[map]).map(([name, entry]) => [`${map}.${name}`, entry] as const),
  ),
];

function withoutExchange(file: PrincipalsFile): readonly string[] {
  const known = Object.keys(file.exchanges);
  return entriesOf(file).flatMap(([path, { headers }]) =>
    Object.entries(headers).flatMap(([server, sources]) =>
      Object.entries(sources).flatMap(([header, source]) => {
        if (typeof source === 'string' || !('exchange' in source) || known.includes(source.exchange))
          return [];
        const name = clipValue(source.exchange);
        const field = clipValue(`${path}.headers.${server}.${header}.exchange`);
        return [
          `'${field}' is '${name}'; allowed: a name in \`exchanges\`.${didYouMean(name, known) || ` There ${known.length === 0 ? 'is none' : `are: ${known.join(', ')}`}.`}`,
        ];
      }),
    ),
  );
}

function withoutIssuer(file: PrincipalsFile, issuers: readonly string[]): readonly string[] {
  if (issuers.length < 2) return [];
  return (['subjects', 'clients', 'groups'] as const).flatMap((map) =>
    Object.keys(file[map])
      .filter((key) => !issuers.some((issuer) => key.startsWith(`${issuer} `)))
      .map(
        (key) =>
          `'${map}.${clipValue(key)}' names no issuer, and there are several; allowed: one of ${issuers.join(', ')}, a space, and the name.`,
      ),
  );
}

const clipValue = (text: string): string => clipHarmless(text, MAX_VALUE_CHARS);
