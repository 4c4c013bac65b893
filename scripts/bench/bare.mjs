// What the bridge is compared with: the host's own Python, and `podman run` with nothing of ours around it. Its flags
// come from the bridge's own code, built from the same settings, so that the two cannot drift apart.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ownerLabels, thisOwner } from '../../dist/base/process/owner.js';
import { runArgv } from '../../dist/engine/client/argv.js';
import { dialectOf } from '../../dist/engine/client/dialects.js';
import { chooseImage } from '../../dist/engine/images/image-choice.js';
import { removeRunDir } from '../../dist/engine/machine/first-process.js';
import { cliNameOf } from '../../dist/engine/machine/place.js';
import { startOf } from '../../dist/run/programs/task.js';
import { Sandbox } from '../../dist/sandbox/conversation/sandbox.js';
import { setUpEngine, specOn } from '../../dist/sandbox/launch/launch-set-up.js';
import { ENTRYPOINT } from '../../dist/sandbox/spec/harness-files.js';
import { kindOf } from '../../dist/sandbox/spec/profile.js';
import { planFor } from '../../dist/settings/environment/plan.js';
import { parseSettings } from '../../dist/settings/environment/settings.js';
import { hostFacts } from '../../dist/settings/files/host-facts.js';
import { HOST_PYTHON } from './host-python.mjs';

const START_TIMEOUT_MS = 60_000;
const KEPT_CHARS = 2000;

export class Bare {
  #stage;
  #context;
  #pad;
  #count = 0;

  constructor(stage, context, pad) {
    this.#stage = stage;
    this.#context = context;
    this.#pad = pad;
  }

  /** Decides engine, OCI runtime and image as a bridge would. */
  static async open(stage, signal) {
    const { settings } = parseSettings(stage.environment(stage.home()), hostFacts());
    const instance = randomBytes(6).toString('hex');
    const context = { settings, instance, observer: () => {} };
    return new Bare(stage, context, await setUpEngine(context, signal));
  }

  get choice() {
    return { ...this.#pad.choice, image: this.#pad.image.image, imageReason: this.#pad.image.reason };
  }

  get engine() {
    return this.#pad.engine;
  }

  /** A greeted sandbox of the bridge's own making, without a bridge. */
  sandbox(signal) {
    const options = { timeoutMs: START_TIMEOUT_MS, observer: () => {} };
    return Sandbox.start(this.#pad.engine, this.#spec(), options, signal);
  }

  /** Milliseconds that `podman run … python3 -c 'print(1)'` takes, from its start to its exit. */
  run() {
    const spec = this.#spec();
    const command = [...spec.command.slice(0, spec.command.indexOf(ENTRYPOINT)), '-c', 'print(1)'];
    return this.#run({ ...spec, command }, '1\n');
  }

  /** The image of a language's programs, as a bridge would choose it. Throws E_IMAGE_MISSING. */
  imageOf(language, signal) {
    return chooseImage(this.#kindOf(language), this.engine.images, () => {}, signal);
  }

  /** Milliseconds that `podman run … sh -c …` takes for a program that must say hello, with the commands of the bridge. */
  runProgram(language, image, code) {
    const spec = specOn({ ...this.#pad, image }, this.#context, this.#name(), this.#kindOf(language));
    const command = ['sh', '-c', scriptOf(language), code];
    return this.#run({ ...spec, command }, 'hello\n');
  }

  /** Ends what the engine keeps to start sandboxes from: a process that has a container's input does not end. */
  async close() {
    await this.engine[Symbol.asyncDispose]();
    removeRunDir({ stateDir: this.#stage.stateDir, instance: this.#context.instance });
  }

  async #run(spec, expected) {
    const labels = { ...spec.labels, ...ownerLabels(this.#context.instance, thisOwner()) };
    const { binary, mode, ids, ociRuntime: name, ociFlags: flags } = this.#pad.choice;
    const ociRuntime = { name, flags };
    const files = ['cid', 'pid'].map((kind) => join(this.#stage.stateDir, `${spec.name}.${kind}`));
    const [cidFile, pidFile] = files;
    const dialect = dialectOf(cliNameOf(binary), mode);
    const argv = runArgv({ ...spec, labels }, dialect, { ids, ociRuntime, cidFile, pidFile })
      // A user's own run waits for its end.
      .filter((flag) => flag !== '--detach');
    try {
      return await prints(expected, binary, argv, this.#stage.stateDir);
    } finally {
      for (const file of files) rmSync(file, { force: true });
    }
  }

  #kindOf(language) {
    const { settings } = this.#context;
    return kindOf(planFor(language, settings), settings);
  }

  #spec() {
    return specOn(this.#pad, this.#context, this.#name());
  }

  #name() {
    return `bench-${++this.#count}`;
  }
}

/** What the bridge does for a program, as a script of a shell whose $0 is its text. */
function scriptOf(language) {
  /** @type {import('../../dist/run/programs/task.js').Task} */
  const task = {
    type: 'program',
    language,
    code: '',
    file: language.file,
    args: [],
    stdin: undefined,
    env: {},
  };
  const { ways } = startOf(task);
  const line = (argv) => argv.map((word) => `'${word}'`).join(' ');
  const chosen = ways.map(({ needs, steps }) => {
    const found = needs.map((name) => `command -v ${name} > /dev/null`).join(' && ');
    return `if ${found}; then ${steps.map(line).join(' && ')}; exit; fi`;
  });
  return [
    `printf %s "$0" > '${language.file}'`,
    ...language.ahead.map((argv) => `${line(argv)} > /dev/null 2>&1`),
    ...chosen,
    ...(ways.length === 0 ? [line(['python3', language.file])] : ['exit 127']),
  ].join('\n');
}

/** Milliseconds that `python3 -c 'print(1)'` takes on the host; undefined where the host has no Python. */
export const hostPython = () =>
  HOST_PYTHON === undefined ? undefined : prints('1\n', HOST_PYTHON.path, ['-c', 'print(1)']);

/** Milliseconds from start to exit of a program that must print what is expected. */
export function prints(expected, program, args, cwd) {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const child = spawn(program, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdin.end();
    child.stdout.on('data', (chunk) => {
      stdout = (stdout + chunk).slice(-KEPT_CHARS);
    });
    child.stderr.on('data', (chunk) => {
      stderr = (stderr + chunk).slice(-KEPT_CHARS);
    });
    child.on('error', reject);
    let ms;
    child.on('exit', () => {
      ms = performance.now() - startedAt;
    });
    child.on('close', (code) => {
      if (code === 0 && stdout === expected) resolve(ms);
      else reject(new Error(`${program} ended with ${code}: ${stderr.trim() || stdout}`));
    });
  });
}
