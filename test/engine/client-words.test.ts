import { expect, it } from 'vitest';
import { isBeforeContact, whyNotPulled } from '../../src/engine/machine/client-words.js';

it('a registry has answered with the first line that is not about looking for one', () => {
  expect(isBeforeContact('Resolving "x" using unqualified-search registries')).toBe(true);
  expect(
    isBeforeContact('Resolved "x" as an alias (/etc/containers/registries.conf.d/shortnames.conf)'),
  ).toBe(true);
  expect(isBeforeContact('Trying to pull localhost/none:1...')).toBe(true);
  expect(isBeforeContact('Getting image source signatures')).toBe(false);
  expect(isBeforeContact('1: Pulling from library/python')).toBe(false);
});

const REFUSED =
  'initializing source docker://localhost/none:1: pinging container registry localhost: refused';

it('the reason is what is said last, not the tries before it', () => {
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
