// The policy file: what it may say, and that nothing else is taken for it.

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import { policyTable, readPolicyFile } from '../../src/policy/rules/policy-file.js';
import { Home } from '../hosts/home.js';

let home: Home;
let file: string;
beforeEach(() => {
  home = new Home();
  file = join(home.path, 'policy.yaml');
});
afterEach(() => home[Symbol.dispose]());

const read = (text: string) => {
  writeFileSync(file, text, { mode: 0o600 });
  return readPolicyFile(file, home.facts);
};
function errorOf(text: string | undefined): BridgeError {
  try {
    if (text === undefined) readPolicyFile(file, home.facts);
    else read(text);
  } catch (thrown) {
    if (thrown instanceof BridgeError) return thrown;
    throw thrown;
  }
  throw new Error('the policy was accepted');
}

it('the line breaks of Windows change nothing', () => {
  const text = 'version: 1\n# The user’s own.\nallow: [github]\ndeny:\n  - "*.delete_*"\n';
  expect(read(text.replaceAll('\n', '\r\n'))).toEqual(read(text));
});

describe('what it says', () => {
  const expected = {
    version: 1,
    allow: ['github', 'files.read_*'],
    deny: ['*.delete_*'],
    perServer: {
      github: { allow: ['get_*'], deny: [], resources: 'deny', limits: { callsInFlight: 2 } },
    },
    limits: { callsPerRun: 100, secondsPerCall: 1.5 },
    changedTools: 'refuse',
  };
  it('is read as YAML, with comments', () => {
    expect(
      read(`version: 1
# The user's own.
allow: [github, files.read_*]
deny:
  - "*.delete_*"
perServer:
  github: { allow: [get_*], resources: deny, limits: { callsInFlight: 2 } }
limits: { callsPerRun: 100, secondsPerCall: 1.5 }
changedTools: refuse
`),
    ).toEqual(expected);
  });

  it('is read as JSON that is indented by tabs', () => {
    expect(read(JSON.stringify(expected, null, '\t'))).toEqual(expected);
  });

  it('may be as little as its version', () => {
    expect(read('version: 1')).toEqual({
      version: 1,
      deny: [],
      perServer: {},
      limits: {},
      changedTools: 'flag',
    });
  });
});

