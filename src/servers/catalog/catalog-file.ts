// One server's file in the catalog: what it said of itself when it was last asked, and what each of its tools was when
// it was first seen. Written whole, capped, private to the user. A file that is damaged or somebody else's is as none.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { excessOf } from '../../base/json/json-text.js';
import { isObject } from '../../base/json/records.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clip } from '../../base/text/text.js';
import { MAX_TOOLS, readTool, SCHEMA_LIMITS, type ServerTool } from '../server/tool-list.js';

/** Facts about a tool from the day that it was first seen, or last accepted. */
export type FirstSeen = {
  /** The day, as 2026-11-22. */
  readonly on: string;
  readonly digest: ToolDigest;
  /** Parts of the tool that are different now; empty where none is. */
  readonly changed: ReadonlyArray<keyof ToolDigest>;
  /**
   * The tool's text on that day, cut short, for whoever is to accept the change; undefined where nothing changed, or nobody
   * knows.
   */
  readonly was: { readonly description: string; readonly parameters: readonly string[] } | undefined;
};

export type CatalogFile = {
  readonly version: string | undefined;
  readonly instructions: string | undefined;
  readonly tools: readonly ServerTool[];
  /** First sight of each tool by the tool's name, also of tools that are gone. */
  readonly firstSeen: ReadonlyMap<string, FirstSeen>;
};

/** Raised with every change that an older version would misread; a file of another format is as none. */
const FORMAT = 1;
/** Largest catalog of one server. The largest that was measured has 80 KB; a list of tools may have up to 8 MB. */
const MAX_FILE_BYTES = 4 * MB_BYTES;
/** Beyond what is shown of them. */
const MAX_INSTRUCTIONS_CHARS = 32_000;
const MAX_VERSION_CHARS = 200;
/** Tools that are gone keep their first sight, so that a removed one cannot come back as another; the oldest go first. */
const MAX_FIRST_SEEN = 2 * MAX_TOOLS;
/** The file's own levels around a schema. */
const LIMITS = { maxDepth: SCHEMA_LIMITS.maxDepth + 8, maxValues: 500_000 };
/** A server that was not started for so long is forgotten, and of very many the oldest are. */
const MAX_AGE_MS = 180 * 24 * 60 * 60 * 1000;
const MAX_FILES = 1_000;

// The object itself: zod's copy of it would leave out a tool called `__proto__`.
const object = z.custom<Readonly<Record<string, unknown>>>(isObject);
const text = z.string().nullable().catch(null);
const file = z.object({
  format: z.literal(FORMAT),
  version: text,
  instructions: text,
  tools: z.array(z.unknown()),
  firstSeen: object,
});

