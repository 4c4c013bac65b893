// Findings of `doctor` about commands (`execute`): who runs them, seen by running one that does nothing as a call would.

import { userInfo } from 'node:os';
import { readText } from '../../base/files/read-text.js';
import type { Environment } from '../../base/process/environment.js';
import { ownCommand } from '../../base/process/own-command.js';
import { findProgram } from '../../base/process/start-of.js';
import { shownName } from '../../base/text/shown-name.js';
import {
  imageReasonInWords,
  localChoice,
  missingRemedy,
  replacedImage,
} from '../../engine/images/image-choice.js';
import { REACH } from '../../engine/machine/network-modes.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { REQUEST_METHODS, type RuledPattern } from '../../policy/rules/policy.js';
import { kindOf, namesWithNetwork } from '../../sandbox/spec/profile.js';
import { KeptCatalog } from '../../servers/catalog/kept-catalog.js';
import { networkedLanguages, planFor } from '../../settings/environment/plan.js';
import { languages } from '../../settings/languages/records.js';
import { seconds, visibleText } from '../terminal/output.js';
import type { Examination, Finding } from './examination.js';

/** Undefined where agents do not see the tool. */
export async function examineCommands({
  settings: { tools, executeServer, executeOciRuntime, executeNetwork, executeWork },
  discovery,
  pad,
  commandTrial,
}: Pick<Examination, 'settings' | 'discovery' | 'pad' | 'commandTrial'>): Promise<
  Omit<Finding, 'name'> | undefined
> {
  if (!tools.includes('execute')) return undefined;
  if (executeServer !== undefined) return examineServer(executeServer, discovery);
  // Without any sandbox at all an earlier line has said why; a trial would only wait for it again.
  if (executeOciRuntime === undefined && 'error' in (await pad())) return undefined;
  const outcome = await commandTrial();
  if (outcome.status !== 'success') {
    const { message = outcome.status, remedy } = outcome.error ?? {};
    return { status: 'fail', detail: message, ...(remedy === undefined ? {} : { remedy }) };
  }
  const work =
    executeWork === undefined ? '/work is removed with the bridge' : `/work stays in ${executeWork}`;
  const network = executeNetwork ? 'with a network' : 'no network';
  const detail = `a command took ${seconds(outcome.durationMs)} under ${executeOciRuntime ?? "the other containers' OCI runtime"}; ${network}; ${work}`;
  return { status: 'ok', detail };
}

function examineServer(name: string, { ready }: Examination['discovery']): Omit<Finding, 'name'> {
  if (ready.some((server) => server.name === name))
    return { status: 'ok', detail: `run by the server '${shownName(name)}'` };
  return {
    status: 'fail',
    detail: `MCP_BRIDGE_EXECUTE_SERVER is '${name}', but no server of that name can be started`,
    remedy: `\`${ownCommand('servers')}\` lists those that can, and says why others cannot.`,
  };
}

// Findings of `doctor` about the policy: which rules there are, and which of them mean nothing here. A rule that is mistyped
// denies nothing, and nobody would notice.

const MAX_NAMED = 10;

/** Undefined where nobody has set a rule. */
export function examinePolicy({
  discovery: { ready, skipped },
  policyBook,
  settings: { policyFile, stateDir },
}: Examination): Omit<Finding, 'name'> | undefined {
  const policy = policyBook.policy(ready);
  if (policy.patterns.length === 0 && policyFile === undefined) return undefined;
  const catalog = new KeptCatalog(stateDir, () => {});
  const toolsOf = (spec: DownstreamSpec) =>
    catalog
      .of(spec)
      ?.tools()
      .map(({ name }) => name);
  const known = new Map([
    ...skipped.map(({ name }) => [name, undefined] as const),
    ...ready.map((spec) => [spec.name, toolsOf(spec)] as const),
  ]);
  const idle = idlePatterns(policy.patterns, known);
  const denied = ready.filter(({ name }) => !policy.server(name).allowed).length;
  const where = policyFile === undefined ? '' : `${policyFile} is understood; `;
  const count = `${where}${policy.patterns.length} patterns, ${denied} of ${ready.length} servers denied`;
  if (idle.length === 0) return { status: 'ok', detail: count };
  const named = idle.slice(0, MAX_NAMED).map(({ rule }) => visibleText(rule));
  const more = idle.length > MAX_NAMED ? ` and ${idle.length - MAX_NAMED} more` : '';
  return {
    status: 'warn',
    detail: `${count}; no known server or tool matches ${named.join(', ')}${more}`,
    remedy: `Compare the names with \`${ownCommand('servers')}\`. Rules take names, not aliases. In rules that allow, small and capital letters differ.`,
  };
}

