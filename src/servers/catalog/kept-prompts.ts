// Prompts of every server as it last listed them, one file for each server that has any, so that a host's menu is filled
// without starting a server. Loaded with the first question for prompts, and light: what asks a live server is in
// learned-prompts.ts. A file that is damaged is as none.

import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../base/files/replace-file.js';
import { excessOf } from '../../base/json/json-text.js';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless, clipHarmlessLine } from '../../base/text/text.js';
import { catalogKey, type DownstreamSpec } from '../../hosts/downstream-spec.js';

/** A prompt as a menu shows it. */
export type ServerPrompt = {
  /** The server's own name of it. */
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly arguments: ReadonlyArray<{
    readonly name: string;
    readonly description: string | undefined;
    readonly required: boolean;
  }>;
};

const FOLDER = join('cache', 'prompts');
/** Raised with every change that an older version would misread. */
const FORMAT = 1;
/** No menu is read to its end that has more than this. */
const MAX_PROMPTS = 500;
const MAX_ARGUMENTS = 50;
const MAX_TEXT_CHARS = 1_000;
const MAX_FILE_BYTES = MB_BYTES;
const LIMITS = { maxDepth: 16, maxValues: 200_000 };
/** A file that was not written for months is swept. */
const REWRITE_AFTER_MS = 24 * 60 * 60 * 1000;

export const promptsFolder = (stateDir: string): string => join(stateDir, FOLDER);

/** Empty where the server has none, or was never started. */
export function keptPrompts(stateDir: string, spec: DownstreamSpec): readonly ServerPrompt[] {
  const path = pathOf(stateDir, spec);
  try {
    if (statSync(path).size > MAX_FILE_BYTES) return [];
    const json = readFileSync(path, 'utf8');
    if (excessOf(json, LIMITS) !== undefined) return [];
    const { format, prompts } = Object(JSON.parse(json));
    return format === FORMAT ? usablePrompts(prompts) : [];
  } catch {
    return [];
  }
}

/** Keeps what a server lists; false where it is what was kept before. Throws what the file system says. */
export function keepPrompts(
  stateDir: string,
  spec: DownstreamSpec,
  listed: readonly ServerPrompt[],
): boolean {
  const path = pathOf(stateDir, spec);
  const found = statSync(path, { throwIfNoEntry: false });
  if (listed.length === 0) {
    if (found !== undefined) rmSync(path, { force: true });
    return found !== undefined;
  }
  const content = JSON.stringify({ format: FORMAT, server: spec.name, prompts: withinBytes(listed) });
  const isSame = found !== undefined && readFileSync(path, 'utf8') === content;
  if (!isSame || Date.now() - found.mtimeMs > REWRITE_AFTER_MS) replaceFile(path, content);
  return !isSame;
}

const pathOf = (stateDir: string, spec: DownstreamSpec): string =>
  join(promptsFolder(stateDir), `${catalogKey(spec)}.json`);

function withinBytes(prompts: readonly ServerPrompt[]): readonly ServerPrompt[] {
  let bytes = 4_096;
  return prompts.filter((prompt) => {
    bytes += Buffer.byteLength(JSON.stringify(prompt)) + 1;
    return bytes <= MAX_FILE_BYTES;
  });
}

/** Keeps the usable part of a list; icons and other members, which would have a host load something, stay behind. */
export function usablePrompts(items: unknown): readonly ServerPrompt[] {
  if (!Array.isArray(items)) return [];
  return items.slice(0, MAX_PROMPTS).flatMap((item) => {
    if (!isObject(item) || typeof item['name'] !== 'string') return [];
    const { name, title, description, arguments: args } = item;
    const listed = Array.isArray(args) ? args.slice(0, MAX_ARGUMENTS).filter(isObject) : [];
    return [
      { name, title: textOf(title), description: textOf(description), arguments: listed.flatMap(argumentIn) },
    ];
  });
}

function argumentIn({ name, description, required }: JsonObject): ServerPrompt['arguments'] {
  // A menu shows the name as the server has to get it back, so one that cannot be shown so stays behind.
  if (typeof name !== 'string' || clipHarmlessLine(name, MAX_TEXT_CHARS) !== name) return [];
  return [{ name, description: textOf(description), required: required === true }];
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? clipHarmless(value, MAX_TEXT_CHARS) : undefined;
