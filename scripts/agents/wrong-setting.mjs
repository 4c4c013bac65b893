// What a real host's model hears of a setting that is wrong: its instructions begin with it, and so does the answer of a
// call. Findings as in judge.mjs.

import { CALLS } from './trials.mjs';

const SETTING = 'MCP_BRIDGE_MEMORY';
const VALUE = 'lots';
/** What both say of it, whatever a host puts around it. */
const SAID = `${SETTING} is '${VALUE}'`;

/** `session` is one in which the bridge is registered with that setting. */
export async function judgeWrongSetting(session) {
  const { standIn } = await session.play([CALLS.text], {
    prepare: ({ ours }) => ours('install', '--env', `${SETTING}=${VALUE}`),
  });
  return wrongSettingFindings(standIn.turns[0].body, standIn.turns.at(-1).results[0]);
}

/** Of the first prompt and what the model got for its call. */
export function wrongSettingFindings(firstPrompt, result) {
  const isTold = firstPrompt.includes(SAID);
  const isAnswered = result?.text.includes(SAID) === true;
  const saw = [isTold && 'in the first prompt', isAnswered && 'in the answer of a call'].filter(Boolean);
  return [
    {
      what: 'wrong setting',
      saw: saw.length === 0 ? `hidden: ${result?.text.slice(0, 200)}` : saw.join(', '),
      held: isTold && isAnswered,
    },
  ];
}
