// An Outcome as JSON and back, whole: for the bridge's own command line, which shows a call that another process of ours has
// made as if it had made it itself. Both ends are of the same build.

import { RawJson } from '../../base/json/json-text.js';
import type { Outcome } from '../outcome/outcome.js';

/** The member of a result's `_meta` that has it. */
export const OUTCOME_KEY = 'mcp-sandbox-bridge/outcome';
/** The notification that has a piece of what the call prints: `stream`, `text`, and `base64` where it is no text. */
export const OUTPUT_METHOD = 'notifications/mcp-sandbox-bridge/output';

export function outcomeToWire(outcome: Outcome): { readonly [name: string]: unknown } {
  const { left, result } = outcome;
  const files = left?.files.map(({ content, ...file }) => ({ ...file, content: content.toString('base64') }));
  return {
    ...outcome,
    ...(left === undefined ? {} : { left: { ...left, files } }),
    ...(result === undefined ? {} : { result: { ...result, json: result.json?.text } }),
  };
}

/** Restores an outcome from what `outcomeToWire` gave, parsed from JSON. */
export function outcomeFromWire(value: object): Outcome {
  const { left, result, ...outcome } = value as Omit<Outcome, 'left' | 'result'> & {
    readonly left?: Omit<NonNullable<Outcome['left']>, 'files'> & {
      readonly files: readonly (Omit<NonNullable<Outcome['left']>['files'][number], 'content'> & {
        readonly content: string;
      })[];
    };
    readonly result?: { readonly repr: string; readonly json?: string };
  };
  const files = left?.files.map((file) => ({ ...file, content: Buffer.from(file.content, 'base64') })) ?? [];
  return {
    ...outcome,
    left: left && { ...left, files },
    result: result && { ...result, json: result.json === undefined ? undefined : new RawJson(result.json) },
  };
}
