// Registers the bridge in the hosts that the user has picked.

import { ownCommand } from '../../base/process/own-command.js';
import { withoutFullStop } from '../../base/text/text.js';
import type { ChangePlace } from '../../hosts/install/changes.js';
import { type HostHere, hostNamed, install } from '../../hosts/install/registration.js';
import { isRegistered, openHosts } from './choices-step.js';
import {
  type Choices,
  doneResult,
  failedResult,
  ok,
  type SetupContext,
  type Step,
  type StepResult,
  type StepWarning,
  skippedResult,
  troubleIn,
} from './step.js';

export const hostsStep: Step = {
  name: 'hosts',
  needs: ['engine', 'ids', 'storage', 'choices', 'image'],
  doing: 'adding the bridge to hosts',
  perform: async (setup) => {
    const { options, prepared, found } = setup;
    if (!options.register) return skippedResult('nothing is registered, as --no-register says');
    if (found.choices === undefined) throw new Error('the step choices comes first');
    const { here, hosts } = found.choices;
    if (here.length === 0 && options.host.length === 0)
      return skippedResult('no host was found on this machine', {
        commands: [ownCommand('install', 'claude-code')],
        warnings: [{ detail: 'For a host that is not here yet, register with the command below' }],
      });
    const warnings = here
      .filter(
        ({ id, trouble }) =>
          trouble !== undefined && (hosts === 'not asked' || options.host.length === 0 || hosts.includes(id)),
      )
      .map(({ title, trouble }) => ({ detail: `${title} is left out: ${withoutFullStop(trouble ?? '')}` }));
    if (hosts === 'not asked') return notAsked(openHosts(here), warnings);
    const place: ChangePlace = { ...prepared.discovery, stateDir: prepared.settings.stateDir };
    return register(setup, { ...found.choices, hosts }, place, warnings);
  },
};

const titles = (hosts: readonly Pick<HostHere, 'title'>[]): string =>
  hosts.map(({ title }) => title).join(', ');

const notAsked = (open: readonly HostHere[], warnings: readonly StepWarning[]): StepResult =>
  skippedResult(`${titles(open)} found, and registered in none, since nobody could be asked`, {
    commands: [
      ownCommand('setup', '--yes'),
      ownCommand('setup', ...open.flatMap(({ id }) => ['--host', id])),
    ],
    warnings: [...warnings, { detail: 'To register in all of them, or in those that you name' }],
  });

function register(
  setup: SetupContext,
  { here, hosts, env }: Choices & { readonly hosts: readonly string[] },
  place: ChangePlace,
  warnings: readonly StepWarning[],
): StepResult {
  const { dryRun = false } = setup.options;
  const already: Pick<HostHere, 'id' | 'title'>[] = here.filter(isRegistered);
  const fresh: string[] = [];
  const undo: string[] = [];
  const troubles: StepWarning[] = [];
  for (const id of hosts) {
    if (setup.signal.aborted) break;
    const { title } = hostNamed(id);
    try {
      const { result, file, undo: command } = install(id, { dryRun, env }, place);
      if (result === 'already registered') {
        // Another window may have done it since the user was asked.
        if (already.every((one) => one.id !== id)) {
          already.push({ id, title });
          setup.found.hosts = [...setup.found.hosts, { id, title }];
        }
        continue;
      }
      fresh.push(`${title} (${file})`);
      // In a dry run, too: the next step says what would be moved out of them.
      setup.found.hosts = [...setup.found.hosts, { id, title }];
      if (!dryRun) undo.push(command);
    } catch (thrown) {
      troubles.push(troubleIn(title, thrown));
    }
  }
  const said = [...warnings, ...ofOtherImages(already, env)];
  const before = already.length === 0 ? '' : `registered before in ${titles(already)}`;
  const and = before === '' ? '' : `; ${before}`;
  if (troubles.length > 0) {
    const [first, ...rest] = troubles;
    const what = fresh.length === 0 ? first?.detail : `registered in ${fresh.join(', ')}; ${first?.detail}`;
    return failedResult(`${what}${and}`, first?.remedy, { undo, warnings: [...said, ...rest] });
  }
  if (fresh.length === 0) return ok(before === '' ? 'registered in none' : before, { warnings: said });
  if (dryRun) return skippedResult(`would be registered in ${fresh.join(', ')}${and}`, { warnings: said });
  return doneResult(`registered in ${fresh.join(', ')}${and}`, { undo, warnings: said });
}

/** Entries that were there before are the user's own: they keep the image that they name. */
function ofOtherImages(
  already: readonly Pick<HostHere, 'id' | 'title'>[],
  env: Choices['env'],
): readonly StepWarning[] {
  const { MCP_BRIDGE_IMAGE: image } = env;
  if (image === undefined) return [];
  return already.map(({ id, title }) => ({
    detail: `${title} had the bridge before, and its entry is left as it is`,
    remedy: `To use the image ${image} there, run \`${ownCommand('config', 'set', `MCP_BRIDGE_IMAGE=${image}`, '--host', id)}\`.`,
  }));
}
