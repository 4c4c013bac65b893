// What each command prints on a terminal, of made-up facts: one line here for each command. terminal.test.ts keeps it at 80
// and 120 columns, with every help text, and fails for a command that has no line.

import picocolors from 'picocolors';
import { questionsText, questionText } from '../../../src/cli/approvals/text.js';
import { findingsText } from '../../../src/cli/doctor/doctor.js';
import { keptText } from '../../../src/cli/kept/kept.js';
import { callsText, httpLoginsText, runsText } from '../../../src/cli/kept/runs.js';
import { sessionsText } from '../../../src/cli/kept/sessions.js';
import { reportText } from '../../../src/cli/probe/report.js';
import { snippetsText } from '../../../src/cli/run/snippets.js';
import { adoptedText, restoredText } from '../../../src/cli/servers/adopt.js';
import { changedText, gotText, settingsText } from '../../../src/cli/servers/config.js';
import {
  fitToTerminal,
  hostsText,
  installedText,
  uninstalledText,
} from '../../../src/cli/servers/install.js';
import { loginsText } from '../../../src/cli/servers/login.js';
import { testedText } from '../../../src/cli/servers/policy-test.js';
import { serversText } from '../../../src/cli/servers/server-list.js';
import { refreshText } from '../../../src/cli/servers/servers-refresh.js';
import { tokensText } from '../../../src/cli/servers/token.js';
import { imagesText } from '../../../src/cli/setup/image.js';
import { widthOf } from '../../../src/cli/terminal/wrap.js';
import { statusText } from '../../../src/cli/windows/shared.js';
import * as facts from './facts.js';
import * as hosts from './host-facts.js';

/** Its help text is all that a command has to show: why. */
type HelpOnly = { readonly helpOnly: string };
type Shown = () => string;

const style = () => ({
  paint: picocolors.createColors(false),
  width: widthOf(process.stdout),
  home: '/home/ann',
});

/** By command; a command with several outputs has several parts, by name. */
export const OUTPUTS: Readonly<Record<string, Readonly<Record<string, Shown>> | HelpOnly>> = {
  serve: { helpOnly: 'it speaks MCP' },
  doctor: { findings: () => findingsText(facts.FINDINGS), probe: () => reportText(facts.PROBE) },
  servers: {
    list: () => serversText(facts.DISCOVERY, style(), facts.CHANGES),
    troubles: () => serversText(facts.DISCOVERY, style(), facts.CHANGES, facts.TROUBLES),
  },
  'servers refresh': { list: () => refreshText(facts.REFRESHED) },
  login: { list: () => loginsText(facts.LOGINS) },
  logout: { helpOnly: 'it prints one sentence' },
  token: { helpOnly: 'its commands print' },
  'token create': { helpOnly: 'it prints the token, and sentences with paths' },
  'token rotate': { helpOnly: 'it prints what `token create` does' },
  'token list': { list: () => tokensText(facts.TOKENS, facts.NOW_MS) },
  'token change': { helpOnly: 'it prints sentences' },
  'token revoke': { helpOnly: 'it prints one sentence' },
  completion: { helpOnly: 'it prints a script, which test/cli/completion.test.ts runs' },
  report: { helpOnly: 'it prints markdown, which test/cli/report has' },
  setup: { helpOnly: 'test/cli/setup keeps what it prints' },
  install: {
    hosts: () => fitToTerminal(hostsText(hosts.HOSTS, 'install')),
    done: () => fitToTerminal(installedText(hosts.INSTALLED)),
    again: () => fitToTerminal(installedText({ ...hosts.INSTALLED, result: 'already registered' })),
    differs: () => fitToTerminal(installedText(hosts.DIFFERS)),
  },
  uninstall: { done: () => fitToTerminal(uninstalledText(hosts.UNINSTALLED)) },
  config: { helpOnly: 'its commands print' },
  'config list': { list: () => fitToTerminal(settingsText(hosts.SETTINGS)) },
  'config get': { one: () => fitToTerminal(gotText(hosts.GOT_SETTING)) },
  'config set': { done: () => fitToTerminal(changedText(hosts.CHANGED)) },
  'config unset': { helpOnly: 'it prints what `config set` does' },
  adopt: { done: () => fitToTerminal(adoptedText(hosts.ADOPTED)) },
  restore: { done: () => fitToTerminal(restoredText(hosts.RESTORED)) },
  status: {
    bridges: () => statusText([facts.SHARED_BRIDGE]),
    http: () => statusText([facts.SHARED_BRIDGE], facts.SERVING),
  },
  stop: { helpOnly: 'it prints a sentence for each bridge that has ended' },
  restart: { helpOnly: 'it prints sentences' },
  run: { helpOnly: "it prints the code's own words" },
  repl: { helpOnly: 'it is a conversation, which test/cli/repl has' },
  exec: { helpOnly: "it prints the program's own words" },
  snippets: { list: () => snippetsText('/home/ann/snippets', facts.SNIPPETS) },
  runs: {
    list: () => runsText(facts.RUNS),
    failed: () => runsText(facts.RUNS.slice(1)),
    'of principals': () => runsText(facts.RUNS_OVER_HTTP),
    logins: () => httpLoginsText(facts.LOGINS_OVER_HTTP),
    calls: () => callsText(facts.RUNS[0]?.calls ?? []),
  },
  again: { helpOnly: 'it prints what the code prints, which test/front-door/again.test.ts reads' },
  ui: { helpOnly: 'it prints a link, which test/cli/ui.test.ts opens' },
  approvals: { list: () => questionsText(facts.QUESTIONS, facts.NOW_MS) },
  'approvals show': {
    one: () => facts.QUESTIONS.map((each) => questionText(each, facts.NOW_MS)).join('\n'),
  },
  'approvals allow': { helpOnly: 'it prints one sentence' },
  'approvals deny': { helpOnly: 'it prints one sentence' },
  policy: { helpOnly: 'its command prints' },
  'policy test': { rules: () => testedText(facts.TESTED_CALL) },
  kept: { list: () => keptText(facts.KEPT, 3600, facts.NOW_MS) },
  'kept save': { helpOnly: 'it prints one path' },
  'kept open': { helpOnly: 'it prints one sentence' },
  sessions: { list: () => sessionsText(facts.SESSIONS, facts.NOW_MS) },
  'sessions end': { helpOnly: 'it prints one sentence' },
  'code-exec': { helpOnly: 'it speaks MCP' },
  image: { helpOnly: 'its commands print' },
  'image build': { helpOnly: 'its own tests have what it prints' },
  'image rm': { helpOnly: 'it prints a line for each image' },
  'image prune': { helpOnly: 'it prints a line for each image' },
  'image list': { list: () => imagesText(facts.IMAGES) },
};

/** Commands that find nothing in a home without anything. */
export const IN_AN_EMPTY_HOME = [
  'servers',
  'status',
  'config list',
  'login --list',
  'token list',
  'snippets',
  'runs',
  'runs --failed',
  'approvals',
  'kept',
  'sessions',
] as const;
