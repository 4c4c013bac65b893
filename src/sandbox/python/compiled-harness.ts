// The harness compiled by the very Python that runs it: half of its start is compiling, and its folder is read-only in
// every sandbox, so nothing could be kept there. Asked of the trial sandbox, in which no code of anybody else ever runs,
// and kept in the state directory. What another Python made is not wrong, only unused: Python looks for its own.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Sandbox } from '../conversation/sandbox.js';
import { HARNESS_MOUNT } from '../spec/harness-files.js';
import type { Files } from '../spec/installed-files.js';
import { runOwnCode } from './python-name.js';

const CACHE_DIR = 'cache';
const CACHE_FILE = join(CACHE_DIR, 'harness.json');
const COMPILE_SECONDS = 10;

// Unchecked: the bridge compares the folder with what was installed, and each check of Python's would read the source.
const CODE = `
import base64, glob, importlib.util, os
from importlib._bootstrap_external import _code_to_hash_pyc
root = "${HARNESS_MOUNT}/"
compiled = {}
for path in glob.glob(root + "*/*.py"):
    with open(path, "rb") as file:
        source = file.read()
    code = compile(source, path, "exec", dont_inherit=True)
    data = _code_to_hash_pyc(code, importlib.util.source_hash(source), False)
    compiled[importlib.util.cache_from_source(path)[len(root):]] = base64.b64encode(data).decode()
compiled
`;

const files = z.record(z.string().regex(/^\w+\/__pycache__\/[\w.-]+\.pyc$/), z.base64());
const cacheFile = z.object({ key: z.string(), files });

/** Compiles the harness with the image's Python; undefined where it cannot. Uses up the sandbox. */
export async function compileIn(sandbox: Sandbox): Promise<Files | undefined> {
  const { value } = await runOwnCode(sandbox, CODE, COMPILE_SECONDS);
  const parsed = files.safeParse(value);
  return parsed.success ? decoded(parsed.data) : undefined;
}

/** Files that an earlier start kept for the same harness and image. */
export function readCompiled(stateDir: string, key: string): Files | undefined {
  try {
    const cached = cacheFile.parse(JSON.parse(readFileSync(join(stateDir, CACHE_FILE), 'utf8')));
    return cached.key === key ? decoded(cached.files) : undefined;
  } catch {
    // Absent, or of another version: the next trial makes it anew.
    return undefined;
  }
}

export function keepCompiled(stateDir: string, key: string, compiled: Files): void {
  const text = [...compiled].map(([name, data]) => [name, Buffer.from(data).toString('base64')]);
  mkdirSync(join(stateDir, CACHE_DIR), { recursive: true, mode: 0o700 });
  writeFileSync(join(stateDir, CACHE_FILE), JSON.stringify({ key, files: Object.fromEntries(text) }));
}

const decoded = (encoded: Readonly<Record<string, string>>): Files =>
  new Map(Object.entries(encoded).map(([name, data]) => [name, Buffer.from(data, 'base64')]));
