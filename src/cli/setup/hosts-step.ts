// Sixth step: the hosts on this machine, and a registration in those that the user picks.

import { asBridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { withoutFullStop } from '../../base/text/text.js';
import type { ChangePlace } from '../../hosts/install/changes.js';
import { type HostHere, hostNamed, hostsHere, install } from '../../hosts/install/registration.js';
import { agrees, picks } from './dialogue.js';
import {
  doneResult,
  failedResult,
  ok,
  type SetupContext,
  type Step,
  type StepResult,
  type StepWarning,
  skippedResult,
} from './step.js';

export const hostsStep: Step = {
  name: 'hosts',
  needs: ['engine', 'ids', 'storage', 'image'],
  doing: 'looking for hosts',
  perform: async (setup) => {
    const { options, prepared } = setup;
    const place: ChangePlace = { ...prepared.discovery, stateDir: prepared.settings.stateDir };
    const here = hostsHere(place);
    const named = [...new Set(options.host.map((name) => hostNamed(name).id))];
    setup.found.hosts = here.filter(isRegistered).map(({ title }) => title);
    if (!options.register) return skippedResult('nothing is registered, as --no-register says');
    if (here.length === 0 && named.length === 0)
      return skippedResult('no host was found on this machine', {
        commands: [ownCommand('install', 'claude-code')],
        warnings: [{ detail: 'For a host that is not here yet, register with the command below' }],
      });
    const unusable = here.filter(({ trouble }) => trouble !== undefined);
    const open = here.filter((host) => !isRegistered(host) && host.trouble === undefined);
    const ids = named.length > 0 ? named : await chooseHosts(setup, open);
    const warnings = unusable
      .filter(({ id }) => named.length === 0 || named.includes(id))
      .map(({ title, trouble }) => ({ detail: `${title} is left out: ${withoutFullStop(trouble ?? '')}` }));
    if (ids === 'not asked') return notAsked(open, warnings);
    const env = await chooseApprovals(setup, ids, here);
    return register(setup, { ids, env }, here, place, warnings);
  },
};

const isRegistered = ({ registeredAs }: HostHere): boolean => registeredAs !== undefined;
const titles = (hosts: readonly HostHere[]): string => hosts.map(({ title }) => title).join(', ');

async function chooseHosts(
  setup: SetupContext,
  open: readonly HostHere[],
): Promise<readonly string[] | 'not asked'> {
  const all = open.map(({ id }) => id);
  if (all.length === 0 || setup.options.yes || setup.options.dryRun) return all;
  if (!setup.isInteractive) return 'not asked';
  const choices = open.map(({ id, title, file }) => ({ value: id, label: title, hint: file }));
  return picks(setup, 'Register in these hosts?', choices);
}

const notAsked = (open: readonly HostHere[], warnings: readonly StepWarning[]): StepResult =>
  skippedResult(`${titles(open)} found, and registered in none, since nobody could be asked`, {
    commands: [
      ownCommand('setup', '--yes'),
      ownCommand('setup', ...open.flatMap(({ id }) => ['--host', id])),
    ],
    warnings: [...warnings, { detail: 'To register in all of them, or in those that you name' }],
  });

/**
 * Variables of a new registration: whether a person is asked before calls are sent. Their servers' own words count, since it
 * is the user who has chosen them; without that every tool would be asked about.
 */
async function chooseApprovals(
  setup: SetupContext,
  ids: readonly string[],
  here: readonly HostHere[],
): Promise<Readonly<Record<string, string>>> {
  const { options, isInteractive } = setup;
  const isNew = ids.some((id) => !here.some((host) => host.id === id && isRegistered(host)));
  const mayAsk = isNew && isInteractive && !options.yes && !options.dryRun;
  const mode = options.approve ?? (mayAsk && (await agrees(setup, APPROVE_QUESTION)) ? 'destructive' : 'off');
  return mode === 'off' ? {} : { MCP_BRIDGE_APPROVE: mode, MCP_BRIDGE_APPROVE_TRUST: '*' };
}

const APPROVE_QUESTION =
  'Ask you before a tool is called that may destroy something, as far as its server does not say otherwise?';

function register(
  setup: SetupContext,
  { ids, env }: { readonly ids: readonly string[]; readonly env: Readonly<Record<string, string>> },
  here: readonly HostHere[],
  place: ChangePlace,
  warnings: readonly StepWarning[],
): StepResult {
  const { dryRun = false } = setup.options;
  const already = here.filter(isRegistered);
  const fresh: string[] = [];
  const undo: string[] = [];
  const troubles: StepWarning[] = [];
  for (const id of ids) {
    if (setup.signal.aborted) break;
    const { title } = hostNamed(id);
    try {
      const { result, file, undo: command } = install(id, { dryRun, env }, place);
      if (result === 'already registered') continue;
      fresh.push(`${title} (${file})`);
      if (!dryRun) {
        undo.push(command);
        setup.found.hosts = [...setup.found.hosts, title];
      }
    } catch (thrown) {
      const { message, remedy } = asBridgeError(thrown);
      troubles.push({ detail: `${title}: ${withoutFullStop(message)}`, remedy });
    }
  }
  const before = already.length === 0 ? '' : `registered before in ${titles(already)}`;
  const and = before === '' ? '' : `; ${before}`;
  if (troubles.length > 0) {
    const [first, ...rest] = troubles;
    const what = fresh.length === 0 ? first?.detail : `registered in ${fresh.join(', ')}; ${first?.detail}`;
    return failedResult(`${what}${and}`, first?.remedy, { undo, warnings: [...warnings, ...rest] });
  }
  if (fresh.length === 0) return ok(before === '' ? 'registered in none' : before, { warnings });
  if (dryRun) return skippedResult(`would be registered in ${fresh.join(', ')}${and}`, { warnings });
  return doneResult(`registered in ${fresh.join(', ')}${and}`, { undo, warnings });
}
