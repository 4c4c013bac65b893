// The audit: folds events into one line for each run and each tool call, for whoever asks later what an agent did.
// Keeps sizes and digests of data, and the arguments only where the operator wants them. Costs no run anything.

import type { BridgeEvent, Observer } from '../../base/log/events.js';
import { withoutSecretMembers } from '../../base/secrets/by-key.js';
import type { Redact } from '../../base/secrets/redact.js';
import { shownName } from '../../base/text/shown-name.js';
import { clip, clipHarmless, linesOf } from '../../base/text/text.js';
import { AuditFiles } from './audit-files.js';
import type { AuditLine, CallLine, LoginLine, QuestionLine, RunLine } from './audit-line.js';
import { digestOf } from './digest.js';

/** One run may make a million calls, which would push what other runs did out of the files. */
const MAX_CALLS_LISTED = 10_000;
const MAX_NAME_CHARS = 256;
/** Longest text of all rules together that a call was judged by. */
const MAX_RULE_CHARS = 10_000;
/** An id of a principal: the address of an issuer and a subject. */
const MAX_PRINCIPAL_CHARS = 2_000;
const MAX_REASON_CHARS = 200;
/** A question may be about two hundred calls. */
const MAX_CALLS_DIGESTED = 50;
const MAX_WORD_CHARS = 500;
const MAX_ARGUMENTS_CHARS = 16 * 1024;
/** A run that was refused has named servers as it liked. */
const MAX_SERVERS_LISTED = 100;
const HOUR_MS = 3_600_000;
/** How long what follows a line waits for others, and how many wait: a thousand calls of a second are a hundred writes. */
const GATHER_MS = 10;
const MAX_GATHERED = 32;
/** Refusals cost their sender little, and would otherwise push what runs did out of the files. */
const MAX_IN_AN_HOUR = { accepted: 1_000, refused: 60, rejected: 1_000 } as const;

const KEPT = [
  'run.started',
  'run.call',
  'run.asked',
  'run.ended',
  'run.rejected',
  'auth.accepted',
  'auth.refused',
] as const;

/** An event that gets a line, or is a part of one. */
type ToldEvent<Type = (typeof KEPT)[number]> = Extract<BridgeEvent, { type: Type }>;

const lineOf = (line: AuditLine): string => `${JSON.stringify(line)}\n`;

