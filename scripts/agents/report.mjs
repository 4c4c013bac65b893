// Hosts and findings as a table: one column for each host, since there are more questions than hosts. Pure.

/** `hosts` are { title, version, findings } or { title, version, failed }. */
export function hostTable(hosts) {
  const tried = hosts.filter(({ findings }) => findings !== undefined);
  const questions = tried[0]?.findings.map(({ what }) => what) ?? [];
  const cell = (text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`;
  const rows = questions.map((question, index) =>
    line([LABELS[question] ?? question, ...tried.map(({ findings }) => sawOf(findings[index]))]),
  );
  const failed = hosts
    .filter(({ findings }) => findings === undefined)
    .map(({ title, version, failed }) => `${title} ${version} was not tried: ${failed}.`);
  const head = line(['', ...tried.map(({ title, version }) => `${title} ${version}`)]);
  return [head, `|---|${'---|'.repeat(tried.length)}`, ...rows, ...failed.flatMap((one) => ['', one])].join(
    '\n',
  );
}

const sawOf = ({ saw, held }) => (held === false ? `**${saw}**` : saw);

/** What a reader who was not there wants to know. */
const LABELS = {
  'its list says': 'its own list of servers says',
  'first prompt': 'the model’s first prompt has',
  result: 'a result',
  'tool call': 'a result of a server’s tool',
  failure: 'an exception',
  picture: 'a picture',
  '45,000 characters': '45,000 characters printed, of which we keep head and tail',
  'everything full': 'output, errors and value of 45,000 each',
  'a file, read': 'a file that the code left, read by the host’s own tool',
  '45,000 characters, read': 'that output as a whole, read by the host’s own tool',
  progress: 'progress, without a screen',
  'over HTTP': 'over HTTP with a token: its list, the prompt, three answers',
  'over OAuth': 'over HTTP with OAuth: before its own login, and after it',
  refresh: 'the same after its access token has ended',
  'end of session': 'nothing of ours left after its end',
  'Ctrl-C': 'after Ctrl-C in a run',
  'host killed': 'after SIGKILL to it in a run',
  'wrong setting': 'a wrong setting of the bridge is said',
  uninstall: 'its file after `install` and `uninstall` is',
  adopt: 'after `adopt`, a server of its own is',
  restore: 'its file after `adopt` and `restore` is',
  'restore later': 'after a session with it, `restore` leaves the server',
};
