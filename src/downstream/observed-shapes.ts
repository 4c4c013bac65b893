// What tools without an output schema answered so far, as shapes: learned from the answers that pass by, after they
// have gone on, and kept in the state directory so that the next run's signatures can say it. One file for each server
// definition; never a value, never the environment. Trouble with the files costs what was learned, and nothing else.

import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../base/replace-file.js';
import type { DownstreamSpec } from '../config/downstream-spec.js';
import type { Downstream } from './downstream.js';
import { isObject } from './json-object.js';
import { merge, readShape, type Shape, shapeOf } from './shape.js';

/** An answer of this size is parsed in half a millisecond; a larger one is not looked at. */
const MAX_ANSWER_CHARS = 64 * 1024;
/** A tool that answered so often without a new shape is known; one that never repeats itself is left after the second. */
const STEADY_ANSWERS = 5;
const MAX_ANSWERS = 50;
/** Of one server. A shape has at most 4 KB, nearly all have a few hundred bytes. */
const MAX_FILE_BYTES = 256 * 1024;
/** A run's answers are written together. */
const WRITE_AFTER_MS = 1_000;
const FOLDER = join('cache', 'shapes');

const file = z.object({
  /** What the server calls itself: another version may answer otherwise. */
  version: z.string().nullable(),
  // The object itself: zod's copy of it would leave out a tool called `__proto__`.
  tools: z.custom<Readonly<Record<string, unknown>>>(isObject),
});

type Known = { shape: Shape; answers: number; steady: number };
type Book = { readonly path: string; readonly version: string | null; readonly tools: Map<string, Known> };
type Learnable = Pick<Downstream, 'spec' | 'serverVersion' | 'tools'>;

export class ObservedShapes implements Disposable {
  readonly #folder: string;
  readonly #books = new Map<string, Book>();
  readonly #unsaved = new Set<Book>();
  #timer: NodeJS.Timeout | undefined;
  #canWrite = true;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, FOLDER);
  }

  /** By tool, for a server as it runs now. */
  of(server: Learnable): (tool: string) => Shape | undefined {
    const { tools } = this.#book(server);
    return (tool) => tools.get(tool)?.shape;
  }

  /** Looks at the text of a CallToolResult once its reader has it. */
  learn(server: Learnable, tool: string, result: string): void {
    if (result.length > MAX_ANSWER_CHARS || !this.#canWrite) return;
    const known = this.#book(server).tools.get(tool);
    if (known !== undefined && (known.steady >= STEADY_ANSWERS || known.answers >= MAX_ANSWERS)) return;
    const about = server.tools().find(({ name }) => name === tool);
    if (about === undefined || about.outputSchema !== undefined) return;
    setImmediate(() => this.#look(this.#book(server), tool, result));
  }

  /** Writes what is not written yet. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const book of this.#unsaved) this.#write(book);
    this.#unsaved.clear();
  }

  #look(book: Book, tool: string, result: string): void {
    const seen = answerShape(result);
    if (seen === undefined) return;
    const known = book.tools.get(tool);
    if (known === undefined) {
      book.tools.set(tool, { shape: seen, answers: 1, steady: 1 });
    } else {
      const shape = merge(known.shape, seen);
      known.answers++;
      known.steady = shape === known.shape ? known.steady + 1 : 1;
      if (shape === known.shape && known.steady < STEADY_ANSWERS) return;
      known.shape = shape;
    }
    this.#unsaved.add(book);
    this.#timer ??= setTimeout(() => this[Symbol.dispose](), WRITE_AFTER_MS).unref();
  }

  #book({ spec, serverVersion }: Learnable): Book {
    const key = definitionKey(spec);
    const version = serverVersion ?? null;
    const open = this.#books.get(key);
    if (open !== undefined && open.version === version) return open;
    const path = join(this.#folder, `${key}.json`);
    const book = { path, version, tools: readBook(path, version) };
    this.#books.set(key, book);
    return book;
  }

  /** Of two bridges that learn at once the later one's file stays. */
  #write({ path, version, tools }: Book): void {
    if (!this.#canWrite) return;
    const kept: [string, unknown][] = [];
    let room = MAX_FILE_BYTES - 1024;
    for (const [tool, known] of tools) {
      room -= Buffer.byteLength(JSON.stringify([tool, known])) + 1;
      if (room >= 0) kept.push([tool, known]);
    }
    try {
      replaceFile(path, JSON.stringify({ version, tools: Object.fromEntries(kept) }));
    } catch {
      this.#canWrite = false;
    }
  }
}

/** What a call gives in Python, as a shape (see mcp/_values.py); undefined for errors and for what is no data. */
export function answerShape(result: string): Shape | undefined {
  const parsed = parsedJson(result);
  if (!isObject(parsed) || parsed['isError'] === true) return undefined;
  const { structuredContent, content } = parsed;
  if (structuredContent !== undefined && structuredContent !== null) return shapeOf(structuredContent);
  const [block, ...more] = Array.isArray(content) ? content : [];
  if (more.length > 0 || !isObject(block) || block['type'] !== 'text') return undefined;
  return typeof block['text'] === 'string' ? textShape(block['text']) : undefined;
}

function textShape(text: string): Shape {
  const value = /^\s*[[{"\-\dtfn]/.test(text) ? parsedJson(text) : undefined;
  // `1.10` stays a text in Python, since a number would not print as it came.
  const isText = value === undefined || (typeof value === 'number' && String(value) !== text.trim());
  return isText ? { type: 'string' } : shapeOf(value);
}

/** Undefined where it is none, which JSON itself never is. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Equal for what starts the same program; a token in the environment makes no other server. */
function definitionKey({ transport, command, args }: DownstreamSpec): string {
  return createHash('sha256')
    .update(JSON.stringify([transport, command, args]))
    .digest('hex')
    .slice(0, 32);
}

function readBook(path: string, version: string | null): Map<string, Known> {
  const tools = new Map<string, Known>();
  try {
    if (statSync(path).size > MAX_FILE_BYTES) return tools;
    const parsed = file.parse(JSON.parse(readFileSync(path, 'utf8')));
    if (parsed.version !== version) return tools;
    for (const [tool, known] of Object.entries(parsed.tools)) {
      const read = readKnown(known);
      if (read !== undefined) tools.set(tool, read);
    }
  } catch {
    // Absent, or somebody else's: it is made anew with the next answer.
  }
  return tools;
}

function readKnown(value: unknown): Known | undefined {
  if (!isObject(value)) return undefined;
  const shape = readShape(value['shape']);
  const [answers, steady] = [value['answers'], value['steady']].map(Number);
  if (shape === undefined || !Number.isInteger(answers) || !Number.isInteger(steady)) return undefined;
  return { shape, answers: answers as number, steady: steady as number };
}
