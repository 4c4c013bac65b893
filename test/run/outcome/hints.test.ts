// The table of hints: every row speaks where it should, in these words, and none of them about an innocent error.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shellWord } from '../../../src/base/process/own-command.js';
import { HINTS, hintFor } from '../../../src/run/hints/hints.js';
import { leastCpuMs } from '../../support/cpu-time.js';
import { nodeStarts } from '../../support/time.js';
import { ERROR_CASES, WALLS } from './error-cases.js';

/** From `Type: message`, with the line that raised it. */
function guestError(error: string, line = 'x = 1') {
  const [, type = '', message = ''] = /^([\w.]+)(?:: (.*))?$/s.exec(error) ?? [];
  return { type, message, traceback: ['  File "main.py", line 1, in <module>', line, error] };
}

describe('what has to do with the sandbox', () => {
  it.each(ERROR_CASES)('$about: $error', ({ about, error, line, remedy }) => {
    expect(hintFor(guestError(error, line), WALLS)).toBe(remedy);
    const fitting = HINTS.filter((hint) => hint.matches(guestError(error, line)) !== undefined);
    expect(fitting.map((hint) => hint.about)).toContain(about);
  });

  it('knows a magic in a script too, which is named by its path', () => {
    const error = guestError('SyntaxError: invalid syntax (main.py, line 1)', '    %matplotlib inline');
    const traceback = error.traceback.map((line) => line.replace('main.py', '/workspace/sub/plot.py'));
    expect(hintFor({ ...error, traceback }, WALLS)).toMatch(/^Lines with ! and % are IPython's/);
  });

  it('has a case for every row, and a row for every case', () => {
    const rows = HINTS.map(({ about }) => about);
    expect(new Set(ERROR_CASES.map(({ about }) => about))).toEqual(new Set(rows));
    expect(new Set(rows).size).toBe(rows.length);
  });

  it('guesses the server that was meant, where one is like it', () => {
    const error = guestError("NameError: name 'mcp_fils' is not defined");
    expect(hintFor(error, { ...WALLS, aliases: ['github', 'files'] })).toMatch(
      / Did you mean 'mcp_files'\?$/,
    );
    const module = guestError("ModuleNotFoundError: No module named 'mcp_fils'");
    expect(hintFor(module, { ...WALLS, aliases: ['files'] })).toMatch(/ Did you mean 'mcp_files'\?$/);
    expect(hintFor(error, { ...WALLS, aliases: ['github'] })).not.toMatch(/Did you mean/);
  });

  describe('a file of a data folder that its owner alone may read', () => {
    let home: string;
    beforeEach(() => {
      home = mkdtempSync(join(tmpdir(), "owner's-"));
      writeFileSync(join(home, 'private.csv'), '', { mode: 0o600 });
      mkdirSync(join(home, 'closed'), { mode: 0o700 });
      writeFileSync(join(home, 'closed', 'x.csv'), '', { mode: 0o644 });
      writeFileSync(join(home, 'open.csv'), '', { mode: 0o644 });
      symlinkSync('private.csv', join(home, 'link.csv'));
    });
    afterEach(() => rmSync(home, { recursive: true }));

    const remedy = (
      path: string,
      { isWritable = false, says = `[Errno 13] Permission denied: '${path}'` } = {},
    ) =>
      hintFor(guestError(`PermissionError: ${says}`), {
        ...WALLS,
        data: [{ source: home, target: '/data/in', isWritable, identity: '', volume: undefined }],
      });
    const opening = (mode: string, ...path: readonly string[]) =>
      `Code runs as another user than the owner, and may not read it. The user can run \`chmod ${mode} ${shellWord(join(home, ...path))}\`; then every user of the machine may read it.`;

    it('is told with the command that opens it, as is the folder that closes the way', () => {
      expect(remedy('/data/in/private.csv')).toBe(opening('o+r', 'private.csv'));
      expect(remedy('/data/in/closed/x.csv')).toBe(opening('o+rx', 'closed'));
      expect(remedy('/data/in/closed')).toBe(opening('o+rx', 'closed'));
      const says = 'Permission denied (os error 13): /data/in/private.csv';
      expect(remedy('', { says })).toBe(opening('o+r', 'private.csv'));
    });

    // The path is a word of the guest's, and chmod follows links.
    it.each([
      ['a link', '/data/in/link.csv'],
      ['a way out of the folder', '/data/in/closed/../private.csv'],
      ['what all may read', '/data/in/open.csv'],
      ['what is not there', '/data/in/nothing.csv'],
    ])('is told without a command for %s', (_what, path) => {
      expect(remedy(path)).toMatch(/^Code can read in \/data\/in what every user/);
    });

    it('is told without a command where code can write, since it could exchange the file', () => {
      expect(remedy('/data/in/private.csv', { isWritable: true })).toBe(
        'Code uses /data/in as the owner of that folder does, and can execute nothing there.',
      );
    });

    it('is nothing that the sandbox has where no folder is seen there', () => {
      expect(remedy('/data/other/x.csv')).toMatch(/^The code is not root here/);
    });
  });

  it('names what the image has, where it is one of ours', () => {
    const data = { ...WALLS, image: WALLS.image.replace('/python:', '/data:') };
    expect(hintFor(guestError("ModuleNotFoundError: No module named 'polars'"), data)).toBe(
      "Nothing can be installed here: use the standard library or a server's tool. This image has numpy, pandas, scipy, matplotlib, PIL, openpyxl. For polars the user can run `mcp-sandbox-bridge image build data --pip polars` and set MCP_BRIDGE_IMAGE=data-pip_polars.",
    );
  });

  it('names a command that keeps what the user has added to the image before', () => {
    const image = WALLS.image.replace('/python:', '/data:');
    const polars = guestError("ModuleNotFoundError: No module named 'polars'");
    const added = { ...WALLS, image: `${image}-with_python3-seaborn-pip_duckdb--1.2.2` };
    expect(hintFor(polars, added)).toMatch(
      /`mcp-sandbox-bridge image build data --with python3-seaborn --pip 'duckdb==1\.2\.2,polars'` and set MCP_BRIDGE_IMAGE=data-with_python3-seaborn-pip_duckdb--1\.2\.2_polars\.$/,
    );
    expect(hintFor(polars, added)).toContain('openpyxl, seaborn, duckdb.');
    const hashed = { ...WALLS, image: `${image}-pip_sha256.0123456789abcdef` };
    expect(hintFor(polars, hashed)).toContain('`mcp-sandbox-bridge image build data --pip polars`');
  });

  it('names no command for a package that nobody knows: whoever made the name up could own it', () => {
    const unknown = guestError("ModuleNotFoundError: No module named 'pandas_helper_tools'");
    expect(hintFor(unknown, WALLS)).not.toContain('image build');
  });
});

describe('a sandbox with a network', () => {
  const open = { ...WALLS, network: 'slirp4netns' } as const;

  it.each(ERROR_CASES.filter(({ remedy }) => /no network/.test(remedy ?? '')))(
    'is not said to have none: $error',
    ({ error, line }) => {
      expect(hintFor(guestError(error, line), open) ?? '').not.toMatch(/no network/);
    },
  );
});

describe('innocent errors', () => {
  it.each<[error: string, line?: string]>([
    ['ValueError: no'],
    ['ValueError: [Errno 28] is what the log said'],
    ['KeyError: "memory"'],
    ['BlockingIOError: [Errno 11] Resource temporarily unavailable', 's.recv(1)'],
    ["FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'"],
    ["FileNotFoundError: [Errno 2] No such file or directory: '/workspace/home/x'"],
    ["PermissionError: [Errno 13] Permission denied: '/tmp/mine'", 'open("/tmp/mine")'],
    ["PermissionError: [Errno 13] Permission denied: 'mine'", 'open("mine")'],
    ['TimeoutError: timed out'],
    ['RuntimeError: Network is unreachable'],
    ["MCPError: Server 'x' is gone: getaddrinfo failed"],
    ["MCPError: h.hang: Tool 'hang' of server 'h' did not answer within 60 s. Ask it for less."],
    ['ModuleNotFoundError: no saved tool of this name'],
    ["ImportError: cannot import name 'x' from 'json' (/usr/lib/python3.11/json/__init__.py)"],
    [
      "subprocess.CalledProcessError: Command '['grep', 'pip install', 'x']' returned non-zero exit status 1.",
    ],
    ["TypeError: 'int' object is not subscriptable"],
    ['SyntaxError: invalid syntax (main.py, line 1)', '    x = = 1'],
    ["NameError: name 'total' is not defined"],
    ['EOFError: Ran out of input'],
    ['RuntimeError: dictionary changed size during iteration'],
    ['json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)'],
    ['AssertionError'],
  ])('%s', (error, line) => {
    expect(hintFor(guestError(error, line), WALLS)).toBeUndefined();
  });
});

describe('hostile errors', () => {
  it('are repeated clipped and harmless', () => {
    const name = `${'x'.repeat(1_000)}\u001b[2J`;
    const said = hintFor({ type: 'MCPError', message: `${name.slice(0, 900)}.t: no`, traceback: [] }, WALLS);
    expect(said?.length).toBeLessThan(400);
    const painted = hintFor(guestError("ModuleNotFoundError: No module named 'a\u001b[31m\u202e'"), WALLS);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: looked for in vain
    expect(painted).not.toMatch(/[\u001b\u202e]/);
  });

  it.each([
    "Command 'pip -a'-a'",
    "-a'",
    'x',
    '[Errno 2] ',
    "No module named '",
    "Command 'pip ",
    "argument ''' cannot be sent ",
    "'",
    '/',
  ])('of megabytes of %j take no time', (part) => {
    const message = part.repeat(4_000_000 / part.length);
    const types = [
      'MCPError',
      'ModuleNotFoundError',
      'subprocess.CalledProcessError',
      'OSError',
      'TypeError',
    ];
    const hintAll = () => {
      for (const type of types) hintFor({ type, message, traceback: [message] }, WALLS);
    };
    // Steps that grow with the square of it would take hours.
    expect(leastCpuMs(hintAll, nodeStarts(10))).toBeLessThan(nodeStarts(10));
  });
});
