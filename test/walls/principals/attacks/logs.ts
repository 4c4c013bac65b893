// What the operator reads of calls: that nobody can write lines in another's name, nor read them.

import { answerOf } from '../../../support/http-agent.js';
import type { Attack } from '../attack.js';
import { execute, executing, type World } from '../world.js';

/** The lines of the audit in the name of ann that tell of `mark`. */
const linesOfAnn = (world: World, mark: string) =>
  world.audited(
    (line) => line['principal'] === world.ann.id && JSON.stringify(line).includes(mark),
    (line) => JSON.stringify(line).includes(mark),
  );

export const logAttacks: readonly Attack[] = [
  {
    id: 'audit-in-anothers-name',
    group: 'logs and audit',
    tries: 'makes a call that the audit counts as ann’s',
    wall: 'a line names the principal whose credential was shown',
    settings: { MCP_BRIDGE_AUDIT: 'arguments' },
    attempt: async (world, by) => {
      const mark = world.mark();
      await execute(by, 'say', mark);
      return (await linesOfAnn(world, mark)) ? 'a line in the name of ann' : undefined;
    },
  },
  {
    id: 'audit-forged-line',
    group: 'logs and audit',
    tries: 'has an argument with line breaks that looks like a line of the audit in the name of ann',
    wall: 'a line is JSON, in which a text has no line breaks',
    settings: { MCP_BRIDGE_AUDIT: 'arguments' },
    attempt: async (world, by) => {
      const mark = world.mark();
      const forged = `\n${JSON.stringify({ kind: 'call', principal: world.ann.id, server: 'desk', tool: mark })}\n`;
      await execute(by, 'say', mark, forged);
      return (await linesOfAnn(world, mark)) ? 'a line in the name of ann' : undefined;
    },
  },
  {
    id: 'log-forged-line',
    group: 'logs and audit',
    tries:
      'says as the name of her client, of a tool and of a path what looks like a line of the log about ann',
    wall: 'a line of the log is JSON, in which a text has no line breaks',
    attempt: async (world, by) => {
      const mark = world.mark();
      const forged = `\n{"level":"info","principal":"ann","msg":"${mark}"}\n`;
      const meta = { 'io.modelcontextprotocol/clientInfo': { name: forged, version: forged } };
      await answerOf(by.agent.modern('tools/call', executing('say', forged), { meta }));
      await answerOf(by.agent.post({ jsonrpc: '2.0', id: 1, method: forged }));
      await world.logged((text) => text.includes(mark));
      const isHers = (line: Readonly<Record<string, unknown>>) =>
        line['principal'] === 'ann' && String(line['msg']) === mark;
      return world.log().some(isHers) ? 'a line about ann' : undefined;
    },
    // Where it was written as it is, that is what would be read.
    control: async (world) => {
      const mark = world.mark();
      const written = `\n{"level":"info","principal":"ann","msg":"${mark}"}\n`;
      const lines = written.split('\n').filter((line) => line.startsWith('{'));
      return lines.some((line) => JSON.parse(line).msg === mark) ? 'a line about ann' : undefined;
    },
  },
  {
    id: 'log-has-tokens',
    group: 'logs and audit',
    tries: 'finds a token in the log, which more people read than the state directory',
    wall: 'credentials are not told of',
    settings: { MCP_BRIDGE_LOG_LEVEL: 'trace' },
    attempt: async (world) => {
      const { token } = world.ann.agent;
      await execute(world.ann, 'say', 'hi');
      await world.logged((text) => text.includes('POST'));
      return JSON.stringify(world.log()).includes(token.slice(4, 30)) ? 'the token' : undefined;
    },
    // What is told of a call is there to be found.
    control: async (world) => {
      await execute(world.ann, 'say', 'hi');
      return (await world.logged((text) => text.includes('ann'))) ? 'the name' : undefined;
    },
  },
];
