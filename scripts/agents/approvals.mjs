// Calls that wait for a person, in real hosts without a screen: what each does with a dialog that nobody can see, what its model
// reads of a call that was not approved, and that nothing is sent. Findings as in judge.mjs.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Session } from './session.mjs';

const SERVER = fileURLToPath(new URL('../../test/fixtures/approved-server.mjs', import.meta.url));
/** Shorter than any host waits, so that the question expires while the host is still there. */
const WAIT_SECONDS = 20;
const CALL = `try:
    r = await mcp_desk.erase(id=1)
except runtime.MCPError as e:
    r = str(e)
r`;
const callArguments = (more = {}) => ({ code: CALL, servers: ['desk'], ...more });

/** Findings about one host. */
export async function judgeApprovals({ id, host, argv }, { stage, engine }) {
  const session = (variables) => {
    const log = join(stage.home({}), `calls-${id}.log`);
    const made = new Session(id, host, argv, stage, engine, {
      desk: { command: process.execPath, args: [SERVER, log] },
    });
    made.handedOn = [...made.handedOn, ...Object.entries(variables)];
    return { made, sent: () => (existsSync(log) ? readFileSync(log, 'utf8') : '') };
  };
  const asks = { MCP_BRIDGE_APPROVE: 'all', MCP_BRIDGE_APPROVE_WAIT: String(WAIT_SECONDS) };
  const trials = [
    () => judgeRefused(session(asks)),
    () => judgePlanned(session(asks)),
    () => control(session({ MCP_BRIDGE_APPROVE: 'off' })),
  ];
  const findings = [];
  for (const trial of trials) {
    try {
      findings.push(await trial());
    } catch (thrown) {
      findings.push({ what: 'approvals', saw: thrown.message, held: false });
    }
  }
  return findings;
}

/** What the model has read as the result of `args`, and how long it took. */
async function playCall({ made }, args) {
  const asked = [];
  const before = async () => void asked.push(performance.now());
  const { standIn } = await made.play([args], { before });
  const [result] = standIn.turns.at(-1).results;
  return { text: result?.text ?? '', seconds: Math.round((asked[1] - asked[0]) / 100) / 10 };
}

async function judgeRefused(scene) {
  const { text, seconds } = await playCall(scene, callArguments());
  const why = /(?:not approved|denied by the user)[^.]*/.exec(text)?.[0];
  const held = why !== undefined && scene.sent() === '';
  const saw = `${why ?? `something else: ${brief(text)}`}, after ${seconds} s; ${scene.sent() === '' ? 'nothing' : 'something'} was sent`;
  return { what: 'not approved', saw, held };
}

async function judgePlanned(scene) {
  const { text } = await playCall(scene, callArguments({ mode: 'plan' }));
  const held = text.includes('[plan]') && text.includes('desk.erase') && scene.sent() === '';
  return { what: 'plan', saw: held ? 'lists the call, and sends nothing' : brief(text), held };
}

async function control(scene) {
  const { text } = await playCall(scene, callArguments());
  const held = text.includes('did erase') && scene.sent() !== '';
  return { what: 'without approvals', saw: held ? 'sent' : brief(text), held };
}

const brief = (text) => text.replaceAll(/\s+/g, ' ').slice(0, 160);
