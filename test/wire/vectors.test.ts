// The golden frames that both languages read: what is valid here is what the Python side sends. Host frames are only
// typed in TypeScript; their fields are checked on the Python side.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { guestFrame, supervisorFrame } from '../../src/wire/frames.js';

const vector = z.strictObject({
  direction: z.enum(['guest', 'supervisor', 'host']),
  valid: z.boolean(),
  why: z.string(),
  frame: z.record(z.string(), z.unknown()),
});

const vectors = readFileSync(new URL('../vectors/frames.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => vector.parse(JSON.parse(line)));

const schemas = { guest: guestFrame, supervisor: supervisorFrame } as const;

describe.each(['guest', 'supervisor'] as const)('frames from the %s', (direction) => {
  const schema = schemas[direction];
  const own = vectors.filter((one) => one.direction === direction);

  it.each(own)('$valid: $why', ({ frame, valid }) => {
    expect(schema.safeParse(frame).success).toBe(valid);
  });

  it('every type has a valid vector', () => {
    const types = schema.options.map((option) => option.shape.type.value);
    const seen = own.filter((one) => one.valid).map((one) => one.frame['type']);
    expect([...new Set(seen)].sort()).toEqual([...types].sort());
  });
});
