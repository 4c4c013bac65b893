import { expect, it } from 'vitest';
import { isLoopback } from '../../src/base/text/loopback.js';

it.each(['localhost', 'LocalHost', '127.0.0.1', '127.9.8.7', '::1', '[::1]', '::ffff:127.0.0.1'])(
  '%s is this machine',
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

it.each(['', 'localhost.example.com', 'my.localhost', '127.0.0.1.nip.io', '127.999.0.1', '0.0.0.0', '[::2]'])(
  "'%s' may be another machine",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
