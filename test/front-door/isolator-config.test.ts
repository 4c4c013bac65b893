// isolator's file through the front door: the image that it names is used, in the working directory and within the time
// that it names.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ownImage } from '../../src/engine/images/image-choice.js';
import { isBuilt } from '../support/built-image.js';
import { removeImages } from '../support/remove-images.js';
import { startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { REACH_SECONDS } from './reached.js';

/** Ours with a mark in it, which nothing but the file leads to. */
const IMAGE = `localhost/isolator-config-test-${process.pid}:1`;

const ABSENT = 'localhost/isolator-config-test-absent:1';

let bridge: TestBridge;
beforeAll(async () => {
  const recipe = `FROM ${ownImage()}\nENV MARK=isolator\n`;
  execFileSync('podman', ['build', '--quiet', `--tag=${IMAGE}`, '-'], { input: recipe });
  const file = join(tempHome(), 'isolator_config.json');
  const content = {
    isolatorPath: '/opt/isolator',
    defaultTimeoutSeconds: 2 * REACH_SECONDS,
    defaultPidsLimit: 40,
    defaultContainerWorkdir: '/srv/app/work',
    languageSettings: { python: { image: IMAGE }, bash: { image: ABSENT } },
  };
  writeFileSync(file, `// as it is\n${JSON.stringify(content)}`, { mode: 0o600 });
  const env = { MCP_BRIDGE_TOOLS: 'run_python,execute_code', MCP_BRIDGE_ISOLATOR_CONFIG: file };
  bridge = await startBridge({}, { env });
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
  await removeImages(IMAGE);
});

const SEEN = `import os, resource
open("out/kept.txt", "w").write("kept")
print(os.getcwd(), os.environ["HOME"], os.environ.get("MARK"), os.path.ismount("/workspace"))
print(resource.getrlimit(resource.RLIMIT_NPROC)[0])`;

const execute = async (code: string, language = 'python'): Promise<CallToolResult> =>
  (await bridge.client.callTool({
    name: 'execute_code',
    arguments: { language, entrypoint_code: code },
  })) as CallToolResult;
const textOf = ({ content: [first] }: CallToolResult): string => (first?.type === 'text' ? first.text : '');

it('holds for execute_code: image, working directory, limits', async () => {
  const text = textOf(await execute(SEEN));
  expect(text).toContain('/srv/app/work /srv/app/work isolator False\n40\n');
  expect(text).toContain('kept.txt');
});

it('holds for a call that names no time', async () => {
  const result = await execute('import time\ntime.sleep(300)');
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(/^Execution Failed \(timeout\)/);
});

it('does not touch run_python', async () => {
  const { stdout } = await bridge.run(SEEN);
  expect(stdout).toEqual(['/workspace /workspace None True', '128']);
});

it('is warned of what has no effect', () => {
  expect(bridge.stderr()).toContain('isolatorPath has no effect');
});

it.skipIf(!isBuilt('bash'))('runs in our own image where its own is not there, and says so', async () => {
  expect(textOf(await execute('echo ran', 'bash'))).toContain('ran');
  expect(bridge.stderr()).toContain(`image ${ABSENT}, named in isolator's file, is not here`);
});
