// The trace that a call is part of, by the W3C's three texts, which MCP carries in `_meta` under their plain names (SEP-414).
// Senders are believed in nothing: texts that are not well formed are left out, others go on as they are. Where spans
// are recorded, each step has a span of its own, and only the id of the span in `traceparent` changes on the way.

import { randomBytes } from './crypto.js';

/** A step of a trace as it is told of: ids in hex, `parent` undefined for the first step of all. */
export type TraceSpan = { readonly trace: string; readonly id: string; readonly parent: string | undefined };

/** Texts for the `_meta` of a request; `span` is the step that they name, where it is recorded. */
export type Trace = {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
  readonly span?: TraceSpan;
};

/** Whether the steps of a trace are recorded; `isParentSampled` is undefined for a trace that begins here. */
export type Sampler = (traceId: string, isParentSampled: boolean | undefined) => boolean;

/** Version, trace, span, flags; a later version may go on behind a further dash. */
const TRACEPARENT =
  /^(?!ff)(?<version>[0-9a-f]{2})-(?<trace>[0-9a-f]{32})-(?<id>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<rest>-.*)?$/;
const ZEROS = /^0+$/;
const PRINTED = /^[\t\x20-\x7e]+$/;
/** The W3C has 512 characters of a tracestate carried, and 8,192 bytes of baggage; nobody is sent more of it. */
const MAX_CHARS = { tracestate: 512, baggage: 8192 };
const SAMPLED = 1;

/** The trace that the `_meta` of a request names; undefined where it names none. Takes any value. */
export function traceIn(meta: unknown): Trace | undefined {
  const { traceparent, tracestate, baggage } = Object(meta) as Readonly<Record<string, unknown>>;
  const isParent = typeof traceparent === 'string' && partsOf(traceparent) !== undefined;
  // A state without its parent means nothing.
  const isState = isParent && isText(tracestate, MAX_CHARS.tracestate);
  const isBaggage = isText(baggage, MAX_CHARS.baggage);
  if (!isParent && !isBaggage) return undefined;
  return {
    ...(isParent ? { traceparent } : {}),
    ...(isState ? { tracestate } : {}),
    ...(isBaggage ? { baggage } : {}),
  };
}

const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.length <= most && PRINTED.test(value);

function partsOf(
  traceparent: string,
): { readonly trace: string; readonly id: string; readonly flags: number } | undefined {
  const { version, trace = '', id = '', flags = '', rest } = TRACEPARENT.exec(traceparent)?.groups ?? {};
  if (version === undefined || ZEROS.test(trace) || ZEROS.test(id)) return undefined;
  if (version === '00' && rest !== undefined) return undefined;
  return { trace, id, flags: Number.parseInt(flags, 16) };
}

/** The members of `_meta` by which a server is told of the trace; empty without one. */
export function metaOf(trace: Trace | undefined): Readonly<Record<string, string>> {
  const { span: _span, ...texts } = trace ?? {};
  return texts;
}

/**
 * The first step here of a trace, which goes on with that of the caller or begins now. Where `sampler` does not want it
 * recorded, what is handed on is the caller's own.
 */
export function beginSpan(given: Trace | undefined, sampler: Sampler | undefined): Trace | undefined {
  if (sampler === undefined) return given;
  const parent = given?.traceparent === undefined ? undefined : partsOf(given.traceparent);
  const trace = parent?.trace ?? hex(16);
  const isSampled = sampler(trace, parent && (parent.flags & SAMPLED) !== 0);
  return isSampled ? stepOf({ ...given }, trace, parent?.id, (parent?.flags ?? 0) | SAMPLED) : given;
}

/** A step below that of `trace`; the same texts where its steps are not recorded. */
export function childSpan(trace: Trace | undefined): Trace | undefined {
  const parts = trace?.traceparent === undefined ? undefined : partsOf(trace.traceparent);
  if (trace?.span === undefined || parts === undefined) return trace;
  return stepOf(trace, parts.trace, trace.span.id, parts.flags);
}

function stepOf(texts: Trace, trace: string, parent: string | undefined, flags: number): Trace {
  const id = hex(8);
  const traceparent = `00-${trace}-${id}-${flags.toString(16).padStart(2, '0')}`;
  return { ...texts, traceparent, span: { trace, id, parent } };
}

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
