// All that only the user can say, asked before anything takes long: which image, which hosts, which calls to be
// asked about, and whether servers may be started to count their tools. Changes nothing on this machine.

import { shownName } from '../../base/text/shown-name.js';
import { type Adopted, adopt } from '../../hosts/install/adoption.js';
import { type HostHere, hostNamed, hostsHere } from '../../hosts/install/registration.js';
import { adoptPlace } from '../servers/adopt.js';
import type { Prepared } from '../serving/prepare.js';
import { agrees, picks } from './dialogue.js';
import {
  ok,
  ServerCount,
  type SetupContext,
  type Step,
  type StepWarning,
  skippedResult,
  troubleIn,
} from './step.js';

/** The profile with charts and pandas. */
const DATA = 'data';

const DATA_QUESTION = 'Charts and pandas too? They take 240 MB and a minute or two more.';
const HOSTS_QUESTION = 'Add the bridge to these hosts?';
const APPROVE_QUESTION = 'Ask me before a tool that may delete or change data is called? (recommended)';

export const choicesStep: Step = {
  name: 'choices',
  needs: ['engine', 'ids', 'storage'],
  doing: 'looking for hosts and their servers',
  perform: async (setup) => {
    const { options, prepared } = setup;
    const here = hostsHere({ ...prepared.discovery, stateDir: prepared.settings.stateDir });
    setup.found.hosts = here.filter(isRegistered);
    const named = [...new Set(options.host.map((name) => hostNamed(name).id))];
    const image = await chooseImage(setup);
    const hosts = !options.register ? [] : named.length > 0 ? named : await chooseHosts(setup, here);
    const approve = await chooseApprovals(setup, hosts, here);
    const env = { ...(image === undefined ? {} : { MCP_BRIDGE_IMAGE: image }), ...approve };
    if (image !== undefined) setup.prepared = withImage(prepared, image);
    const count = hosts === 'not asked' ? undefined : await chooseCount(setup, hostsToMoveFrom(setup, hosts));
    setup.found.choices = { here, hosts, env, count };
    if (hosts === 'not asked') return skippedResult('nobody could be asked');
    const words = [
      image === DATA ? 'with charts and pandas' : 'without charts and pandas',
      ...(Object.keys(approve).length === 0 ? [] : ['asks before a tool that may delete or change data']),
      ...(count === undefined
        ? []
        : [`counts the tools of ${count.names.map((name) => shownName(name)).join(', ')}`]),
    ].join('; ');
    const isAsked = setup.isInteractive && !options.yes && !options.dryRun;
    return isAsked ? ok(words) : ok(`by default: ${words}`);
  },
};

export const isRegistered = ({ registeredAs }: HostHere): boolean => registeredAs !== undefined;
/** Hosts that can be registered in and are not. */
export const openHosts = (here: readonly HostHere[]): readonly HostHere[] =>
  here.filter((host) => !isRegistered(host) && host.trouble === undefined);

/** Whether questions are asked; else each has the answer that it has by default. */
const mayAsk = ({ options, isInteractive }: SetupContext): boolean =>
  isInteractive && !options.yes && !options.dryRun;

/** Undefined for the image that the settings name, with the bridge's own default. */
async function chooseImage(setup: SetupContext): Promise<string | undefined> {
  const { options, prepared } = setup;
  if (options.image !== undefined) return options.image;
  if (prepared.settings.explicitlySet.has('MCP_BRIDGE_IMAGE') || !mayAsk(setup)) return undefined;
  return (await agrees(setup, DATA_QUESTION, false)) ? DATA : undefined;
}

/** The settings as a bridge has them that is started with that image. */
function withImage(prepared: Prepared, image: string): Prepared {
  const settings = {
    ...prepared.settings,
    image,
    explicitlySet: new Set([...prepared.settings.explicitlySet, 'MCP_BRIDGE_IMAGE' as const]),
  };
  const env = { ...prepared.discovery.env, MCP_BRIDGE_IMAGE: image };
  return { ...prepared, settings, discovery: { ...prepared.discovery, settings, env } };
}

async function chooseHosts(
  setup: SetupContext,
  here: readonly HostHere[],
): Promise<readonly string[] | 'not asked'> {
  const open = openHosts(here);
  if (open.length === 0 || setup.options.yes || setup.options.dryRun) return open.map(({ id }) => id);
  if (!setup.isInteractive) return 'not asked';
  const choices = open.map(({ id, title, file }) => ({ value: id, label: title, hint: file }));
  return picks(setup, HOSTS_QUESTION, choices);
}

/**
 * Variables of a new registration: whether a person is asked before calls are sent. Their servers' own words count, since it
 * is the user who has chosen them; without that every tool would be asked about.
 */
async function chooseApprovals(
  setup: SetupContext,
  ids: readonly string[] | 'not asked',
  here: readonly HostHere[],
): Promise<Readonly<Record<string, string>>> {
  const { options } = setup;
  const isNew =
    ids !== 'not asked' && ids.some((id) => !here.some((host) => host.id === id && isRegistered(host)));
  if (!isNew) return {};
  const byDefault = !mayAsk(setup) || (await agrees(setup, APPROVE_QUESTION)) ? 'destructive' : 'off';
  const mode = options.approve ?? byDefault;
  return mode === 'off' ? {} : { MCP_BRIDGE_APPROVE: mode, MCP_BRIDGE_APPROVE_TRUST: '*' };
}

/** The hosts whose servers are looked at: those that have the bridge when all is done, or those that were named. */
function hostsToMoveFrom({ options, found }: SetupContext, hosts: readonly string[]): readonly string[] {
  if (!options.register || !options.adopt) return [];
  if (options.host.length > 0) return hosts;
  return [...new Set([...found.hosts.map(({ id }) => id), ...hosts])];
}

/** Starts the servers whose tools nobody has counted yet, if the user agrees; undefined where there are none. */
async function chooseCount(setup: SetupContext, ids: readonly string[]): Promise<ServerCount | undefined> {
  const { adoptions } = movableServers(setup, ids);
  const names = [
    ...new Set(
      adoptions.flatMap(({ servers }) =>
        servers.filter(({ tools }) => tools === undefined).map(({ name }) => name),
      ),
    ),
  ];
  if (names.length === 0 || setup.options.dryRun) return undefined;
  if (!(await agrees(setup, countQuestion(names)))) return undefined;
  return new ServerCount(names, setup.prepared, setup.signal);
}

function countQuestion(names: readonly string[]): string {
  const what = names.length === 1 ? 'your server' : `your ${names.length} servers`;
  return `Start ${what} once, to count the tools? ${names.map((name) => shownName(name)).join(', ')}`;
}

/** Servers that `adopt` would move out of each host, and hosts of which nothing can be said. Moves nothing. */
export function movableServers(
  { prepared }: Pick<SetupContext, 'prepared'>,
  ids: readonly string[],
): { readonly adoptions: readonly Adopted[]; readonly troubles: readonly StepWarning[] } {
  const { place, charsOf } = adoptPlace(prepared);
  const adoptions: Adopted[] = [];
  const troubles: StepWarning[] = [];
  for (const id of ids) {
    try {
      adoptions.push(adopt(id, [], { dryRun: true }, place, charsOf));
    } catch (thrown) {
      troubles.push(troubleIn(hostNamed(id).title, thrown));
    }
  }
  return { adoptions, troubles };
}
