// The servers that read arguments in other languages, made from what this machine has. What it has not is passed over, with words.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** The variables that tell the test of them. */
export function furtherReaders(root) {
  const folder = join(root, 'node_modules', '.cache', 'readers');
  mkdirSync(folder, { recursive: true });
  return { FUZZ_READERS: JSON.stringify({ ...goReader(root, folder), ...pythonReaders(root, folder) }) };
}

function goReader(root, folder) {
  const program = join(folder, process.platform === 'win32' ? 'reader.exe' : 'reader');
  const built = run('go', ['build', '-o', program, join(root, 'scripts', 'fuzz', 'reader.go')]);
  if (built !== undefined) return passedOver('Go', built);
  return { 'Go (encoding/json)': [program] };
}

function pythonReaders(root, folder) {
  const venv = join(folder, 'venv');
  const python = join(
    venv,
    ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python3']),
  );
  const missing =
    (existsSync(python) ? undefined : run('python3', ['-m', 'venv', venv])) ??
    (run(python, ['-c', 'import pydantic']) === undefined
      ? undefined
      : run(python, ['-m', 'pip', 'install', '--quiet', 'pydantic>=2,<3']));
  if (missing !== undefined) return passedOver('Python', missing);
  const reader = [python, join(root, 'scripts', 'fuzz', 'reader.py')];
  return { 'pydantic, of values': reader, 'pydantic, of text': [...reader, 'json'] };
}

/** Undefined where it has worked, else why not, in a line. */
function run(program, args) {
  const { error, status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (error !== undefined)
    return `${program} cannot be started (${/** @type {NodeJS.ErrnoException} */ (error).code})`;
  const last = stderr.trim().split('\n').at(-1);
  return status === 0 ? undefined : `${program} ${args.slice(0, 3).join(' ')} ended with ${status}: ${last}`;
}

function passedOver(language, why) {
  console.log(`passed over: the reader in ${language}, since ${why}`);
  return {};
}
