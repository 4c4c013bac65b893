// One configuration file: opened, checked and parsed as JSON with comments. A file that others may write decides
// which programs run, so it is refused. Never follows a fifo, never changes a file, never throws.

import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { messageOf } from '../base/errors.js';
import type { HostFacts } from './host-facts.js';

/** Hosts keep their whole history beside their servers; what is larger than this is no configuration. */
const MAX_BYTES = 64 * 1024 ** 2;
const WRITABLE_BY_OTHERS = 0o022;

export type ConfigFile =
  | { readonly state: 'absent' }
  | { readonly state: 'refused'; readonly message: string }
  | { readonly state: 'parsed'; readonly value: unknown };

/** A file that may be believed, as its text. */
export type TextFile =
  | Exclude<ConfigFile, { readonly state: 'parsed' }>
  | { readonly state: 'read'; readonly text: string };

export function readConfigFile(file: string, host: HostFacts): ConfigFile {
  const read = readTextFile(file, host);
  return read.state === 'read' ? parseConfig(file, read.text) : read;
}

/** The same checks, for what is parsed elsewhere. */
export function readTextFile(file: string, host: HostFacts): TextFile {
  let fd: number;
  try {
    // Each run looks for all of them, most are absent, and an exception costs more than reading a file.
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return { state: 'absent' };
    // O_NONBLOCK, so that a fifo answers at once; Windows has neither.
    fd = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { state: 'absent' };
    return { state: 'refused', message: `cannot be opened: ${messageOf(thrown)}` };
  }
  try {
    // The checks are of the open file, so it cannot be exchanged between them and the reading.
    const trouble = refusal(file, fd, host);
    if (trouble !== undefined) return { state: 'refused', message: trouble };
    return { state: 'read', text: readFileSync(fd, 'utf8').replace(/^\uFEFF/, '') };
  } catch (thrown) {
    return { state: 'refused', message: `cannot be read: ${messageOf(thrown)}` };
  } finally {
    closeSync(fd);
  }
}

function refusal(file: string, fd: number, host: HostFacts): string | undefined {
  const { mode, uid, size } = fstatSync(fd);
  if ((mode & constants.S_IFMT) !== constants.S_IFREG) return 'is not a regular file';
  if (size > MAX_BYTES) return `has ${size} bytes; at most ${MAX_BYTES} are read`;
  if (host.uid === undefined) return undefined;
  if (uid !== host.uid && uid !== 0) {
    return `belongs to user ${uid}, who could make the bridge run anything; run: chown ${host.uid} '${file}'`;
  }
  if ((mode & WRITABLE_BY_OTHERS) !== 0) {
    return `can be written by other users, who could make the bridge run anything; run: chmod go-w '${file}'`;
  }
  return undefined;
}

function parseConfig(file: string, text: string): ConfigFile {
  if (text.trim() === '') return { state: 'parsed', value: {} };
  try {
    return { state: 'parsed', value: JSON.parse(text) as unknown };
  } catch {
    // Comments and trailing commas are common in these files; the tolerant parser is ten times slower.
  }
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (tree !== undefined && error === undefined) return { state: 'parsed', value: plainValue(tree) };
  const before = text.slice(0, error?.offset ?? 0).split('\n');
  const trouble = error === undefined ? 'NoValue' : printParseErrorCode(error.error);
  const words = trouble.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim();
  return {
    state: 'refused',
    message: `${file}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}: ${words}`,
  };
}

// The parser's own conversion assigns members, and assigning `__proto__` changes the object instead.
function plainValue(node: Node): unknown {
  const children = node.children ?? [];
  if (node.type === 'array') return children.map(plainValue);
  if (node.type !== 'object') return node.value as unknown;
  return Object.fromEntries(
    children.flatMap(({ children: [key, value] = [] }) =>
      key === undefined || value === undefined ? [] : [[String(key.value), plainValue(value)]],
    ),
  );
}