/**
 * Patterns that mean no known server, no known tool of one, and no resources or prompts of one. Tools are undefined where
 * nobody knows them yet.
 */
export function idlePatterns(
  patterns: readonly RuledPattern[],
  known: ReadonlyMap<string, readonly string[] | undefined>,
): readonly RuledPattern[] {
  return patterns.filter((pattern) => {
    const servers = [...known].filter(([server]) => pattern.concernsServer(server));
    return servers.every(
      ([server, tools]) =>
        !pattern.coversServer(server) &&
        tools?.every((tool) => !pattern.coversTool(server, tool)) &&
        !REQUEST_METHODS.some((method) => pattern.coversRequest(server, method)),
    );
  });
}

// Findings of `doctor` about the network: which languages have one, by what means, and what that leaves within reach. Seen in a
// sandbox that was started with a network, and only where some language has one.

const TAKE_AWAY = 'To close the network again, change MCP_BRIDGE_NETWORK.';

export async function examineNetwork({
  pad,
  settings,
  networkTrial,
}: Pick<Examination, 'pad' | 'settings' | 'networkTrial'>): Promise<Omit<Finding, 'name'> | undefined> {
  const open = networkedLanguages(settings);
  if (open.length === 0)
    return {
      status: 'ok',
      detail: namesWithNetwork(settings).length === 0 ? 'none in any sandbox' : 'for commands only',
    };
  const found = await pad();
  if ('error' in found) return undefined;
  const { networkAdvice, reachesLocalhost } = found.value.engine.traits;
  const tried = await networkTrial();
  if ('error' in tried) {
    const { message, remedy = TAKE_AWAY } = tried.error;
    return {
      status: 'fail',
      detail: `none for ${open.join(', ')}, which should have one: ${message}`,
      remedy: networkAdvice === undefined ? remedy : `${networkAdvice} ${TAKE_AWAY}`,
    };
  }
  const networkMode = tried.value === 'none' ? 'default' : tried.value;
  const detail = `open for ${open.join(', ')} by ${networkMode}: ${REACH[networkMode]}`;
  if (!reachesLocalhost) return { status: 'ok', detail };
  return {
    status: 'warn',
    detail: `${detail}; it also reaches services on this computer's localhost`,
    remedy: `Stop services that must not be reached while such a language runs. ${TAKE_AWAY}`,
  };
}

// Doctor's lines about the languages of execute_code: which image a call of each would start from. Asks the engine what is
// there, and no registry. A missing image is no failure: the other languages work without it.

/** One for each language; none where agents do not see the tool, or where there is no sandbox for other reasons. */
export async function languageFindings({ settings, pad, signal }: Examination): Promise<readonly Finding[]> {
  if (!settings.tools.includes('execute_code')) return [];
  const found = await pad();
  if ('error' in found) return [];
  const { engine } = found.value;
  return Promise.all(
    languages.map(async (language): Promise<Finding> => {
      const name = `language ${language.name}`;
      const wish = kindOf(planFor(language, settings), settings);
      const choice = await localChoice(wish, engine.images, signal);
      if (choice !== undefined) {
        const replaced = replacedImage(choice);
        const detail = `${choice.image} (${imageReasonInWords(choice.reason)})`;
        if (replaced === undefined) return { name, status: 'ok', detail };
        return {
          name,
          status: 'warn',
          detail,
          remedy: `Pull ${replaced.image}, or remove it from ${replaced.namedIn}.`,
        };
      }
      return {
        name,
        status: 'warn',
        detail: `the image ${wish.image} is not here`,
        remedy: missingRemedy(wish),
      };
    }),
  );
}

/** Where the program lies that a command starts, in words. */
export const pathOf = (binary: string, env: Environment): string => findProgram(binary, env) ?? 'not on PATH';

/** The files that say which ids a user may give to containers, beside its own. */
export const SUBID_FILES = ['/etc/subuid', '/etc/subgid'] as const;
/** One user namespace of a sandbox. */
export const SUBID_COUNT = 65_536;
const FIRST_SUBID = 100_000;

/** How many ids a file of the form `user:start:count` gives to this user. */
export function subordinateIds(file: string): number {
  const { username, uid } = userInfo();
  return (readText(file) ?? '')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([owner]) => owner === username || owner === String(uid))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}

/** The first ids above all that are given away, as FIRST-LAST. */
export function freeRange(files: readonly string[]): string {
  const ends = files
    .flatMap((text) => text.split('\n'))
    .map((line) => line.split(':'))
    .map(([, first, count]) => Number(first) + Number(count))
    .filter(Number.isFinite);
  const first = Math.max(FIRST_SUBID, ...ends);
  return `${first}-${first + SUBID_COUNT - 1}`;
}
