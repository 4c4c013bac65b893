import { expect, it } from 'vitest';
import { Bucket } from '../../src/base/waiting/bucket.js';

it('a bucket holds so much, grows evenly, and is overdrawn by no more than it holds', () => {
  let now = 0;
  const bucket = new Bucket({ burst: 10, perSecond: 2 }, () => now);
  expect([bucket.left, bucket.isFull, bucket.msUntil(10)]).toEqual([10, true, 0]);
  bucket.spend(12);
  expect([bucket.left, bucket.isFull, bucket.msUntil(0), bucket.msUntil(1)]).toEqual([
    -2,
    false,
    1_000,
    1_500,
  ]);
  now = 1_500;
  expect([bucket.left, bucket.msUntil(1)]).toEqual([1, 0]);
  bucket.spend(1_000);
  expect([bucket.left, bucket.msUntil(0)]).toEqual([-10, 5_000]);
  now = 3_600_000;
  expect(bucket.left).toBe(10);
});
