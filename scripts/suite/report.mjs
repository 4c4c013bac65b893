// What a run of the suite says at its end: a table, what was unsteady, and what failed, since whoever keeps the end of a long log has
// that. The very last line is `N passed, N failed, N skipped`.

import { loadavg } from 'node:os';
import pc from 'picocolors';
import { COLD_SANDBOX, NODE_START } from './machine-units.mjs';
import { total } from './results.mjs';

const MAX_SHOWN_FAILURE_CHARS = 1_000;
const KEYS = ['passed', 'failed', 'unsteady', 'skipped'];

/** `parts` is a list of `{ name, results, seconds }`, `unsteady` one of `{ part, file, failures }`, and `red` says why, if it is. */
export function print(parts, unsteady, red) {
  const width = Math.max(...parts.map(({ name }) => name.length));
  const column = (value) => String(value).padStart(9);
  console.log(pc.bold(`\n${'part'.padEnd(width)}${[...KEYS, 'seconds'].map(column).join('')}`));
  for (const { name, results, seconds } of parts) {
    const counts = KEYS.map((key) =>
      key === 'unsteady' ? unsteady.filter(({ part }) => part === name).length : total(results, key),
    );
    const row = `${name.padEnd(width)}${[...counts, seconds.toFixed(1)].map(column).join('')}`;
    console.log(counts[1] > 0 ? pc.red(row) : counts[2] > 0 ? pc.yellow(row) : row);
  }
  const minutes = parts.reduce((sum, { seconds }) => sum + seconds, 0) / 60;
  console.log(
    `${minutes.toFixed(1)} minutes; load ${loadavg()
      .map((each) => each.toFixed(1))
      .join(' ')} at the end; ` +
      `units: a start of Node ${process.env[NODE_START]} ms, a cold sandbox ${process.env[COLD_SANDBOX]} ms`,
  );
  for (const { part, file, failures } of unsteady)
    console.log(
      `${pc.yellow(`\nunsteady in ${part}: ${file}`)} failed, and passed when it was run again alone:\n${failures.map(wordsOf).join('\n')}`,
    );
  for (const { name, results } of parts)
    for (const { file = '', failures } of results)
      for (const failure of failures)
        console.log(`${pc.red(`\nfailed in ${name}: ${file}`)} ${wordsOf(failure)}`);
  if (red !== undefined) console.log(pc.red(`\nThe run is red: ${red}.`));
  const sum = (key) => parts.reduce((all, { results }) => all + total(results, key), 0);
  // An unsteady file that makes the run red counts as a failure, so that the last line tells the same as the exit code.
  const failed = sum('failed') || (red === undefined ? 0 : unsteady.length);
  console.log(`\n${sum('passed')} passed, ${failed} failed, ${sum('skipped')} skipped`);
  return { passed: sum('passed'), failed, skipped: sum('skipped'), minutes: Math.round(minutes * 10) / 10 };
}

const wordsOf = ({ title, message }) => `${title}\n${message.slice(0, MAX_SHOWN_FAILURE_CHARS)}`;
