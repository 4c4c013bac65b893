import { expect, test } from 'vitest';
import { whyNotPulled } from '../../src/engine/why-not-pulled.js';

const REFUSED =
  'initializing source docker://localhost/none:1: pinging container registry localhost: refused';

test('the reason is what is said last, not the tries before it', () => {
  const tries = [1, 2, 3].map(
    (n) => `time="05:44" level=warning msg="Failed, retrying in 1s ... (${n}/3). Error: x"`,
  );
  const podman = ['Trying to pull localhost/none:1...', ...tries, `Error: ${REFUSED}`].join('\n');
  expect(whyNotPulled(`${podman}\n`)).toBe(`Error: ${REFUSED}`);
  const several = 'Error: 2 errors occurred while pulling:\n * first\n * second';
  expect(whyNotPulled(`Resolving "x"\n${several}\n`)).toBe(several);
  const docker = 'Error response from daemon: manifest for x:1 not found';
  expect(whyNotPulled(docker)).toBe(docker);
  expect(whyNotPulled('no such host')).toBe('no such host');
});