describe('what stops the start', () => {
  it.each<[string, string, string]>([
    ['no version', 'deny: []', "'version' is missing; allowed: 1."],
    ['another version', 'version: 2', "'version' is 2; allowed: 1."],
    ['nothing', '', 'the whole is null; allowed: a map of fields.'],
    [
      'a mistyped field',
      'version: 1\ndenny: [x]',
      "there is no field 'denny'. Did you mean 'deny'? Fields here: version, allow, deny, perServer, limits, changedTools, data, approvals.",
    ],
    [
      'a mistyped field of approvals',
      'version: 1\napprovals: {trusts: []}',
      "there is no field 'approvals.trusts'. Did you mean 'trust'? Fields here: mode, trust, reads, rules, always.",
    ],
    [
      'a rule about approvals without an action',
      'version: 1\napprovals: {rules: [{tools: ["x"]}]}',
      "'approvals.rules.0.action' is missing; allowed: allow, ask or deny.",
    ],
    [
      'a condition that is none',
      'version: 1\napprovals: {rules: [{action: ask, when: "args.a >"}]}',
      '\'approvals.rules.0.when\' is "args.a >" (it is not a CEL expression: ',
    ],
    [
      'a condition that is no yes or no',
      'version: 1\napprovals: {rules: [{action: ask, when: "size(args) + 1"}]}',
      '\'approvals.rules.0.when\' is "size(args) + 1" (it is of type int and not true or false); allowed: an expression of CEL',
    ],
    [
      'a condition that names what is not there',
      'version: 1\napprovals: {rules: [{action: ask, when: "process.pid > 1"}]}',
      '\'approvals.rules.0.when\' is "process.pid > 1" (it is not a CEL expression: ',
    ],
    [
      'a mistyped limit',
      'version: 1\nlimits: {secondPerCall: 3}',
      "there is no field 'limits.secondPerCall'. Did you mean 'secondsPerCall'? Fields here: callsPerRun, callsInFlight, secondsPerCall, bytesPerCall, callsInFlightPerServer.",
    ],
    [
      'a pattern for the name of a server',
      'version: 1\nperServer: {"git*": {deny: [x]}}',
      "'perServer.git*' is a pattern; allowed: the name of one server. Patterns for servers go into allow and deny.",
    ],
    [
      'a mistyped field of a server',
      'version: 1\nperServer: {x: {denny: []}}',
      "there is no field 'perServer.x.denny'. Did you mean 'deny'? Fields here: allow, deny, resources, limits.",
    ],
    [
      'a limit of a server that is none',
      'version: 1\nperServer: {x: {limits: {callsPerRun: many}}}',
      '\'perServer.x.limits.callsPerRun\' is "many"; allowed: a whole number from 1 to 1000000.',
    ],
    [
      'a limit of nought',
      'version: 1\nlimits: {callsInFlight: 0}',
      "'limits.callsInFlight' is 0; allowed: a whole number from 1 to 128.",
    ],
    ['a word for a list', 'version: 1\ndeny: github', '\'deny\' is "github"; allowed: a list of patterns'],
    ['a number for a pattern', 'version: 1\ndeny: [1]', "'deny.0' is 1; allowed: a list of patterns"],
    ['an empty pattern', 'version: 1\nallow: [""]', '\'allow.0\' is "" (it is empty); allowed: a list of'],
    [
      'a key that is there twice',
      '{"version": 1, "deny": ["a"], "deny": []}',
      'Map keys must be unique at line 1, column 31',
    ],
    ['what is no YAML', 'version: [', 'at line 1, column'],
    [
      'a star without quotes',
      'version: 1\ndeny: [*.delete_*]',
      'a pattern that begins with * is written in quotes',
    ],
    ['only a star', 'version: 1\ndeny: [*]', 'column 8: a pattern that begins with * is written in quotes'],
    ['a tag', 'version: !!js/function 1', 'Unresolved tag'],
  ])('%s', (_what, text, complaint) => {
    const error = errorOf(text);
    expect(error.code).toBe('E_SETTINGS');
    expect(error.message).toContain(`MCP_BRIDGE_POLICY: ${file}: `);
    expect(error.message).toContain(complaint);
    expect(error.remedy).toMatch(/^Correct the policy file/);
  });

  it('a file that is not there', () => {
    expect(errorOf(undefined).message).toBe(`MCP_BRIDGE_POLICY: ${file}: does not exist`);
  });

  it('a file that others can write', () => {
    writeFileSync(file, 'version: 1');
    chmodSync(file, 0o666);
    expect(errorOf(undefined).message).toContain('can be written by other users');
  });

  it('all that is wrong is told at once, and no control character of it', () => {
    const { message } = errorOf('version: 1\nallow: 3\n"\\u001b[31mx": 1\nchangedTools: maybe');
    expect(message.split('\n')).toHaveLength(3);
    expect(message).not.toContain('\u001b');
  });
});

it('every field that the schema knows is documented', () => {
  const rows = policyTable().map(({ field }) => field);
  const { message } = errorOf(
    'version: 1\nx: 1\nlimits: {x: 1}\nperServer: {s: {x: 1}}\napprovals: {x: 1, rules: [{action: ask, x: 1}]}',
  );
  const fields = [...message.matchAll(/no field '(?:(.*)\.)?x'.*Fields here: (.*)\.$/gm)].flatMap(
    ([, within = '', names = '']) =>
      names
        .split(', ')
        .map((name) => [within.replace(/\.s$|\.0$/, '.*'), name].filter((part) => part).join('.')),
  );
  expect(fields).toHaveLength(8 + 5 + 4 + 5 + 5);
  // A map of fields is documented by its fields.
  const missing = fields.filter((field) => !rows.some((row) => row === field || row.startsWith(`${field}.`)));
  expect(missing).toEqual([]);
});
