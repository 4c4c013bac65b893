import { describe, expect, it } from 'vitest';
import { AgentConversation, LOST_CALL } from '../../../src/service/windows/conversation.js';

const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;

/** A conversation in which all that the agent says is passed on. */
function conversation() {
  const talk = new AgentConversation();
  return {
    talk,
    /** The lines that reach the bridge. */
    say: (...messages: readonly (object | string)[]) =>
      messages.flatMap((message) => {
        const text = typeof message === 'string' ? message : line(message);
        return [...talk.hear(Buffer.from(text))].flatMap((said) => {
          if ('refusal' in said) return [said.refusal];
          return talk.passesOn(said) ? [said.text] : [];
        });
      }),
    /** What reaches the agent. */
    tell: (text: string) => Buffer.concat([...talk.tell(Buffer.from(text))]).toString(),
    cut: () => {
      const { answers, again } = talk.cut();
      return {
        answers: answers.map((each) => JSON.parse(each)),
        again: again.map(({ text }) => JSON.parse(text)),
      };
    },
  };
}

const initialize = { id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18' } };
const initialized = { method: 'notifications/initialized' };
const call = (id: unknown) => ({ id, method: 'tools/call', params: { name: 'execute' } });

describe('what is known of a conversation', () => {
  it('answers a call that was under way, and asks again what may be done twice', () => {
    const { say, tell, cut } = conversation();
    say(call(1), call('two'), { id: 3, method: 'tools/list' }, call(4));
    tell(line({ id: 4, result: {} }));
    const { answers, again } = cut();
    expect(answers.map(({ id, result }) => [id, result.isError, result.content[0].text])).toEqual([
      [1, true, LOST_CALL],
      ['two', true, LOST_CALL],
    ]);
    expect(again.map(({ id }) => id)).toEqual([3]);
  });

  it('says resultType to an agent of 2026-07-28 only', () => {
    const { say, cut } = conversation();
    say(call(1));
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    say({ id: 2, method: 'tools/call', params: { _meta } });
    expect(cut().answers.map(({ result }) => result.resultType)).toEqual([undefined, 'complete']);
  });

  it('keeps ids as they were written', () => {
    const { say, talk } = conversation();
    say('{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/call"}\n');
    expect(talk.cut().answers[0]).toContain('"id":12345678901234567890,');
  });

  it('greets the next bridge in the name of the agent, which hears nothing of it', () => {
    const { say, tell, cut } = conversation();
    say(initialize);
    const greeted = line({ id: 0, result: { serverInfo: { version: '1' } } });
    expect(tell(greeted)).toBe(greeted);
    say(initialized, { id: 1, method: 'logging/setLevel', params: { level: 'info' } });
    tell(line({ id: 1, result: {} }));
    expect(cut().again.map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
      'logging/setLevel',
    ]);
    expect(tell(greeted)).toBe('');
    expect(tell(line({ id: 1, result: {} }))).toBe('');
    say(call(0));
    expect(tell(line({ id: 0, result: {} }))).not.toBe('');
  });

  it('tells the agent to read the lists again where the next bridge is another', () => {
    const { say, tell, cut } = conversation();
    say(initialize);
    tell(line({ id: 0, result: { serverInfo: { version: '1' } } }));
    cut();
    const told = tell(line({ id: 0, result: { serverInfo: { version: '2' } } }));
    expect(
      told
        .trim()
        .split('\n')
        .map((each) => JSON.parse(each).method),
    ).toEqual(['tools', 'resources', 'prompts'].map((list) => `notifications/${list}/list_changed`));
  });

  it('asks the greeting again where it was not answered yet, and passes its answer on', () => {
    const { say, tell, cut } = conversation();
    say(initialize);
    expect(cut().again.map(({ method }) => method)).toEqual(['initialize']);
    expect(tell(line({ id: 0, result: {} }))).not.toBe('');
  });

  it('drops half a line of a bridge that has died', () => {
    const { say, tell, cut } = conversation();
    say(call(1));
    expect(tell('{"jsonrpc":"2.0","id":1,"res')).toBe('');
    cut();
    const whole = line({ method: 'notifications/message', params: {} });
    expect(tell(whole)).toBe(whole);
  });

  it('takes questions of a dead bridge back, and keeps their answers from the next', () => {
    const { say, tell, cut } = conversation();
    tell(line({ id: 'a:0', method: 'elicitation/create', params: {} }));
    expect(cut().answers).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 'a:0', reason: 'The bridge that asked has ended.' },
      },
    ]);
    expect(say({ id: 'a:0', result: { action: 'accept' } })).toEqual([]);
    tell(line({ id: 'b:0', method: 'elicitation/create', params: {} }));
    expect(say({ id: 'b:0', result: { action: 'accept' } })).toHaveLength(1);
  });

  it('forgets a call that the agent has cancelled', () => {
    const { say, cut } = conversation();
    say(call(1), { method: 'notifications/cancelled', params: { requestId: 1 } });
    expect(cut()).toEqual({ answers: [], again: [] });
  });

  it('says why where there is no other bridge', () => {
    const { say, talk } = conversation();
    say(call(1), { id: 2, method: 'tools/list' });
    const refused = talk.refuse('because').map((each) => JSON.parse(each));
    expect(refused.map(({ id, error }) => [id, error.message])).toEqual([
      [1, 'because'],
      [2, 'because'],
    ]);
    expect(talk.refuse('because')).toEqual([]);
  });

  it('passes on what is no message of JSON-RPC: the bridge says what is wrong with it', () => {
    const { say } = conversation();
    expect(say('nonsense\n', '[]\n')).toEqual(['nonsense', '[]']);
    expect(say('\n', '  \n')).toEqual([]);
  });
});
