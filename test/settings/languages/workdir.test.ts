// The working directory hides what lies in its place, so nothing of ours and of the image may lie there.

import { expect, it } from 'vitest';
import { sandboxSpec } from '../../../src/sandbox/spec/spec.js';
import { DEFAULT_WORKDIR, languages, workdirTrouble } from '../../../src/settings/languages/records.js';
import { PLAIN_KIND } from '../../support/plain-kind.js';

it.each([DEFAULT_WORKDIR, '/app', '/code/src', '/usr/src/app', '/home/ann', '/opt/work', '/srv/a-b_c.d+e@f'])(
  '%s can be one',
  (path) => {
    expect(workdirTrouble(path)).toBeUndefined();
  },
);

it.each([
  ['workspace', 'it is not absolute'],
  ['', 'it is not absolute'],
  ['/', 'it is the whole file system'],
  ['/app/../proc', 'it has a part that is empty, . or ..'],
  ['//proc', 'it has a part that is empty, . or ..'],
  ['/app:exec', 'it has characters other than letters, digits and _ . + @ -'],
  ['/app,size=1', 'it has characters other than letters, digits and _ . + @ -'],
  ['/my work', 'it has characters other than letters, digits and _ . + @ -'],
  [`/${'a'.repeat(200)}`, 'it has 201 characters; at most 200 are allowed'],
  ['/etc/app', '/etc has the settings of the system'],
  ['/usr', '/usr/bin, which is in it, has programs of the image'],
  ['/usr/local/go', '/usr/local has programs of the image'],
  ['/root', '/root can be entered by root only'],
])('%s is refused: %s', (path, expected) => {
  expect(workdirTrouble(path)).toBe(expected);
});

it('no place of ours can be one', () => {
  const spec = sandboxSpec({
    image: 'x',
    harnessDir: '/h',
    seccompFile: '/s',
    name: 'n',
    user: '1:1',
    kind: { ...PLAIN_KIND, workdir: '/app', places: languages.flatMap(({ places }) => places) },
    enforcement: undefined,
    cores: 1,
    maxTimeoutSeconds: 1,
    maxWaitSeconds: 0,
    fallbackDir: '/l',
    networkMode: undefined,
  });
  expect([spec.workdir, spec.env['HOME']]).toEqual(['/app', '/app']);
  const targets = [...spec.tmpfs, ...spec.mounts].map(({ target }) => target);
  expect(targets).toContain('/app');
  expect(targets).not.toContain(DEFAULT_WORKDIR);
  const taken = [...targets.filter((target) => target !== '/app'), ...spec.masked, '/dev/shm'];
  expect(taken.filter((target) => workdirTrouble(target) === undefined)).toEqual([]);
});
