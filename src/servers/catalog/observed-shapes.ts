// Shapes of the answers so far of tools without an output schema: learned from the answers that pass by, after they have gone
// on, and kept in the state directory so that the next run's signatures can say the shapes. One file for each server
// definition; never a value, never the environment. Trouble with the files costs what was learned, and nothing else.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../base/files/replace-file.js';
import { isObject, jsonIn } from '../../base/json/records.js';
import { KB_BYTES } from '../../base/text/sizes.js';
import { type DownstreamSpec, definitionKey } from '../../hosts/downstream-spec.js';
import type { Downstream } from '../server/downstream.js';
import { merge, readShape, type Shape, shapeOf } from './shape.js';

/** Looking at an answer of this size takes a millisecond, after it has gone on; a larger one is not looked at. */
const MAX_ANSWER_CHARS = 64 * 1024;
/** A tool that answered so often without a new shape is known. */
const STEADY_ANSWERS = 5;
/** Answers of one tool that a bridge looks at in its life: some tools never answer alike, or always fail. */
const MAX_LOOKS = 50;
/** Largest file of one server. A shape has at most 4 KB, nearly all have a few hundred bytes. */
const MAX_FILE_BYTES = 256 * KB_BYTES;
/** A run's answers are written together. */
const WRITE_AFTER_MS = 1_000;
const FOLDER = join('cache', 'shapes');

const file = z.object({
  /** The version that the server calls itself: another version may answer otherwise. */
  version: z.string().nullable(),
  // The object itself: zod's copy of it would leave out a tool called `__proto__`.
  tools: z.custom<Readonly<Record<string, unknown>>>(isObject),
});

type Book = {
  readonly path: string;
  readonly version: string | null;
  /** `steady`: how many answers in a row had nothing new. */
  readonly tools: Map<string, { readonly shape: Shape; readonly steady: number }>;
  readonly looks: Map<string, number>;
};
type AnsweringServer = Pick<Downstream, 'spec' | 'serverVersion' | 'tools'>;

export class ObservedShapes implements Disposable {
  readonly #folder: string;
  readonly #books = new Map<string, Book>();
  readonly #keys = new WeakMap<DownstreamSpec, string>();
  readonly #unsaved = new Set<Book>();
  #timer: NodeJS.Timeout | undefined;
  #canWrite = true;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, FOLDER);
  }

  /** Finds the shape of a tool's answers by the tool's name, for a server as it runs now. */
  of(server: AnsweringServer): (tool: string) => Shape | undefined {
    const { tools } = this.#book(server);
    return (tool) => tools.get(tool)?.shape;
  }

  /** Looks at the text of a CallToolResult once its reader has it. */
  learn(server: AnsweringServer, tool: string, result: string): void {
    if (result.length > MAX_ANSWER_CHARS || !this.#canWrite) return;
    const book = this.#book(server);
    if (isSettled(book, tool)) return;
    const about = server.tools().find(({ name }) => name === tool);
    if (about === undefined || about.outputSchema !== undefined) return;
    setImmediate(() => this.#look(book, tool, result));
  }

  /** Writes what is not written yet. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const book of this.#unsaved) this.#write(book);
    this.#unsaved.clear();
  }

  #look(book: Book, tool: string, result: string): void {
    // A hundred calls may have been under way at once.
    if (isSettled(book, tool)) return;
    book.looks.set(tool, (book.looks.get(tool) ?? 0) + 1);
    const seen = answerShape(result);
    if (seen === undefined) return;
    const known = book.tools.get(tool);
    const shape = known === undefined ? seen : merge(known.shape, seen);
    const steady = known !== undefined && shape === known.shape ? known.steady + 1 : 1;
    book.tools.set(tool, { shape, steady });
    if (steady > 1 && steady < STEADY_ANSWERS) return;
    this.#unsaved.add(book);
    this.#timer ??= setTimeout(() => this[Symbol.dispose](), WRITE_AFTER_MS).unref();
  }

  #book({ spec, serverVersion }: AnsweringServer): Book {
    const key = this.#keys.get(spec) ?? definitionKey(spec);
    this.#keys.set(spec, key);
    const version = serverVersion ?? null;
    const open = this.#books.get(key);
    if (open !== undefined && open.version === version) return open;
    const path = join(this.#folder, `${key}.json`);
    const book = { path, version, tools: readBook(path, version), looks: new Map() };
    this.#books.set(key, book);
    return book;
  }

  /** When two bridges write at once, the file of the later one stays. */
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

function isSettled({ tools, looks }: Book, tool: string): boolean {
  return (tools.get(tool)?.steady ?? 0) >= STEADY_ANSWERS || (looks.get(tool) ?? 0) >= MAX_LOOKS;
}

/** The shape of what a call gives in Python (see mcp/_values.py); undefined for errors and for what is no data. */
export function answerShape(result: string): Shape | undefined {
  const parsed = jsonIn(result);
  if (!isObject(parsed) || parsed['isError'] === true) return undefined;
  const { structuredContent, content } = parsed;
  if (structuredContent !== undefined && structuredContent !== null) return shapeOf(structuredContent);
  if (typeof content === 'string') return textShape(content);
  const [block, ...more] = Array.isArray(content) ? content : [content];
  if (more.length > 0 || !isObject(block) || block['type'] !== 'text') return undefined;
  return typeof block['text'] === 'string' ? textShape(block['text']) : undefined;
}

function textShape(text: string): Shape {
  const value = /^\s*[[{"\-\dtfn]/.test(text) ? jsonIn(text) : undefined;
  return value === undefined || (typeof value === 'number' && !isNumber(value, text.trim()))
    ? { type: 'string' }
    : shapeOf(value);
}

/** `1.10` stays a text in Python, since a number would not print as it came. */
function isNumber(value: number, text: string): boolean {
  return /^-?\d+$/.test(text) || [String(value), `${value}.0`].includes(text);
}

/** Equal for what starts the same program; a token in the environment makes no other server. */
function readBook(path: string, version: string | null) {
  const tools: Book['tools'] = new Map();
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

function readKnown(value: unknown) {
  if (!isObject(value)) return undefined;
  const shape = readShape(value['shape']);
  const { steady } = value;
  return shape === undefined || !Number.isInteger(steady) ? undefined : { shape, steady: Number(steady) };
}
