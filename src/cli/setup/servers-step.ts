// The user's own servers behind the bridge, which is what it is for. Shows how many tools and characters leave
// the model's context, and moves only servers that have listed their tools here.

import { ownCommand } from '../../base/process/own-command.js';
import { shownName } from '../../base/text/shown-name.js';
import { inOneLine, withoutFullStop } from '../../base/text/text.js';
import { type Adopted, type AdoptedServer, adopt } from '../../hosts/install/adoption.js';
import { adoptPlace, inThousands, limitsText } from '../servers/adopt.js';
import { movableServers } from './choices-step.js';
import { agrees } from './dialogue.js';
import {
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

/** A server that has listed its tools here. */
type CountedServer = AdoptedServer & { readonly tools: number; readonly chars: number };
type CountedAdoption = Omit<Adopted, 'servers'> & { readonly servers: readonly CountedServer[] };

export const serversStep: Step = {
  name: 'servers',
  needs: ['engine', 'ids', 'storage', 'choices', 'image', 'answer', 'walls', 'hosts'],
  doing: 'counting the tools of your servers',
  perform: async (setup) => {
    const { options } = setup;
    if (!options.register) return skippedResult('nothing is moved, as --no-register says');
    if (!options.adopt) return skippedResult('nothing is moved, as --no-adopt says');
    if (setup.found.hosts.length === 0) return ok('no host has the bridge, so nothing is moved');
    const failures = await failedServers(setup);
    const { adoptions, troubles } = movableServers(
      setup,
      hostsOf(setup).map(({ id }) => id),
    );
    const offers = adoptions
      .map((one) => ({ ...one, servers: one.servers.filter(isCounted) }))
      .filter(({ servers }) => servers.length > 0);
    const warnings = [...troubles, ...adoptions.flatMap((one) => stayingServers(one, failures))];
    const commands = adoptions
      .filter(({ servers }) => servers.length > 0)
      .map(({ host }) => ownCommand('adopt', host));
    if (options.dryRun) return planned(adoptions, warnings);
    if (offers.length === 0) {
      if (commands.length === 0) return ok('none that would have to move behind the bridge', { warnings });
      return skippedResult('left where they are, since nobody has counted their tools', {
        warnings,
        commands,
      });
    }
    if (!(await agrees(setup, moveQuestion(offers))))
      return skippedResult(`left where they are; to move ${sumText(offers)} behind the bridge`, {
        warnings,
        commands,
      });
    return move(setup, offers, warnings);
  },
};

const isCounted = (one: AdoptedServer): one is CountedServer =>
  one.tools !== undefined && one.chars !== undefined;

/** The hosts that have the bridge, or of these the ones that were named. */
const hostsOf = ({ options, found }: SetupContext) =>
  found.hosts.filter(
    ({ id, title }) =>
      options.host.length === 0 ||
      options.host.some((name) => [id, title.toLowerCase()].includes(name.toLowerCase())),
  );

/** Why each server that was started to be counted has listed nothing, by its name. */
async function failedServers({ found }: SetupContext): Promise<ReadonlyMap<string, string>> {
  const outcomes = (await found.choices?.count?.outcomes()) ?? [];
  return new Map(
    outcomes.flatMap((one) =>
      one.state === 'failed' ? [[one.server, withoutFullStop(inOneLine(one.reason))] as const] : [],
    ),
  );
}

/** Servers that stay in their host: those that failed here with the reason, the others by name. */
function stayingServers(
  { host, title, name: ownName, left, servers }: Adopted,
  failures: ReadonlyMap<string, string>,
): readonly StepWarning[] {
  const others = left.map(({ name }) => name).filter((name) => name !== ownName);
  return [
    ...servers.flatMap((one) => {
      const failure = failures.get(one.name);
      if (isCounted(one) || failure === undefined) return [];
      return [
        { detail: `${shownName(one.name)} stays in ${title}, since it did not start here: ${failure}` },
      ];
    }),
    ...(others.length === 0
      ? []
      : [
          {
            detail: `${others.map((name) => shownName(name)).join(', ')} ${others.length === 1 ? 'stays' : 'stay'} in ${title}`,
            remedy: `\`${ownCommand('adopt', host, '--dry-run')}\` says why.`,
          },
        ]),
  ];
}

function planned(adoptions: readonly Adopted[], warnings: readonly StepWarning[]): StepResult {
  const moving = adoptions.filter(({ servers }) => servers.length > 0);
  if (moving.length === 0) return ok('none that would have to move behind the bridge', { warnings });
  const names = moving.map(
    ({ title, servers }) => `${servers.map(({ name }) => shownName(name)).join(', ')} of ${title}`,
  );
  return skippedResult(`would be started once, counted, and moved behind the bridge: ${names.join('; ')}`, {
    warnings,
  });
}

const quantity = (count: number, noun: string): string =>
  `${inThousands.format(count)} ${noun}${count === 1 ? '' : 's'}`;

const total = (offers: readonly CountedAdoption[], of: (server: CountedServer) => number): number =>
  offers.flatMap(({ servers }) => servers.map(of)).reduce((sum, one) => sum + one, 0);

/** Such as `3 servers with 41 tools`. */
const sumText = (offers: readonly CountedAdoption[]): string =>
  `${quantity(
    total(offers, () => 1),
    'server',
  )} with ${quantity(
    total(offers, ({ tools }) => tools),
    'tool',
  )}`;

const sizeText = (offers: readonly CountedAdoption[]): string =>
  quantity(
    total(offers, ({ chars }) => chars),
    'character',
  );

/** Beyond these many the question would not fit a small terminal. */
const MOST_ROWS = 12;

/** The question that the step is about; a line for each server, and how it is undone. */
function moveQuestion(offers: readonly CountedAdoption[]): string {
  const rows = offers.flatMap(({ title, servers }) =>
    servers.map(
      ({ name, tools, chars }) =>
        `  ${shownName(name)} of ${title}: ${quantity(tools, 'tool')}, ${quantity(chars, 'character')}`,
    ),
  );
  return [
    `Move ${sumText(offers)} behind the bridge? ${sizeText(offers)} leave the model's context.`,
    ...rows.slice(0, MOST_ROWS),
    ...(rows.length > MOST_ROWS ? [`  and ${rows.length - MOST_ROWS} more`] : []),
    ...offers.map(({ undo }) => `  undo: \`${undo}\``),
  ].join('\n');
}

function move(
  setup: SetupContext,
  offers: readonly CountedAdoption[],
  warnings: readonly StepWarning[],
): StepResult {
  const { place, charsOf } = adoptPlace(setup.prepared);
  const moved: CountedAdoption[] = [];
  const troubles: StepWarning[] = [];
  for (const offer of offers) {
    if (setup.signal.aborted) break;
    try {
      const names = offer.servers.map(({ name }) => name);
      const { servers, ...done } = adopt(offer.host, names, {}, place, charsOf);
      moved.push({ ...done, servers: servers.filter(isCounted) });
    } catch (thrown) {
      troubles.push(troubleIn(offer.title, thrown));
    }
  }
  const undo = moved.map(({ undo }) => undo);
  const said = [
    ...warnings,
    ...moved.flatMap(({ servers }) =>
      servers.flatMap(limitsText).map((detail) => ({ detail: withoutFullStop(detail.trim()) })),
    ),
    ...moved.flatMap(({ unseen }) => (unseen === undefined ? [] : [{ detail: withoutFullStop(unseen) }])),
  ];
  const detail = `moved ${sumText(moved)} behind the bridge: ${sizeText(moved)} have left the model's context`;
  const [first, ...rest] = troubles;
  if (first === undefined) return doneResult(detail, { undo, warnings: said });
  const what = moved.length === 0 ? first.detail : `${detail}; ${first.detail}`;
  return failedResult(what, first.remedy, { undo, warnings: [...said, ...rest] });
}
