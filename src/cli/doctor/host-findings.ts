// Findings of `doctor` about the bridge's entry in each host, looked at as that host would start it: its command, its arguments
// and its variables, not those of this terminal. Starts nothing.

import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type Environment, mergedVariables } from '../../base/process/environment.js';
import { ownCommand, shellLine } from '../../base/process/own-command.js';
import { findProgram } from '../../base/process/start-of.js';
import type { Discovery } from '../../hosts/discovery/discover.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { HOSTS, isProgram } from '../../hosts/records/all-hosts.js';
import { absentFiles } from '../../settings/environment/setting-paths.js';
import { readSettings, variableNames } from '../../settings/environment/settings.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { shownSetting, withoutSecrets } from '../servers/install.js';
import type { Finding } from './examination.js';

type OwnSpec = Extract<DownstreamSpec, { transport: 'stdio' }>;

/** Where programs are that a desktop finds without being told. */
const STANDARD_PATH = '/usr/local/bin:/usr/bin:/bin';
/** Variables that each process has of its own. */
const OWN_VALUES = new Set(['MCP_BRIDGE_DEPTH']);
const SCRIPT = /\.[cm]?[jt]s$/;
const MOST_NAMED = 6;

/** One for each entry, and one for what differs between them and from this terminal. */
export function hostFindings({ skipped }: Discovery, env: Environment, host: HostFacts): Finding[] {
  const entries = skipped.flatMap(({ reason, spec }) =>
    reason.kind === 'this-bridge' && spec?.transport === 'stdio' && isProgram(spec.source.host) ? [spec] : [],
  );
  const findings = entries.map((entry) => ({
    name: `host ${entry.source.host}`,
    ...examineEntry(entry, env, host),
  }));
  const differing = examineDifferences(entries, env);
  return [...findings, ...(differing === undefined ? [] : [{ name: 'hosts', ...differing }])];
}

function examineEntry(entry: OwnSpec, env: Environment, host: HostFacts): Omit<Finding, 'name'> {
  const start = examineStart(entry, env, host);
  if (start !== undefined) return start;
  const { settings, problems, warnings } = readSettings(entry.env, host);
  const wrong = [...problems, ...absentFiles(settings)];
  const where = `'${entry.name}' in ${entry.source.file}`;
  if (wrong.length > 0)
    return {
      status: 'fail',
      detail: `${where} runs no code: ${withoutSecrets(wrong.map(({ message }) => message).join(' '))}`,
      remedy: changeRemedy(
        entry,
        'set',
        wrong.map(({ setting }) => `${setting}=VALUE`),
      ),
    };
  const known = new Set<string>(variableNames);
  const unknown = Object.keys(entry.env).filter((name) => name.startsWith('MCP_') && !known.has(name));
  if (warnings.length > 0)
    return {
      status: 'warn',
      detail: `${where}: ${withoutSecrets(warnings.join(' '))}`,
      remedy:
        unknown.length > 0
          ? changeRemedy(entry, 'unset', unknown)
          : changeRemedy(entry, 'set', ['NAME=VALUE']),
    };
  const set = Object.entries(entry.env).filter(([name]) => known.has(name));
  const given = set.map(([name, value]) => `${name}=${shownSetting(name, value)}`).join(', ');
  return {
    status: 'ok',
    detail: `${where} starts \`${withoutSecrets(shellLine([entry.command, ...entry.args]))}\`${given === '' ? '' : ` with ${given}`}`,
  };
}

/** Why the host could not start it; undefined where it could. */
function examineStart(entry: OwnSpec, env: Environment, host: HostFacts): Omit<Finding, 'name'> | undefined {
  const { command, args, source, env: own } = entry;
  const where = `'${entry.name}' in ${source.file}`;
  const remedy = againRemedy(entry);
  // Only the start can tell of a path in the entry's own folder, and of a line for a shell.
  const isTold = isAbsolute(command) || !/[/\\\s]/.test(command);
  if (isTold && findProgram(command, mergedVariables(env, own, host.platform)) === undefined)
    return { status: 'fail', detail: `${where} cannot start: its command ${command} was not found`, remedy };
  const script = args.slice(0, 2).find((arg) => isAbsolute(arg) && SCRIPT.test(arg));
  if (script !== undefined && !existsSync(script))
    return { status: 'fail', detail: `${where} cannot start: its file ${script} does not exist`, remedy };
  const isFromDesktop = recordOf(entry)?.isDesktop === true && own['PATH'] === undefined;
  const isPoor = isFromDesktop && host.platform !== 'win32' && !isAbsolute(command);
  if (isPoor && isTold && findProgram(command, { PATH: STANDARD_PATH }) === undefined)
    return {
      status: 'warn',
      detail: `${where}: its command ${command} is on this terminal's PATH only, and ${source.host} is started from a desktop`,
      remedy,
    };
  return undefined;
}

/** Record of the host; undefined if our own commands cannot change the entry. */
const recordOf = ({ source }: OwnSpec) =>
  source.scope === 'user' ? HOSTS.find(({ title }) => title === source.host) : undefined;

function againRemedy(entry: OwnSpec): string {
  const record = recordOf(entry);
  return record === undefined
    ? `Correct the entry in ${entry.source.file}.`
    : `Register it again: \`${ownCommand('uninstall', record.id)}\`, then \`${ownCommand('install', record.id)}\`.`;
}

function changeRemedy(entry: OwnSpec, verb: 'set' | 'unset', words: readonly string[]): string {
  const record = recordOf(entry);
  if (record === undefined) return `Correct it in ${entry.source.file}, then restart ${entry.source.host}.`;
  const command = ownCommand('config', verb, ...words, '--host', record.id);
  return `Correct it with \`${command}\`, then restart ${record.title}.`;
}

/** Finding about settings that are not the same everywhere; undefined if all are. */
function examineDifferences(
  entries: readonly OwnSpec[],
  env: Environment,
): Omit<Finding, 'name'> | undefined {
  const [first] = entries;
  if (first === undefined) return undefined;
  const names = variableNames.filter((name) => !OWN_VALUES.has(name));
  const differing = names.flatMap((name) => {
    const values = new Map(entries.map((entry) => [entry.source.host, entry.env[name]]));
    const here = env[name]?.trim() || undefined;
    const isSame = new Set(values.values()).size === 1;
    if (isSame && (here === undefined || here === first.env[name])) return [];
    const shown = (value: string | undefined) =>
      value === undefined ? 'not set' : shownSetting(name, value);
    const hosts = [...values].map(([host, value]) => `${shown(value)} in ${host}`);
    const all = isSame ? [`${shown(first.env[name])} in every host`] : hosts;
    return [
      `${name} is ${[...all, ...(here === undefined ? [] : [`${shown(here)} in this terminal`])].join(', ')}`,
    ];
  });
  if (differing.length === 0) return undefined;
  const more = differing.length - MOST_NAMED;
  return {
    status: 'warn',
    detail: `${differing.slice(0, MOST_NAMED).join('; ')}${more > 0 ? `; and ${more} more` : ''}`,
    remedy: `If that is not meant, set it in every host: \`${ownCommand('config', 'set', 'NAME=VALUE')}\`. To see all: \`${ownCommand('config', 'list')}\`.`,
  };
}
