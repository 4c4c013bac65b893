// Servers that stand in a file as they should and cannot be used all the same: their command is not there, or their last start
// has failed. For the commands that look at servers without starting them. Starts nothing.

import { isAbsolute } from 'node:path';
import { type Environment, mergedVariables } from '../../base/process/environment.js';
import { findProgram } from '../../base/process/start-of.js';
import { inOneLine, withoutFullStop } from '../../base/text/text.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { KeptCatalog, refreshCommand } from '../../servers/catalog/kept-catalog.js';
import type { Settings } from '../../settings/environment/settings.js';

/** `trouble` goes on after the server's name; `remedy` is a sentence. */
export type ServerTrouble = {
  readonly state: 'missing' | 'failed';
  readonly trouble: string;
  readonly remedy: string;
};

/** Troubles by server name; of those servers alone that have one. */
export function serverTroubles(
  specs: readonly DownstreamSpec[],
  env: Environment,
  { stateDir }: Pick<Settings, 'stateDir'>,
): ReadonlyMap<string, ServerTrouble> {
  const catalog = new KeptCatalog(stateDir, () => {});
  return new Map(
    specs.flatMap((spec) => {
      const trouble = missingCommand(spec, env) ?? failedStart(spec, catalog.lastFailure(spec));
      return trouble === undefined ? [] : [[spec.name, trouble] as const];
    }),
  );
}

/** Undefined where the program is found, or where only the start can tell. */
function missingCommand(spec: DownstreamSpec, env: Environment): ServerTrouble | undefined {
  if (spec.transport !== 'stdio') return undefined;
  const { command, env: own, source } = spec;
  // A relative path with a folder in it counts from the server's own directory, which may be made later.
  const isRelative = !isAbsolute(command) && /[/\\]/.test(command);
  if (isRelative || findProgram(command, mergedVariables(env, own, process.platform)) !== undefined)
    return undefined;
  const program = programOf(command);
  return {
    state: 'missing',
    trouble: `its command ${program} was not found`,
    remedy: `Install ${program}, or correct the entry in ${source.file}.`,
  };
}

function failedStart(
  { name }: DownstreamSpec,
  last: ReturnType<KeptCatalog['lastFailure']>,
): ServerTrouble | undefined {
  if (last === undefined) return undefined;
  const when = last.at.slice(0, 16).replace('T', ' ');
  const again = `Try it again with \`${refreshCommand(name)}\`.`;
  return {
    state: 'failed',
    trouble: `its last start failed (${when}): ${withoutFullStop(inOneLine(last.reason))}`,
    remedy: last.remedy === undefined ? again : `${last.remedy} ${again}`,
  };
}

/** People write whole command lines there; only an absolute path may go on after a space. */
export function programOf(command: string): string {
  const path = /^([/\\~]|[A-Za-z]:[\\/])/.test(command) ? /^.*[\\/]\S*/s : /^\S*/;
  return path.exec(command.trim())?.[0] ?? '';
}
