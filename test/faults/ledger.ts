// What a fault run found, one line of JSON per fault, for `npm run faults` to add up. In an ordinary test run nothing
// is written and the assertions alone decide. Also how much is injected: little in the suite, all of it on request.

import { appendFileSync } from 'node:fs';

export type Finding = {
  /** Row of the catalogue, such as L06. */
  readonly row: string;
  readonly title: string;
  /** How many times it was injected. */
  readonly injected: number;
  /** Containers, monitors, processes and folders that were still there when all was over. */
  readonly leaks: readonly string[];
  /** Calls without an answer in their time. */
  readonly hung: number;
  /** Calls that ought to have been answered and ended otherwise. */
  readonly lost: number;
  /** Whether every assertion held. */
  readonly held: boolean;
  readonly seconds: number;
};

export function record(finding: Finding): void {
  const file = process.env['FAULT_LEDGER'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(finding)}\n`);
}

/** A number from the environment, by which `npm run faults` and `npm run soak` ask for more than the suite does. */
export function amount(name: string, inSuite: number): number {
  const said = Number(process.env[name]);
  return Number.isInteger(said) && said > 0 ? said : inSuite;
}

/** True when the slow faults are asked for too, those that wait for a minute's time limit. */
export const thorough = process.env['FAULT_THOROUGH'] === '1';
