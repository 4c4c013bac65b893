// Events of an engine: its commands, and images while they are fetched or built.

import { type EventWords, milliseconds, oneLine } from '../base/log/events.js';

declare module '../base/log/events.js' {
  interface EventTable {
    readonly 'engine.command': {
      readonly argv: readonly string[];
      readonly durationMs: number;
      readonly exitCode: number | undefined;
    };
    readonly 'engine.trouble': { readonly message: string };
    /** Sandboxes are started by the engine's client and not from a template. */
    readonly 'engine.byClient': { readonly why: string };
    readonly 'image.progress': { readonly image: string; readonly message: string };
    /** Bytes of layers that a pull has brought so far, as they were sent. */
    readonly 'image.received': { readonly image: string; readonly bytes: number };
    /** Our own image is made, since `instead` could not be pulled. */
    readonly 'image.building': {
      readonly image: string;
      readonly instead: string;
      /** Why not. */
      readonly why: string;
    };
    readonly 'image.built': { readonly image: string; readonly instead: string; readonly why: string };
    /** The image that imported settings name is not present: sandboxes start from our own, `by`. */
    readonly 'image.replaced': {
      readonly image: string;
      /** The settings' `source`. */
      readonly namedIn: string;
      readonly by: string;
    };
  }
}

export const engineEventWords = {
  'engine.command': ({ argv, exitCode, durationMs }) => [
    'debug',
    `${commandLine(argv)}: exit ${exitCode ?? 'unknown'} after ${milliseconds(durationMs)}`,
  ],
  'engine.trouble': ({ message }) => ['warn', `engine: ${oneLine(message)}`],
  'engine.byClient': ({ why }) => [
    'info',
    `engine: sandboxes are started by the engine's client: ${oneLine(why)}`,
  ],
  'image.progress': ({ image, message }) => ['info', `image ${image}: ${oneLine(message)}`],
  'image.received': ({ image, bytes }) => ['debug', `image ${oneLine(image)}: ${bytes} bytes received`],
  'image.building': ({ image, instead, why }) => [
    'info',
    `building ${oneLine(image)}, since ${oneLine(instead)} cannot be pulled: ${oneLine(why)}`,
  ],
  'image.built': ({ image, instead }) => ['info', `built ${oneLine(image)} in place of ${oneLine(instead)}`],
  'image.replaced': ({ image, namedIn, by }) => [
    'warn',
    `image ${oneLine(image)}, named in ${oneLine(namedIn)}, is not here, so ${oneLine(by)} is used instead; pull it, or remove it from the file`,
  ],
} satisfies Partial<EventWords>;

/** The argv with the values of variables left out. */
function commandLine(argv: readonly string[]): string {
  const withoutValues = argv.map((arg, index) => {
    if (/^--env=/.test(arg)) return arg.replace(/^(--env=[^=]*)=.*$/s, '$1=…');
    const afterOption = ['--env', '-e'].includes(argv[index - 1] ?? '');
    return afterOption ? arg.replace(/=.*$/s, '=…') : arg;
  });
  return oneLine(withoutValues.join(' '));
}