export class Audit implements AsyncDisposable {
  readonly #files: AuditFiles;
  #told: { readonly event: ToldEvent; readonly atMs: number }[] = [];
  #takenAt = Number.NEGATIVE_INFINITY;
  readonly #redact: Redact;
  readonly #running = new Map<
    string,
    Pick<
      RunLine,
      'at' | 'principal' | 'client' | 'language' | 'code' | 'argumentsText' | 'timeoutSeconds'
    > & {
      listed: number;
    }
  >();
  /** Lines of the present hour, and how many since the last line had none. */
  readonly #hourly = {
    accepted: { hour: 0, listed: 0, notListed: 0 },
    refused: { hour: 0, listed: 0, notListed: 0 },
    rejected: { hour: 0, listed: 0, notListed: 0 },
  };

  constructor({
    dir,
    quotaBytes,
    redact,
    observer,
  }: {
    /** Folder of the audit files, made where need be, for its owner alone. */
    readonly dir: string;
    /** Limit for all audit files together. */
    readonly quotaBytes: number;
    readonly redact: Redact;
    /** Hears that something cannot be kept: once until it can again. */
    readonly observer: Observer;
  }) {
    this.#files = new AuditFiles({
      dir,
      quotaBytes,
      onTrouble: (message) => observer({ type: 'audit.trouble', message }),
      lostLine: (lines, since) => lineOf({ kind: 'lost', at: new Date().toISOString(), since, lines }),
    });
    this.#redact = redact;
  }

  /**
   * An observer. Lines are made behind the answers that they are about: at once after a pause, else with others, at most ten
   * milliseconds later.
   */
  readonly observe = (event: BridgeEvent): void => {
    if (!(KEPT as readonly string[]).includes(event.type)) return;
    this.#told.push({ event: event as ToldEvent, atMs: Date.now() });
    const count = this.#told.length;
    if (count !== 1 && count !== MAX_GATHERED) return;
    const waitMs = count === 1 ? GATHER_MS - (performance.now() - this.#takenAt) : 0;
    if (waitMs <= 0) setImmediate(() => this.#take());
    else setTimeout(() => this.#take(), waitMs);
  };

  /** Resolves when what was told is on disk, or cannot be. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#take();
    return this.#files.close();
  }

  #take(): void {
    this.#takenAt = performance.now();
    const told = this.#told;
    this.#told = [];
    for (const { event, atMs } of told) this.#keep(event, new Date(atMs).toISOString());
  }

  #keep(event: ToldEvent, at: string): void {
    if (event.type === 'run.started') this.#begin(event, at);
    else if (event.type === 'run.call') this.#addCall(event, at);
    else if (event.type === 'run.asked') this.#addQuestion(event, at);
    else if (event.type === 'run.ended') this.#end(event);
    else if (event.type === 'run.rejected') this.#addRejected(event, at);
    else if (event.type === 'auth.accepted') this.#addLogin('accepted', event, at);
    else {
      const { status, message } = event;
      this.#addLogin('refused', event, at, { status, reason: clipHarmless(message, MAX_REASON_CHARS) });
    }
  }

  #begin(event: ToldEvent<'run.started'>, at: string): void {
    const { run, client, language, code, argumentsText, timeoutSeconds } = event;
    this.#running.set(run, {
      at,
      ...this.#principalField(event),
      client: this.#displayName(client),
      language,
      code,
      ...this.#argumentsField(argumentsText),
      timeoutSeconds,
      listed: 0,
    });
  }

  #addCall(event: ToldEvent<'run.call'>, at: string): void {
    const begun = this.#running.get(event.run);
    // An answer that nobody waits for any more comes after its run.
    if (begun !== undefined && ++begun.listed > MAX_CALLS_LISTED) return;
    const { run, call, server, tool, allowed, rule, error, durationMs, result, argumentsText } = event;
    const line: CallLine = {
      kind: 'call',
      at,
      run,
      ...this.#principalField(event),
      call,
      server: this.#displayName(server),
      tool: this.#displayName(tool),
      verdict: allowed ? 'allowed' : 'denied',
      rule: clipHarmless(this.#redact(rule), MAX_RULE_CHARS),
      ...(error === undefined ? {} : { error }),
      durationMs: Math.round(durationMs),
      arguments: event.arguments,
      ...(result === undefined ? {} : { result }),
      ...this.#argumentsField(argumentsText),
    };
    this.#write(line);
  }

  #addQuestion(event: ToldEvent<'run.asked'>, at: string): void {
    const { run, question, server, tool, calls, rule, answer, word, by, who, durationMs } = event;
    const line: QuestionLine = {
      kind: 'question',
      at,
      run,
      ...this.#principalField(event),
      question,
      server: this.#displayName(server),
      tool: this.#displayName(tool),
      calls: calls.slice(0, MAX_CALLS_DIGESTED).map(digestOf),
      callCount: calls.length,
      rule: clipHarmless(this.#redact(rule), MAX_RULE_CHARS),
      answer,
      ...(word === undefined ? {} : { word: clipHarmless(this.#redact(word), MAX_WORD_CHARS) }),
      ...(by === undefined ? {} : { by }),
      ...(who === undefined ? {} : { who: this.#displayName(who) }),
      durationMs: Math.round(durationMs),
    };
    this.#write(line);
  }

  #addRejected(event: ToldEvent<'run.rejected'>, at: string): void {
    const { run, client, servers, language, code, timeoutSeconds, error } = event;
    const before = this.#countLine('rejected');
    if (before === undefined) return;
    this.#write({
      kind: 'run',
      at,
      run,
      ...this.#principalField(event),
      client: this.#displayName(client),
      servers: servers.slice(0, MAX_SERVERS_LISTED).map((name) => this.#displayName(name)),
      language,
      code,
      timeoutSeconds,
      // A call whose host gave it up while it waited was refused by nobody.
      status: error.kind === 'E_CANCELLED' ? 'cancelled' : 'refused',
      error: this.#reason(error),
      durationMs: 0,
      calls: 0,
      listed: 0,
      notListed: 0,
      ...(before === 0 ? {} : { moreRefused: before }),
    });
  }

  /** How many like it had no line since the last one; undefined where this one gets none either. */
  #countLine(of: keyof typeof MAX_IN_AN_HOUR): number | undefined {
    const told = this.#hourly[of];
    const hour = Math.floor(performance.now() / HOUR_MS);
    if (told.hour !== hour) Object.assign(told, { hour, listed: 0 });
    if (told.listed >= MAX_IN_AN_HOUR[of]) {
      told.notListed++;
      return undefined;
    }
    told.listed++;
    const { notListed } = told;
    told.notListed = 0;
    return notListed;
  }

  #addLogin(
    outcome: LoginLine['outcome'],
    event: ToldEvent<'auth.accepted' | 'auth.refused'>,
    at: string,
    refusal: Pick<LoginLine, 'status' | 'reason'> = {},
  ): void {
    const notListed = this.#countLine(outcome);
    if (notListed === undefined) return;
    this.#write({
      kind: 'login',
      at,
      ...this.#principalField(event),
      outcome,
      remote: this.#displayName(event.from),
      method: this.#displayName(event.method),
      ...refusal,
      ...(notListed === 0 ? {} : { notListed }),
    });
  }

  #principalField({ principal }: BridgeEvent): Pick<RunLine, 'principal'> {
    // Not redacted: of `token:NAME#ID`, which looks like a key with its secret, nothing would be left to tell whose line it is.
    return principal === undefined ? {} : { principal: shownName(principal, MAX_PRINCIPAL_CHARS) };
  }

  #end({
    run,
    servers,
    data = [],
    status,
    error,
    durationMs,
    calls,
  }: Extract<BridgeEvent, { type: 'run.ended' }>): void {
    const begun = this.#running.get(run);
    this.#running.delete(run);
    if (begun === undefined) return;
    const { listed: told, ...said } = begun;
    const listed = Math.min(told, MAX_CALLS_LISTED);
    this.#write({
      kind: 'run',
      run,
      ...said,
      servers: servers.map((name) => this.#displayName(name)),
      ...(data.length === 0 ? {} : { data }),
      status,
      ...(error === undefined ? {} : { error: this.#reason(error) }),
      durationMs: Math.round(durationMs),
      calls,
      listed,
      notListed: told - listed,
    });
  }

  /** The first line only: what code raises may quote what a tool has answered, of which the audit keeps nothing. */
  #reason({
    kind,
    message,
  }: {
    readonly kind: string;
    readonly message: string;
  }): NonNullable<RunLine['error']> {
    const [first = ''] = linesOf(this.#redact(message));
    return { kind: this.#displayName(kind), message: clipHarmless(first, MAX_REASON_CHARS) };
  }

  #argumentsField(argumentsText: string | undefined): Pick<CallLine, 'argumentsText'> {
    if (argumentsText === undefined) return {};
    // Before it is cut: of half a secret nobody would know that it is one.
    return { argumentsText: clip(this.#redact(withoutSecretMembers(argumentsText)), MAX_ARGUMENTS_CHARS) };
  }

  #write(line: AuditLine): void {
    this.#files.append(lineOf(line));
  }

  #displayName(name: string): string {
    return shownName(this.#redact(name), MAX_NAME_CHARS);
  }
}
