// What every command begins with: the environment read once into settings, and a log on stderr. The only place,
// with output.ts, that looks at process.env.

import { type BridgeEvent, fanOut, type Observer } from '../base/events.js';
import { Redactor } from '../base/redact.js';
import type { DiscoverContext } from '../config/discover.js';
import { hostFacts } from '../config/host-facts.js';
import type { ImportedSettings } from '../config/languages/imported-settings.js';
import { readIsolatorFile } from '../config/languages/isolator-file.js';
import { parseSettings, type Settings } from '../config/settings.js';
import { type LogThreshold, logObserver, openLog } from '../observe/log.js';
import { type LossyWriter, stderrWriter } from '../observe/lossy-writer.js';
import { PolicyBook } from '../run/policy/policy-book.js';
import { coloursFor } from './output.js';

export type Prepared = {
  readonly settings: Settings;
  /** Sentences about the variables, already logged, as are those about imported settings. */
  readonly warnings: readonly string[];
  readonly discovery: DiscoverContext;
  readonly observer: Observer;
  /** Read now, so that one that cannot be used stops every command. */
  readonly policyBook: PolicyBook;
  /** Knows what is secret in the environment, and learns what is in the configuration. */
  readonly redactor: Redactor;
  /** What the log writes to; for whatever else must reach stderr without waiting for its reader. */
  readonly stderr: LossyWriter;
};

/**
 * `quietLevel` holds where the user did not ask for a level; a command that ends by itself keeps no sandbox waiting and
 * nothing for later.
 * Throws E_SETTINGS.
 */
export function prepare(quietLevel: LogThreshold, life: 'serves' | 'ends'): Prepared {
  const host = hostFacts();
  const { env } = process;
  const { settings: own, warnings } = parseSettings(env, host);
  const { importedFile } = own;
  const imported = importedFile === undefined ? undefined : readIsolatorFile(importedFile, own, host);
  const settings = {
    ...own,
    imported,
    snippetsDir: snippetsDirOf(own, imported),
    ...(life === 'ends' ? { warm: 0, keepSeconds: 0 } : {}),
  };
  const stderr = stderrWriter();
  const log = openLog(
    {
      level: env['MCP_BRIDGE_LOG_LEVEL'] ? settings.logLevel : quietLevel,
      format: process.stderr.isTTY ? 'line' : 'json',
      colour: coloursFor(process.stderr).isColorSupported,
    },
    stderr,
  );
  for (const warning of warnings) log.warn(warning);
  for (const warning of imported?.warnings ?? []) log.warn(`${importedFile}: ${warning}`);
  const redactor = new Redactor();
  redactor.addSecrets(env, settings.downstreamEnv);
  const observer = logObserver(log, (text) => redactor.redact(text));
  const policyBook = new PolicyBook(settings, host, observer);
  return { settings, warnings, discovery: { settings, env, host }, observer, policyBook, redactor, stderr };
}

/** What a variable says comes before imported settings, and that before the folder that lies ready. */
const snippetsDirOf = (
  { explicitlySet, snippetsDir }: Settings,
  imported: ImportedSettings | undefined,
): string | undefined =>
  explicitlySet.has('MCP_BRIDGE_SNIPPETS') ? snippetsDir : (imported?.snippetsDir ?? snippetsDir);

/** `observer`, with the slow steps before a first run also shown to whoever waits at the terminal. */
export function withProgress(observer: Observer, show: (message: string) => void): Observer {
  return fanOut(observer, (event: BridgeEvent) => {
    if (event.type === 'image.progress') show(`${event.image}: ${event.message}`);
    if (event.type === 'downstream.connecting') show(`starting ${event.server}`);
  });
}
