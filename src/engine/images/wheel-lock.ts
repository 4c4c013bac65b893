// The lock file of `image build --pip`: name, version and hash of each wheel that an image got, as pip reads them. It lies in
// the state directory, and a second build with the same list takes the same files.

import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHash } from '../../base/crypto.js';
import { BridgeError } from '../../base/errors.js';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { withoutVersion } from './image-name.js';
import { normaliseName } from './requirements.js';

export type Wheel = { readonly name: string; readonly version: string; readonly sha256: string };

const WHEEL = /^([A-Za-z0-9][A-Za-z0-9._]*)-([A-Za-z0-9][A-Za-z0-9.!+_]*)-[\w.-]+\.whl$/;

/** The wheels in a folder that a container has filled, sorted; throws for whatever else is in there. */
export function readWheels(folder: string): readonly Wheel[] {
  return readdirSync(folder)
    .sort()
    .map((file) => {
      const [, name, version] = WHEEL.exec(file) ?? [];
      const path = join(folder, file);
      if (name === undefined || version === undefined || !lstatSync(path).isFile())
        throw new BridgeError(
          'E_IMAGE_BUILD',
          `pip left ${JSON.stringify(file.slice(0, 80))}, which is no wheel.`,
          {
            fault: 'operator',
          },
        );
      const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
      return { name: normaliseName(name), version, sha256 };
    });
}

/** A lock as pip reads it: a line for each wheel with name, version and hash. */
export const lockText = (wheels: readonly Wheel[]): string =>
  wheels.map(({ name, version, sha256 }) => `${name}==${version} --hash=sha256:${sha256}\n`).join('');

const LOCK_LINE = /^[a-z0-9-]+==[A-Za-z0-9.!+_]+ --hash=sha256:[0-9a-f]{64}$/;

/** The lines of a lock without comments, or undefined where one of them is none of ours. */
export function linesOfLock(text: string): string | undefined {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.every((line) => LOCK_LINE.test(line)) ? lines.sort().join('\n') : undefined;
}

/** The lock file of one list of packages on one image, in the state directory. It holds for every version of the bridge. */
export class Lock {
  readonly file: string;
  readonly #platform: string;

  constructor(folder: string, image: string, suite: string, processor: string) {
    const { name, additions } = withoutVersion(image);
    this.#platform = `${suite}-${processor}`;
    this.file = join(folder, `${name}-${this.#platform}${additions}.lock`);
  }

  /** Undefined where there is none yet. Throws E_ARGUMENTS for a file that is no lock. */
  read(): string | undefined {
    const text = readText(this.file);
    if (text === undefined) return undefined;
    if (linesOfLock(text) === undefined)
      throw new BridgeError('E_ARGUMENTS', `${this.file} is no lock file.`, {
        fault: 'operator',
        remedy: 'Each line is name==version --hash=sha256:… Delete the file to have it made again.',
      });
    return text;
  }

  write(text: string, requirements: readonly string[]): void {
    const head = `# Made by mcp-sandbox-bridge for --pip '${requirements.join(',')}' on Debian ${this.#platform}.\n# Delete this file to take newer versions.\n`;
    replaceFile(this.file, `${head}${text}`);
  }
}
