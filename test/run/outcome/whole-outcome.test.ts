// An outcome that went through JSON is shown as the one that did not.

import { expect, it } from 'vitest';
import { RawJson, stringify } from '../../../src/base/json/json-text.js';
import { payloadOf } from '../../../src/run/answer/payload.js';
import { type Outcome, outcomeFromWire, outcomeToWire } from '../../../src/run/outcome/outcome.js';

const OUTCOME: Outcome = {
  status: 'success',
  exitCode: 0,
  stdout: { text: 'out', dropped: 0 },
  stderr: { text: '', dropped: 0 },
  servers: ['github'],
  error: undefined,
  result: { repr: "{'n': 1180591620717411303424}", json: new RawJson('{"n":1180591620717411303424}') },
  left: {
    files: [
      {
        ...{ name: 'out/a.bin', mimeType: 'application/octet-stream', text: undefined, kept: undefined },
        content: Buffer.from([0, 255, 10]),
      },
    ],
    ...{ result: undefined, isResultSpare: false, skipped: [], skippedMore: 0, keepSeconds: 0 },
    trouble: undefined,
  },
  note: 'a note',
  pictures: {
    shown: [{ number: 1, kind: 'png', width: 2, height: 3, bytes: 4, data: 'AAAA' }],
    leftOut: [],
  },
  session: { name: 'data', handle: 's-1', call: 2, says: [] },
  timeoutSeconds: 30,
  durationMs: 12.5,
  calls: 1,
};

it('is the same there and back', () => {
  const back = outcomeFromWire(JSON.parse(stringify(outcomeToWire(OUTCOME))) as object);
  expect(stringify(payloadOf(back, true))).toBe(stringify(payloadOf(OUTCOME, true)));
  expect(back.left?.files[0]?.content).toEqual(Buffer.from([0, 255, 10]));
  expect(back.result?.repr).toBe(OUTCOME.result?.repr);
  expect(back.pictures).toEqual(OUTCOME.pictures);
});
