// A transcript has what the guest of one run has said so far, capped as it arrives: its output, its pictures, its value, how it
// failed, where it was. Everything in it is a claim; conclude.ts decides what to make of it.

import { RawJson, sliceAt, wellFormedJson } from '../../base/json/json-text.js';
import type { OutputStream } from '../../base/process/streams.js';
import { clipHarmless, HeadTail, inOneLine, makeHarmless } from '../../base/text/text.js';
import type { GuestError } from '../../sandbox/conversation/sandbox.js';
import type { GuestFrame } from '../../wire/frames.js';
import type { KeptThing } from '../artifacts/kept-run.js';
import { MAX_OUTPUT_CHARS, MAX_REPR_CHARS } from '../artifacts/shown-amounts.js';
import { type Captured, capturedWithGap, type Outcome, type ResultValue } from './outcome.js';
import { NO_PICTURES, PictureCollector, type Pictures } from './pictures.js';

/** A larger value is shown by its clipped repr alone: a model cannot use it, and clients choke on it. */
const MAX_RESULT_JSON_CHARS = 100_000;
const MAX_WHERE_LINES = 20;

export class Transcript {
  readonly #streams = { stdout: new HeadTail(MAX_OUTPUT_CHARS), stderr: new HeadTail(MAX_OUTPUT_CHARS) };
  /** Undefined where a stream was not kept. */
  #whole: Readonly<Record<OutputStream, KeptThing | undefined>> = { stdout: undefined, stderr: undefined };
  readonly #pictures = new PictureCollector();
  #result: ResultValue | undefined;
  #raised: GuestError | undefined;
  #where: readonly string[] = [];

  addOutput(stream: OutputStream, text: string): void {
    this.#streams[stream].add(text);
  }

  /** Keeps what a frame tells; of a result or an exception the first counts. `text` is the frame's own line. */
  add(frame: Extract<GuestFrame, { type: 'picture' | 'result' | 'raised' | 'where' }>, text: string): void {
    switch (frame.type) {
      case 'picture':
        this.#pictures.add(frame.data);
        return;
      case 'result':
        this.#result ??= {
          repr: clipHarmless(frame.repr, MAX_REPR_CHARS),
          json: frame.exact ? resultJson(text) : undefined,
        };
        return;
      case 'raised':
        this.#raised ??= frame.error;
        return;
      case 'where':
        this.#where = frame.lines.slice(0, MAX_WHERE_LINES).map((line) => inOneLine(makeHarmless(line)));
        return;
    }
  }

  /** Where something is left out of a stream, it is said from now on where all of it can be read. */
  keptWhole(whole: Readonly<Record<OutputStream, KeptThing | undefined>>): void {
    this.#whole = whole;
  }

  capturedStream(stream: OutputStream): Captured {
    return capturedOf(this.#streams[stream], this.#whole[stream]);
  }

  get pictures(): Pictures {
    return this.#pictures.pictures;
  }

  get result(): ResultValue | undefined {
    return this.#result;
  }

  get raised(): GuestError | undefined {
    return this.#raised;
  }

  /** Innermost last; empty when the guest did not say. */
  get where(): readonly string[] {
    return this.#where;
  }
}

function resultJson(text: string): RawJson | undefined {
  const json = sliceAt(text, ['value']);
  if (json === undefined || json === 'null' || json.length > MAX_RESULT_JSON_CHARS) return undefined;
  return new RawJson(wellFormedJson(json));
}

// Outcome of a call that has not ended when its host has waited long enough.

export const runningOutcome = ({
  elapsedMs,
  stdout,
  stderr,
  timeoutSeconds,
  ...goesOn
}: NonNullable<Outcome['goesOn']> & {
  readonly elapsedMs: number;
  readonly timeoutSeconds: number;
  /** Output of the call since it was last asked. */
  readonly stdout: Captured;
  readonly stderr: Captured;
}): Outcome => ({
  status: 'running',
  exitCode: undefined,
  stdout,
  stderr,
  servers: [],
  error: undefined,
  result: undefined,
  note: undefined,
  pictures: NO_PICTURES,
  timeoutSeconds,
  durationMs: elapsedMs,
  calls: 0,
  goesOn,
});

/** A stream as an answer shows it. `whole` is where all of it was kept, which is known when its code has ended. */
export function capturedOf(kept: HeadTail, whole?: KeptThing): Captured {
  if (kept.dropped === 0) return { text: makeHarmless(kept.toString()), dropped: 0, whole };
  const { dropped, droppedBytes, head, tail } = kept;
  // One by one: a sequence that the code has left open at the end of the head must not swallow the line between.
  return capturedWithGap(makeHarmless(head), makeHarmless(tail), { dropped, droppedBytes, whole });
}
