// Parts of the program that are loaded later, and that an upgrade has taken away meanwhile.

import { expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import { loadedOnce, replacedPart } from '../../src/base/replaced-part.js';

const gone = () => import(`./there-is-no-such-file-${Math.random()}.js`);

it('says that files were replaced, and what to do', () => {
  const missing = Object.assign(new Error('Cannot find module'), { code: 'ERR_MODULE_NOT_FOUND' });
  const error = replacedPart(missing) as BridgeError;
  expect(error).toBeInstanceOf(BridgeError);
  expect(error.code).toBe('E_REPLACED');
  expect(error.advice).toMatch(/replaced or removed while it ran.* Restart the bridge/);
  expect(error.cause).toBe(missing);
});

it('says it of a part of another version, which lacks what is imported', () => {
  expect(replacedPart(new SyntaxError("does not provide an export named 'x'"))).toBeInstanceOf(BridgeError);
});

it('leaves every other failure as it is', () => {
  const own = new TypeError('x is not a function');
  expect(replacedPart(own)).toBe(own);
});

it('loads once for all who ask', async () => {
  let loads = 0;
  const load = loadedOnce(async () => ++loads);
  expect(await Promise.all([load(), load()])).toEqual([1, 1]);
  expect(await load()).toBe(1);
});

it('tries again after a failure', async () => {
  let isThere = false;
  const load = loadedOnce(async () => (isThere ? 'loaded' : await gone()));
  await expect(load()).rejects.toThrow();
  isThere = true;
  expect(await load()).toBe('loaded');
});