/** Undefined where there is no such file, or none that can be used. */
export function readCatalogFile(path: string): CatalogFile | undefined {
  try {
    if (statSync(path).size > MAX_FILE_BYTES) return undefined;
    const json = readFileSync(path, 'utf8');
    if (excessOf(json, LIMITS) !== undefined) return undefined;
    const parsed = file.parse(JSON.parse(json));
    return {
      version: parsed.version ?? undefined,
      instructions: parsed.instructions ?? undefined,
      tools: parsed.tools.slice(0, MAX_TOOLS).flatMap((item) => readTool(item) ?? []),
      firstSeen: new Map(
        Object.entries(parsed.firstSeen).flatMap(([name, value]) => {
          const seen = readFirstSeen(value);
          return seen === undefined ? [] : [[name, seen] as const];
        }),
      ),
    };
  } catch {
    return undefined;
  }
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DIGITS = /^[0-9a-f]{32}$/;

/** Checks the value by hand: with a schema, those of fifty servers take as long as all the rest of their files. */
function readFirstSeen(value: unknown): FirstSeen | undefined {
  if (!isObject(value) || !isObject(value['digest']) || !Array.isArray(value['changed'])) return undefined;
  const { on, digest, changed, was } = value;
  const digits = TOOL_PARTS.map((part) => Object(digest)[part] as unknown);
  if (typeof on !== 'string' || !DAY.test(on) || !digits.every(isDigits)) return undefined;
  return {
    on,
    digest: digest as ToolDigest,
    changed: TOOL_PARTS.filter((part) => (changed as readonly unknown[]).includes(part)),
    was: isObject(was) ? readBefore(was) : undefined,
  };
}

const isDigits = (value: unknown): boolean => typeof value === 'string' && DIGITS.test(value);

function readBefore({ description, parameters }: Readonly<Record<string, unknown>>) {
  if (typeof description !== 'string' || !Array.isArray(parameters)) return undefined;
  return { description, parameters: parameters.filter((name) => typeof name === 'string') };
}

/**
 * The text of the file for what is known of server `name`; one that can be read again, whatever the server says, since
 * with the file its first sights would go. They have room first: without a tool's documentation it is only less well
 * known until its server is started again.
 */
export function catalogFileText(name: string, known: CatalogFile): string {
  const { fits } = new Room();
  const listed = new Set(known.tools.map((tool) => tool.name));
  const gone = [...known.firstSeen.keys()].filter((tool) => !listed.has(tool));
  // The latest that have gone stay.
  const kept = new Map(
    [...listed, ...gone.reverse()].slice(0, MAX_FIRST_SEEN).flatMap((tool) => {
      const { was, ...seen } = known.firstSeen.get(tool) ?? {};
      return fits([tool, seen]) ? [[tool, { ...seen, was }] as const] : [];
    }),
  );
  const { version, instructions } = known;
  return JSON.stringify({
    format: FORMAT,
    server: name,
    version: version === undefined ? null : clip(version, MAX_VERSION_CHARS),
    instructions: instructions === undefined ? null : clip(instructions, MAX_INSTRUCTIONS_CHARS),
    firstSeen: Object.fromEntries(
      [...known.firstSeen.keys()].flatMap((tool) => {
        const seen = kept.get(tool);
        if (seen === undefined) return [];
        return [
          [tool, seen.was === undefined || fits(seen.was) ? seen : { ...seen, was: undefined }] as const,
        ];
      }),
    ),
    tools: known.tools.map(asListed).filter(fits),
  });
}

/** Bytes and values that a file may still hold. */
class Room {
  // A character of a text takes six bytes at most.
  #bytes = MAX_FILE_BYTES - (MAX_INSTRUCTIONS_CHARS + MAX_VERSION_CHARS) * 6 - 4096;
  #values = LIMITS.maxValues - 100;

  /** Takes the room that `item` needs, or none; counts values as excessOf does, and a few more. */
  readonly fits = (item: unknown): boolean => {
    const json = JSON.stringify(item);
    const bytes = this.#bytes - Buffer.byteLength(json) - 16;
    const values = this.#values - json.split(/[,{[]/).length - 1;
    if (bytes < 0 || values < 0) return false;
    [this.#bytes, this.#values] = [bytes, values];
    return true;
  };
}

/** As MCP writes a tool, so that one reader serves both. */
function asListed({ name, description, inputSchema, outputSchema, needsTask }: ServerTool): object {
  return {
    name,
    description,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(needsTask ? { execution: { taskSupport: 'required' } } : {}),
  };
}

/** Removes what nobody has started for months, and what writers that were killed have left. Never throws. */
export function sweepCatalog(folder: string, now: number): void {
  try {
    const files = readdirSync(folder).map((name) => {
      const path = join(folder, name);
      return { path, isWhole: name.endsWith('.json'), ageMs: now - statSync(path).mtimeMs };
    });
    const byAge = files.filter(({ isWhole }) => isWhole).sort((a, b) => a.ageMs - b.ageMs);
    const old = byAge.filter(({ ageMs }, index) => ageMs > MAX_AGE_MS || index >= MAX_FILES);
    const torn = files.filter(({ isWhole, ageMs }) => !isWhole && ageMs > 60 * 60 * 1000);
    for (const { path } of [...old, ...torn]) rmSync(path, { force: true });
  } catch {
    // Another bridge sweeps as well, or there is no folder.
  }
}

// Whether a tool is still what it was when it was first seen: a digest of each part that a model reads. Pure; compares
// what was listed, before anything is cut or made harmless for showing.

/** The parts of a tool that a change can be in, as they are called in sentences. */
const TOOL_PARTS = ['description', 'input schema', 'output schema'] as const;

/** 32 hex digits for each part. */
type ToolDigest = Readonly<Record<(typeof TOOL_PARTS)[number], string>>;

export function digestOf({
  description,
  inputSchema,
  outputSchema,
}: Pick<ServerTool, 'description' | 'inputSchema' | 'outputSchema'>): ToolDigest {
  return {
    description: digest(description),
    'input schema': digest(canonicalJson(inputSchema)),
    'output schema': digest(canonicalJson(outputSchema ?? null)),
  };
}

/** The parts that are not the same, in the order of TOOL_PARTS. */
export function changedParts(first: ToolDigest, now: ToolDigest): FirstSeen['changed'] {
  return TOOL_PARTS.filter((part) => first[part] !== now[part]);
}

/** In JSON Schema their order means nothing, and servers that keep them as sets list them differently at each start. */
const UNORDERED = new Set(['required', 'enum', 'type']);

/**
 * Gives the same text for the same value, in whatever order the keys of its objects stand. For JSON values that are no deeper
 * than SCHEMA_LIMITS allows, since the function is recursive.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalMember(key, value[key])}`);
  return `{${members.join(',')}}`;
}

function canonicalMember(key: string, value: unknown): string {
  if (!Array.isArray(value) || !UNORDERED.has(key)) return canonicalJson(value);
  return `[${value.map(canonicalJson).sort().join(',')}]`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
