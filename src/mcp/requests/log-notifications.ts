// Output of the code, as log notifications while the code runs, for a client that has set a log level; none before the client
// has. Whole lines in batches, harmless, and no more than the answer could hold: the rest of a flood is in the answer alone.

import type { OutputStream } from '../../base/process/streams.js';
import { clipHarmless } from '../../base/text/text.js';
import { MAX_OUTPUT_CHARS } from '../../run/artifacts/shown-amounts.js';

/** The severities of RFC 5424, the least severe first. */
export const LOG_LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;
export type McpLogLevel = (typeof LOG_LEVELS)[number];

export type LogParams = {
  readonly level: McpLogLevel;
  readonly logger: string;
  readonly data: { readonly stream: OutputStream; readonly text: string } | string;
};

/** Programs say on stderr how they fare as well as what is wrong, so it is above stdout and below a warning. */
const LEVEL_OF = { stdout: 'info', stderr: 'notice' } as const;
/** Five batches a second look alive; a line each would be a flood. */
const BATCH_MS = 200;
/** An unfinished line waits for its end for so long, or until it is so long. */
const MAX_OPEN_BATCHES = 5;
const MAX_OPEN_CHARS = 2_000;

const REST = 'The rest of the output is in the answer.';

/** The output of one run, said to come from `logger`. Free while `threshold` is undefined, which is asked at every piece. */
export class OutputLog implements Disposable {
  readonly #logger: string;
  readonly #threshold: () => McpLogLevel | undefined;
  readonly #send: (params: LogParams) => void;
  readonly #open: Record<OutputStream, { text: string; batches: number }> = {
    stdout: { text: '', batches: 0 },
    stderr: { text: '', batches: 0 },
  };
  #room = MAX_OUTPUT_CHARS;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(logger: string, threshold: () => McpLogLevel | undefined, send: (params: LogParams) => void) {
    this.#logger = logger;
    this.#threshold = threshold;
    this.#send = send;
  }

  add(stream: OutputStream, text: string): void {
    if (this.#ended || !this.#isWanted(LEVEL_OF[stream])) return;
    const open = this.#open[stream];
    open.text += text.slice(0, this.#room);
    this.#room -= Math.min(text.length, this.#room);
    if (this.#room === 0) return this.#end(REST);
    this.#timer ??= setInterval(() => this.#flush(false), BATCH_MS).unref();
  }

  /** Tells what is left to tell, and nothing more. */
  [Symbol.dispose](): void {
    this.#end(undefined);
  }

  #end(lastLine: string | undefined): void {
    if (this.#ended) return;
    this.#flush(true);
    this.#ended = true;
    clearInterval(this.#timer);
    if (lastLine !== undefined) this.#send({ level: LEVEL_OF.stdout, logger: this.#logger, data: lastLine });
  }

  #flush(everything: boolean): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const open = this.#open[stream];
      if (open.text === '') {
        open.batches = 0;
        continue;
      }
      const isDue = everything || ++open.batches >= MAX_OPEN_BATCHES || open.text.length > MAX_OPEN_CHARS;
      const end = isDue ? open.text.length : open.text.lastIndexOf('\n') + 1;
      if (end === 0) continue;
      const text = clipHarmless(open.text.slice(0, end), MAX_OUTPUT_CHARS).replace(/\n$/, '');
      open.text = open.text.slice(end);
      open.batches = 0;
      const level = LEVEL_OF[stream];
      if (this.#isWanted(level)) this.#send({ level, logger: this.#logger, data: { stream, text } });
    }
    if (this.#open.stdout.text === '' && this.#open.stderr.text === '') {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #isWanted(level: McpLogLevel): boolean {
    const threshold = this.#threshold();
    return threshold !== undefined && LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(threshold);
  }
}
