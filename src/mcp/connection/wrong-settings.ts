// The bridge while a setting is wrong: an MCP server that lists its tools and answers every call with what is wrong, since
// hosts show neither what a server writes on stderr nor that it has ended. It has no bridge behind it, so nothing can run.

import type { Transport } from '@modelcontextprotocol/server';
import { ownCommand } from '../../base/process/own-command.js';
import { clip } from '../../base/text/text.js';
import { type CallProblem, outcomeWithoutRun } from '../../run/outcome/outcome.js';
import type { SettingProblem } from '../../settings/environment/setting-problems.js';
import type { Settings } from '../../settings/environment/settings.js';
import { allTools, knowsLinks, resultOf, toolNamed, toolsOf } from '../calls/tool-calls.js';
import type { Era } from '../requests/agent-request.js';
import { AgentServer } from '../requests/agent-server.js';
import { callParams, textIn } from '../requests/complaint.js';
import { CAPABILITIES_MIME_TYPE, CAPABILITIES_URI } from '../resources/capabilities.js';
import { serveConnection } from './stdio-connection.js';

/** Instructions are in the model's context from the start, and hosts cut them after some two thousand characters. */
const MAX_LINES = 5;
const MAX_LINE_CHARS = 320;
/** In the answer of a call. */
const MAX_LINES_OF_CALL = 20;

/** Answers one agent; resolves when its transport has started. `problems` has at least one. */
export function serveWrongSettings(
  settings: Settings,
  problems: readonly SettingProblem[],
  transport: Transport,
): ReturnType<typeof serveConnection> {
  return serveConnection(transport, (era) => wrongSettingsServer(settings, problems, era));
}

/** The server object for one agent; like `agentServer`, without a bridge. */
function wrongSettingsServer(settings: Settings, problems: readonly SettingProblem[], era: Era): AgentServer {
  const server = new AgentServer({
    era,
    capabilities: { tools: {}, resources: {}, logging: {} },
    instructions: wrongSettingsInstructions(problems),
  });
  const listed = [...toolsOf(settings).values()].map(({ definition }) => definition);
  server.answer('tools/list', () => ({ tools: listed }));
  // Also those that are not offered: which ones are may be what is wrong.
  const tools = allTools(settings);
  const objection = wrongSettingsProblem(problems);
  server.answer('tools/call', (params, { clientName: client, protocol }) => {
    const outcome = outcomeWithoutRun('error', objection, settings.timeoutSeconds);
    const tool = toolNamed(callParams(params).name, tools);
    return resultOf(outcome, tool, settings, { client, links: knowsLinks(protocol) });
  });
  server.answer('logging/setLevel', () => ({}));
  answerReading(server, `${objection.message}\n${objection.remedy}`);
  return server;
}

/** Whatever is read, it is this text: there is no snippet, and nothing that a run has left. */
function answerReading(server: AgentServer, text: string): void {
  const about = { name: 'capabilities', mimeType: CAPABILITIES_MIME_TYPE };
  server.answer('resources/list', () => ({
    resources: [{ uri: CAPABILITIES_URI, ...about, title: 'What has to be corrected' }],
  }));
  server.answer('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.answer('resources/read', (params) => {
    const uri = textIn(params, 'uri', 'the address of a resource');
    return { contents: [{ uri, mimeType: CAPABILITIES_MIME_TYPE, text }] };
  });
}

/** Begins with one line that says what is wrong and what to do; several settings have a line each below it. */
function wrongSettingsInstructions(problems: readonly SettingProblem[]): string {
  const [first, ...more] = problems;
  const lines = problems.map(({ message }) => clip(message, MAX_LINE_CHARS));
  const until = 'Until then every call answers with this error. Tell the user.';
  if (first !== undefined && more.length === 0)
    return `A setting is wrong, so no code runs: ${lines[0]} ${first.remedy}\n${until}`;
  return `Settings are wrong, so no code runs: ${namesOf(problems)}. ${remedyFor(problems)}
${capLines(lines, MAX_LINES).join('\n')}
${until}`;
}

/** Wrong settings as the error of a call. */
function wrongSettingsProblem(problems: readonly SettingProblem[]): CallProblem {
  const lines = problems.map(({ message }) => message);
  const message =
    lines.length === 1
      ? `A setting is wrong, so no code runs: ${lines[0]}`
      : [
          `Settings are wrong, so no code runs: ${namesOf(problems)}.`,
          // A line that begins at the margin could be taken for the next step.
          ...capLines(lines, MAX_LINES_OF_CALL).map((line) => `  ${line}`),
        ].join('\n');
  return { type: 'E_SETTINGS', message, remedy: remedyFor(problems) };
}

function capLines(lines: readonly string[], most: number): readonly string[] {
  if (lines.length <= most) return lines;
  const left = lines.length - most;
  return [...lines.slice(0, most), `and ${left} more, which \`${ownCommand('doctor')}\` lists`];
}

const namesOf = (problems: readonly SettingProblem[]): string =>
  [...new Set(problems.map(({ setting }) => setting))].join(', ');

const remedyFor = (problems: readonly SettingProblem[]): string =>
  [...new Set(problems.map(({ remedy }) => remedy))].join(' ');
