// What doctor says of the network, by what a sandbox with one showed.

import { expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import type { Examination } from '../../src/cli/doctor/examination.js';
import { examineNetwork } from '../../src/cli/doctor/findings.js';
import type { EngineTraits } from '../../src/engine/engine.js';
import { OLD_GVISOR } from '../../src/engine/machine/oci-runtime.js';
import { settingsOf } from '../support/plain-kind.js';

function examine(tried: object, traits: Partial<EngineTraits> = {}, open = 'bash,go') {
  const subject = {
    settings: settingsOf({ MCP_BRIDGE_NETWORK: open }),
    pad: async () => ({ value: { engine: { traits } } }),
    networkTrial: async () => tried,
  };
  return examineNetwork(subject as unknown as Examination);
}

it('which languages have one, by what, and what that reaches', async () => {
  expect(await examine({ value: 'slirp4netns' })).toEqual({
    status: 'ok',
    detail: expect.stringMatching(
      /^open for go, bash by slirp4netns: IPv4 only; .* but not localhost and link-local addresses$/,
    ),
  });
});

it('where the localhost of the computer is within reach, that is a warning', async () => {
  expect(await examine({ value: 'default' }, { reachesLocalhost: true })).toMatchObject({
    status: 'warn',
    detail: expect.stringMatching(/this computer's localhost/),
  });
});

it('nothing that carries it is a failure, with the remedy', async () => {
  const error = new BridgeError('E_NETWORK', 'No slirp4netns.', { fault: 'operator', remedy: 'Install it.' });
  expect(await examine({ error })).toEqual({
    status: 'fail',
    detail: 'none for go, bash, which should have one: No slirp4netns.',
    remedy: 'Install it.',
  });
  expect((await examine({ error }, { networkAdvice: OLD_GVISOR }))?.remedy).toMatch(
    /gVisor releases before August 2024/,
  );
});

it('none at all costs no trial', async () => {
  const found = await examine({ error: 'never asked' }, {}, 'none');
  expect(found).toEqual({ status: 'ok', detail: 'none in any sandbox' });
});
