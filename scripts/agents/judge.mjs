// What reached the model, and what was left, beside what our bridge sends and promises. Pure. A finding is
//   { what, saw, held? }   `saw` goes into the table; `held` is undefined for what is the host's own affair

import { addressIn, KEPT, PROGRESS } from './trials.mjs';

/** Hosts wait half a second for their servers; twice that is noticed by nobody. */
const MAX_END_MS = 1_000;
/** How hosts say that they have left something out. */
const CUT_BY_HOST = /\btruncated\b/;
/** What must stand in the schema that the model gets. */
const ARGUMENTS = ['code', 'servers', 'timeout'];

const count = (chars) => chars.toLocaleString('en-GB');

/** Findings of one whole session. `ref` is what the bridge itself says (trials.mjs). */
export function judgeSession(host, { listed, standIn, said }, ref) {
  const [first] = standIn.turns;
  const results = standIn.turns.at(-1).results.map(withoutIds);
  const names = Object.keys(ref.answers);
  const of = (name) => [results[names.indexOf(name)], withoutIds(ref.answers[name])];
  return [
    { what: 'its list says', saw: listed, held: listed === host.isWell },
    prompt(first, ref),
    judgeVerbatim('result', ...of('text')),
    judgeVerbatim('tool call', ...of('tool call')),
    failure(...of('error')),
    picture(...of('picture')),
    amount('45,000 characters', host, ...of('45,000 characters')),
    amount('everything full', host, ...of('everything full')),
    ...Object.entries(KEPT).map(([name, kept], index) =>
      found(name, kept, results[names.indexOf(name)], results[names.length + index]),
    ),
    { what: 'progress', saw: PROGRESS.test(said) ? 'shown' : 'not shown' },
  ];
}

/** Of one end: after the last answer, by Ctrl-C, or by a kill of the host. */
export function judgeEnd(what, { left, ms }) {
  const saw = left.length === 0 ? `${Math.max(1, Math.round(ms))} ms` : `left: ${left.join('; ')}`;
  return { what, saw, held: left.length === 0 && ms <= MAX_END_MS };
}

function prompt({ tools, body }, ref) {
  const tool = tools.find(({ name }) => name.endsWith('run_python'));
  const properties = Object.keys(tool?.schema?.properties ?? {});
  const isWhole =
    tool?.isDeferred === false &&
    ARGUMENTS.every((name) => properties.includes(name)) &&
    tool.description.includes(ref.tool.description);
  const hasInstructions = ref.instructions.split('\n').every((line) => body.includes(inJson(line)));
  const parts = [isWhole && 'whole schema', hasInstructions && 'instructions'].filter(Boolean);
  return {
    what: 'first prompt',
    saw: parts.join(', ') || 'neither schema nor instructions',
    held: isWhole && hasInstructions,
  };
}

function judgeVerbatim(what, got, sent) {
  const held = got?.text.includes(sent.text) === true;
  return {
    what,
    saw: held ? frameWords('our text', got.text.length - sent.text.length) : displayText(got),
    held,
  };
}

/** Hosts may wrap it in JSON, and say by a mark of the API or by words alone that it is one. */
function failure(got, sent) {
  const isText = got?.text.includes(sent.text) === true;
  const held = (isText || got?.text.includes(inJson(sent.text)) === true) && got.isError !== false;
  const form = frameWords(
    isText ? 'our text' : 'our text in JSON',
    (got?.text.length ?? 0) - sent.text.length,
  );
  return {
    what: 'failure',
    saw: held ? `${form}${got.isError === true ? ', marked as failed' : ''}` : displayText(got),
    held,
  };
}

function picture(got, sent) {
  if (sent.images.length === 0) return { what: 'picture', saw: 'not tried: the bridge sends none' };
  const [image] = got?.images ?? [];
  if (image === undefined)
    return { what: 'picture', saw: `no picture, but ${displayText(got)}`, held: false };
  const isOurs = image.base64 === sent.images[0].base64;
  return { what: 'picture', saw: isOurs ? 'as we sent it' : `made anew as ${image.mimeType}`, held: true };
}

function amount(what, { showsWholeAnswers }, got, sent) {
  const isWhole = got?.text.includes(sent.text) === true;
  const saw = isWhole
    ? `all ${count(sent.text.length)}`
    : `${CUT_BY_HOST.test(got?.text ?? '') ? 'cut by the host' : 'fitted by us'} to ${count(got?.text.length ?? 0)}`;
  return { what, saw, held: got !== undefined && (isWhole || !showsWholeAnswers) };
}

/** Whether the model has the address of what was kept, and gets it with the host's own tool. */
function found(name, { file, has }, got, read) {
  const what = `${name}, read`;
  if (addressIn(got?.text, file) === undefined) return { what, saw: 'no address', held: false };
  const isRead = has.test(read?.text ?? '');
  return { what, saw: isRead ? 'found by its address' : `address, but ${displayText(read)}`, held: isRead };
}

/** What a run kept has addresses of its own, which differ from run to run and from home to home. */
const withoutIds = (result) => ({
  ...result,
  text: result.text.replace(/[0-9a-f]{32}/g, '0'.repeat(32)).replace(/ or \/\S+\/kept\//g, ' or /kept/'),
});
const inJson = (text) => JSON.stringify(text).slice(1, -1);
const frameWords = (form, more) => (more > 0 ? `${form} + ${count(more)} characters` : form);
const displayText = (got) => (got === undefined ? 'nothing' : JSON.stringify(got.text.slice(0, 200)));
