// A first call where no registry can be reached and nobody has named an image: ours is built, and the answer says so. The
// engine is played, and has no image before one is imported; what builds the image is this machine's own.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { thorough } from '../faults/ledger.js';
import { startBridge } from '../support/start-bridge.js';

const INFO = JSON.stringify({
  host: { cgroupVersion: 'v2', ociRuntime: { name: 'crun' }, security: { rootless: true }, arch: 'amd64' },
  store: { graphDriverName: 'overlay', graphRoot: '/nonexistent' },
  version: { Version: '5.0.0' },
});

const made: string[] = [];
afterAll(() => {
  for (const dir of made) rmSync(dir, { recursive: true, force: true });
});

/** A folder for PATH with an engine whose registry cannot be reached; without `aptConfig` nothing can be built. */
function programs({ aptConfig }: { readonly aptConfig: boolean }): string {
  const dir = mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'programs-'));
  made.push(dir);
  const program = (name: string, script: string) => {
    writeFileSync(join(dir, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`);
    chmodSync(join(dir, name), 0o755);
  };
  program(
    'podman',
    `case "$1 $*" in
  *info*) echo '${INFO}';;
  "pull "*) echo "Error: connection refused" >&2; exit 125;;
  "import "*) touch '${dir}/imported';;
  "image "*localhost/mcp-sandbox-bridge/*) [ -e '${dir}/imported' ] && echo 0123456789abcdef 5 || exit 1;;
  "image "*) exit 1;;
  *) exit 0;;
esac`,
  );
  if (aptConfig) program('apt-config', 'exec apt-config "$@"');
  return dir;
}

/** Answers of calls, until one comes that does not ask for another call, and one more. */
async function answers(dir: string): Promise<readonly string[]> {
  const env = { PATH: dir, MCP_BRIDGE_STATE_DIR: join(dir, 'state'), MCP_BRIDGE_WARM: '0' };
  await using bridge = await startBridge({}, { env });
  const texts: string[] = [];
  const call = async () => {
    const { content } = await bridge.call({ code: '1' });
    const text = (content as { text: string }[])[0]?.text ?? '';
    texts.push(text);
    return text;
  };
  while ((await call()).includes('Make the same call again'));
  await call();
  return texts;
}

// It installs some hundred packages.
it.runIf(thorough)(
  'builds our image in place of the default one, and the next answer says so',
  async () => {
    const texts = await answers(programs({ aptConfig: true }));
    const [before = '', last = ''] = texts.slice(-2);
    expect(texts[0]).toMatch(/Now: .*\(step \d+, for \d+ s\)\. A build usually takes one to three minutes\./);
    expect(before).toMatch(
      /\[note\] The image python:3\S+ is not here: .*connection refused\. localhost\/mcp-sandbox-bridge\/\S+ was built in its place/,
    );
    // The played containers do not start, which is all that the last one has to say.
    expect(last).not.toContain('was built in its place');
    expect(last).not.toContain('cannot be pulled');
  },
  300_000,
);

it('says why neither can be had, with the next step', async () => {
  const [first = ''] = await answers(programs({ aptConfig: false }));
  expect(first).toMatch(/cannot be pulled: .*connection refused\. .*could not be built either: .*apt-config/);
  expect(first).toContain('image build');
});
