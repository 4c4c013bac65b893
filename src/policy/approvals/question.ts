// A question to a person about calls that wait, and where it waits besides the agent.

import { mapStringTexts } from '../../base/json/json-text.js';
import { shownName } from '../../base/text/shown-name.js';
import { inOneLine } from '../../base/text/text.js';
import { madeVisibleJson, makeVisible } from '../../base/text/unseen.js';

/** Decisions that a question may have; `always` is written into the policy file. */
export const DECISIONS = ['once', 'run', 'session', 'always', 'no'] as const;
export type Decision = (typeof DECISIONS)[number];
/** Longest word that goes with an answer. It is read by code and written into the policy file. */
export const MAX_WORD_CHARS = 500;
export type ApprovalAnswer = {
  readonly decision: Decision;
  /** Comment of a person on a `no`, or the reason of an `always`. */
  readonly word?: string;
  readonly by: 'agent' | 'page' | 'command line';
  /** Who, as far as known: a user's name, a client. */
  readonly who: string;
};
export type Question = {
  /** `q-` and 16 letters and digits (drawnLetters). */
  readonly id: string;
  readonly object: {
    readonly kind: 'tool';
    readonly server: string;
    readonly tool: string;
    readonly calls: readonly {
      /** The arguments as they will be sent, JSON text. */
      readonly arguments: string;
    }[];
  };
  /** Which rule asks, as a noun. */
  readonly rule: string;
  readonly run: string;
  readonly client: string;
  /** Undefined for the local user. */
  readonly principal: string | undefined;
  /** Name of the session, where the run is one of a session. */
  readonly session: string | undefined;
  /** Which decisions are offered. */
  readonly offers: readonly Decision[];
  /** ISO 8601. */
  readonly askedAt: string;
  readonly expiresAt: string;
};
/** Where a question waits besides the agent: the page and the command line. */
export interface Inbox extends AsyncDisposable {
  /** Puts it where it can be answered. `answered` resolves once, never rejects; it stays pending when withdrawn. */
  post(question: Question): {
    readonly answered: Promise<ApprovalAnswer>;
    /** Takes it away; `why` is told to whoever looks: answered elsewhere, expired, cancelled. */
    readonly withdraw: (why: string) => void;
  };
  /** The page of one question for URL elicitation and messages; undefined where there is no page. Starts it on first need. */
  pageOf(id: string): Promise<string | undefined>;
}

// A question in words, for a dialog of the agent's client. Server and tool come first, then who asks and why, and then each
// call as it will be sent, whole. Nothing of the arguments can look like a line of ours: each of their lines has a `>` ahead of
// it, ends before a dialog would break it, and shows what does not show as the escape that JSON has for it.

/** Dialogs of terminals are hardly narrower. */
const LINE_CHARS = 96;
const HIGH_SURROGATE = /[\ud800-\udbff]/;
/** Longer than this a question is not put into a dialog: nobody could read it there, and clients cut it. */
export const MAX_DIALOG_CHARS = 2_000;

/** White space that is no plain space, and the braille cell without a dot: a row of them would push the rest out of sight. */
const BLANK = /[^\S ]|\u2800/gu;
/** A row of plain spaces says how long it is. */
const SPACES = / {4,}/g;

/** All of it, however long. */
export const questionText = (question: Question): string =>
  [headOf(question), ...question.object.calls.map((call, at) => callText(call.arguments, at))].join('\n');

/** Text of a question without the arguments. */
export function headOf({ object, rule, run, client }: Question): string {
  const { server, tool, calls } = object;
  const many = calls.length === 1 ? 'One call' : `${calls.length} calls`;
  return [
    `Server '${whole(server)}', tool '${whole(tool)}': may this be called? ${many}.`,
    `Asked by ${inOneLine(makeVisible(rule))}, for run ${shownName(run)} of ${shownName(client)}.`,
    'Each line with a > below shows what the code wants to send.',
  ].join('\n');
}

/** Cuts a text into pieces of LINE_CHARS characters, at least one piece; no surrogate pair is torn. */
function inPieces(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let start = 0, end = 0; start < text.length || pieces.length === 0; start = end) {
    end = start + LINE_CHARS;
    if (HIGH_SURROGATE.test(text[end - 1] ?? '')) end++;
    pieces.push(text.slice(start, end));
  }
  return pieces;
}

function callText(args: string, at: number): string {
  const lines = inPieces(readableJson(args));
  return lines.map((line, index) => `${index === 0 ? `${at + 1}>` : ' >'} ${line}`).join('\n');
}

/** JSON that says the same: letters of all scripts as themselves, what does not show as escapes, and all in one line. */
export const readableJson = (json: string): string =>
  madeVisibleJson(
    mapStringTexts(
      json.replace(/\s+/g, (space) => (/[^ ]/.test(space) ? ' ' : space)),
      JSON.stringify,
    ),
  )
    .replace(BLANK, escapeChar)
    .replace(SPACES, (row) => ` [${row.length} spaces] `);

/** However long: what is decided here is decided of the thing that has this name. */
const whole = (name: string): string => shownName(name, Number.POSITIVE_INFINITY);

const escapeChar = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
