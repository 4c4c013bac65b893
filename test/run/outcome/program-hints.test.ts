// The table of hints by output: every row speaks where it should, about words that real programs have written in our
// images, and none about an innocent failure.

import { describe, expect, it } from 'vitest';
import { OUTPUT_HINTS, programHint } from '../../../src/run/hints/programs.js';
import { languageNamed } from '../../../src/settings/languages/records.js';
import { leastCpuMs } from '../../support/cpu-time.js';
import { nodeStarts } from '../../support/time.js';
import { WALLS } from './error-cases.js';

const GO_WALLS = {
  ...WALLS,
  image: 'golang:1.21-alpine',
  tmpfs: [...WALLS.tmpfs, { target: '/build', sizeMb: 256, executable: true }],
};

function hint(language: string, said: string, walls = language === 'go' ? GO_WALLS : WALLS) {
  const record = languageNamed(language);
  if (record === undefined) throw new Error(language);
  return programHint(said, record, walls);
}

const MEMORY =
  'The memory limit is 512 MB. Use less memory: process the data in pieces, and delete what is no longer needed. (MCP_BRIDGE_MEMORY sets the limit.)';
const PROCESSES =
  'At most 128 processes and threads may exist at once: use fewer workers, or asyncio. (MCP_BRIDGE_PIDS sets the limit.)';
const NETWORK = 'The sandbox has no network: send what the program needs in `additional_files` or `stdin`.';
const LOCALHOST =
  "Nothing listens there: localhost is the sandbox itself, not the user's machine, and it has no network.";
const READ_ONLY = 'Only /tmp, /workspace and /dev/shm can be written to; the rest is read-only.';
const NO_EXECUTION =
  'Nothing in /tmp, /workspace and /dev/shm can be executed: run a script by its interpreter, as in `bash x.sh`.';
const THE_USERS = "The user's files are not in the sandbox: send them in `additional_files`.";
const OUT_IS_THERE = 'The folder out/ exists already: write into it.';
const noPackage = (name: string) =>
  `Nothing can be installed here: do without ${name}, or send its source in \`additional_files\`.`;
const noFile = (name: string) =>
  `${name} is not among the files of this call: send it in \`additional_files\`.`;
const noProgram = (name: string) => `The image has no program ${name}, and nothing can be installed here.`;

const CASES: ReadonlyArray<readonly [about: string, language: string, said: string, sentence: string]> = [
  [
    'an image without the language',
    'go',
    'The image has no go on its PATH.\n',
    'The image is golang:1.21-alpine. The operator can set another for Go, or unset it and run `mcp-sandbox-bridge image build go`.',
  ],
  [
    'no package main',
    'go',
    '`/build/main` cannot be executed: Permission denied.\n',
    'A Go program needs `package main` and `func main()`.',
  ],
  [
    'tools that were not asked for',
    'javascript',
    'ReferenceError: mcp_github is not defined\n    at file:///workspace/main.js:1:19',
    'mcp_github is there when the call names a server for it in `servers`, for example servers=["github"].',
  ],
  [
    'tools that were not asked for',
    'typescript',
    "Error: Cannot find module 'mcp'\nRequire stack:\n- /workspace/main.ts",
    'mcp is there when the call names a server for it in `servers`, for example servers=["github"].',
  ],
  [
    'an import without its ending',
    'javascript',
    'Error [ERR_MODULE_NOT_FOUND]: Cannot find module \'/workspace/lib/math\' imported from /workspace/main.js\nDid you mean to import "./lib/math.js"?',
    "Imports in an ES module need the file's ending: ./lib/math.js.",
  ],
  [
    'an import without its ending',
    'javascript',
    "Error [ERR_UNSUPPORTED_DIR_IMPORT]: Directory import '/workspace/lib' is not supported resolving ES modules imported from /workspace/a/main.js\nDid you mean to import ../lib/index.js?",
    "Imports in an ES module need the file's ending: ../lib/index.js.",
  ],
  [
    'TypeScript that Node is to load itself',
    'typescript',
    'TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts" for /workspace/main.ts',
    "Only the program's main file and what it imports may be .ts: send what a worker or a child process runs as .js.",
  ],
  ['a request that failed', 'javascript', 'failed: fetch failed\n', NETWORK],
  [
    'a missing program',
    'javascript',
    '/bin/sh: 1: npm: not found\nError: Command failed: npm install x',
    noProgram('npm'),
  ],
  [
    'no input',
    'python',
    'Password: Traceback (most recent call last):\nEOFError\n',
    'The program read past the end of stdin: pass more in `stdin`.',
  ],
  [
    'a debugger',
    'python',
    '> /workspace/main.py(2)<module>()\n-> breakpoint()\n(Pdb) Traceback (most recent call last):\nbdb.BdbQuit\n',
    'A debugger reads its commands from `stdin` of the call. Leave out breakpoint(), and print what you want to see.',
  ],
  [
    'a module that was not sent',
    'javascript',
    "Error: Cannot find module './lib'\nRequire stack:\n- /workspace/main.js",
    noFile('./lib'),
  ],
  [
    'a module that was not sent',
    'javascript',
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/workspace/lib.mjs' imported from /workspace/main.mjs",
    noFile('/workspace/lib.mjs'),
  ],
  ['a module that was not sent', 'typescript', '✘ [ERROR] Could not resolve "./lib"', noFile('./lib')],
  [
    'a package of Node',
    'javascript',
    "Error: Cannot find module 'express'\nRequire stack:\n- /workspace/main.js",
    noPackage('express'),
  ],
  [
    'a package of Node',
    'javascript',
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'express' imported from /workspace/main.mjs",
    noPackage('express'),
  ],
  [
    'a package of Node',
    'typescript',
    '✘ [ERROR] Could not resolve "express"\n\n    main.ts:1:14:\n',
    noPackage('express'),
  ],
  [
    'a package of Go',
    'go',
    'main.go:2:16: no required module provides package github.com/x/y; to add it:\n\tgo get github.com/x/y',
    noPackage('github.com/x/y'),
  ],
  [
    'a package of Go',
    'go',
    'main.go:2:8: package foo/bar is not in GOROOT (/usr/lib/go-1.19/src/foo/bar)',
    noPackage('foo/bar'),
  ],
  [
    'a package of Go',
    'go',
    'main.go:2:8: package foo/bar is not in std (/usr/local/go/src/foo/bar)',
    noPackage('foo/bar'),
  ],
  [
    'a package of Go',
    'go',
    'go: downloading github.com/x/y v1.9.1\nmain.go:2:8: module lookup disabled by GOPROXY=off',
    noPackage('github.com/x/y'),
  ],
  [
    'a package of Go',
    'go',
    'go: downloading github.com/x/y v1.9.1\nmain.go:2:9: module lookup disabled by GOPROXY=off\nmain.go:2:36: github.com/x/y@v1.9.1: module lookup disabled by GOPROXY=off',
    noPackage('github.com/x/y'),
  ],
  [
    'C in Go',
    'go',
    'package main: build constraints exclude all Go files in /workspace',
    'The build constraints of the file do not fit: this is Linux, and there is no C compiler for `import "C"`.',
  ],
  ['the folder that is there', 'python', "FileExistsError: [Errno 17] File exists: 'out'", OUT_IS_THERE],
  ['the folder that is there', 'javascript', "Error: EEXIST: file already exists, mkdir 'out'", OUT_IS_THERE],
  ['the folder that is there', 'go', 'panic: mkdir /workspace/out: file exists', OUT_IS_THERE],
  ['the folder that is there', 'bash', 'mkdir: cannot create directory ‘out’: File exists', OUT_IS_THERE],
  [
    'the folder that is there',
    'ruby',
    "./main.rb:1:in `mkdir': File exists @ dir_s_mkdir - out (Errno::EEXIST)",
    OUT_IS_THERE,
  ],
  [
    'a file of Ruby that was not sent',
    'ruby',
    "./main.rb:1:in `require_relative': cannot load such file -- /workspace/lib (LoadError)",
    noFile('/workspace/lib'),
  ],
  [
    'a gem',
    'ruby',
    "<internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>:85:in `require': cannot load such file -- nokogiri (LoadError)",
    noPackage('nokogiri'),
  ],
  ['a missing program', 'bash', './main.sh: line 1: curl: command not found', noProgram('curl')],
  ['a missing program', 'javascript', '<ref *1> Error: spawnSync curl ENOENT', noProgram('curl')],
  ['a missing program', 'go', 'panic: exec: "curl": executable file not found in $PATH', noProgram('curl')],
  [
    'a missing program',
    'ruby',
    "./main.rb:1:in ``': No such file or directory - curl (Errno::ENOENT)",
    noProgram('curl'),
  ],
  ['execution', 'bash', './main.sh: line 1: ./x.sh: Permission denied', NO_EXECUTION],
  ['execution', 'javascript', 'Error: spawnSync ./x.sh EACCES', NO_EXECUTION],
  ['execution', 'go', 'panic: fork/exec ./x.sh: permission denied', NO_EXECUTION],
  ['execution', 'ruby', "in `system': Permission denied - ./x.sh (Errno::EACCES)", NO_EXECUTION],
  [
    "the user's files",
    'python',
    "FileNotFoundError: [Errno 2] No such file or directory: '/home/me/x'",
    THE_USERS,
  ],
  [
    "the user's files",
    'javascript',
    "Error: ENOENT: no such file or directory, open '/Users/me/x.csv'",
    THE_USERS,
  ],
  ["the user's files", 'go', 'panic: open /home/me/x: no such file or directory', THE_USERS],
  [
    "the user's files",
    'ruby',
    "./main.rb:1:in `read': No such file or directory @ rb_sysopen - /home/me/x (Errno::ENOENT)",
    THE_USERS,
  ],
  ["the user's files", 'bash', 'cat: /home/me/x: No such file or directory', THE_USERS],
  [
    'no input',
    'python',
    '  File "main.py", line 2, in <module>\n    input(\'name? \')\nEOFError: EOF when reading a line\n',
    'The program read past the end of stdin: pass more in `stdin`.',
  ],
  ['network', 'javascript', '  cause: Error: getaddrinfo EAI_AGAIN example.com', NETWORK],
  [
    'network',
    'go',
    'panic: Get "http://example.com": dial tcp: lookup example.com on [::1]:53: read udp [::1]:52082->[::1]:53: read: connection refused',
    NETWORK,
  ],
  [
    'network',
    'ruby',
    "in `getaddrinfo': Failed to open TCP connection to example.com:80 (getaddrinfo: Temporary failure in name resolution) (SocketError)",
    NETWORK,
  ],
  ['network', 'bash', './main.sh: line 1: example.com: Temporary failure in name resolution', NETWORK],
  ['localhost', 'javascript', 'Error: connect ECONNREFUSED 127.0.0.1:1', LOCALHOST],
  ['localhost', 'go', 'panic: dial tcp 127.0.0.1:1: connect: connection refused', LOCALHOST],
  [
    'localhost',
    'ruby',
    'in `initialize\': Connection refused - connect(2) for "127.0.0.1" port 1 (Errno::ECONNREFUSED)',
    LOCALHOST,
  ],
  ['localhost', 'bash', './main.sh: connect: Connection refused', LOCALHOST],
  ['read-only file system', 'javascript', "Error: EROFS: read-only file system, open '/etc/x'", READ_ONLY],
  [
    'read-only file system',
    'go',
    'panic: open /etc/x: read-only file system',
    'Only /tmp, /workspace, /build and /dev/shm can be written to; the rest is read-only.',
  ],
  ['read-only file system', 'bash', './main.sh: line 1: /etc/x: Read-only file system', READ_ONLY],
  ['memory', 'ruby', './main.rb: failed to allocate memory (NoMemoryError)', MEMORY],
  [
    'memory',
    'javascript',
    'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
    MEMORY,
  ],
  ['memory', 'bash', './main.sh: fork: Cannot allocate memory', MEMORY],
  ['processes', 'bash', './main.sh: fork: retry: Resource temporarily unavailable', PROCESSES],
  [
    'processes',
    'ruby',
    "./main.rb:1:in `fork': Resource temporarily unavailable - fork(2) (Errno::EAGAIN)",
    PROCESSES,
  ],
  [
    'disk',
    'bash',
    "head: error writing 'standard output': No space left on device",
    'Files lie in memory here: /tmp holds 64 MB, /workspace holds 128 MB, /dev/shm holds 16 MB. Delete files that are no longer needed, or write less.',
  ],
  [
    'open files',
    'javascript',
    "Error: EMFILE: too many open files, open '/dev/null'",
    'At most 1024 files and sockets may be open at once: close them.',
  ],
  [
    'size of a file',
    'go',
    'panic: truncate x: file too large',
    'A file may have at most 128 MB: write several files, or less.',
  ],
];

describe('what has to do with the sandbox', () => {
  it.each(CASES)('%s (%s): %s', (_about, language, said, sentence) => {
    expect(hint(language, said)).toBe(sentence);
  });

  it('has a case for every row, and a row for every case', () => {
    const rows = OUTPUT_HINTS.map(({ about }) => about);
    expect(new Set(CASES.map(([about]) => about))).toEqual(new Set(rows));
    expect(new Set(rows).size).toBe(rows.length);
  });

  it('says nothing of a network that the operator has opened', () => {
    for (const said of [
      'getaddrinfo EAI_AGAIN example.com',
      'connect ECONNREFUSED 127.0.0.1:1',
      'fetch failed',
    ])
      expect(hint('javascript', said, { ...WALLS, network: 'slirp4netns' })).toBeUndefined();
  });
});

describe('innocent failures', () => {
  it.each([
    ['javascript', "TypeError: Cannot read properties of undefined (reading 'x')"],
    ['javascript', 'Error: the network of friends'],
    ['go', 'panic: runtime error: index out of range [3] with length 3'],
    ['go', './main.go:5:18: syntax error: unexpected newline in argument list; possibly missing comma or )'],
    ['bash', './main.sh: line 2: syntax error: unexpected end of file'],
    ['bash', 'cat: data.csv: No such file or directory'],
    ['bash', "cat: '/workspace/home/x': No such file or directory"],
    ['ruby', "./main.rb:1:in `<main>': no (RuntimeError)"],
    ['ruby', "in `read': No such file or directory @ rb_sysopen - data.csv (Errno::ENOENT)"],
    // What Python's own table is for.
    ['python', "ModuleNotFoundError: No module named 'requests'"],
    ['python', 'Connection refused'],
  ])('%s: %s', (language, said) => {
    expect(hint(language, said)).toBeUndefined();
  });
});

it('hostile output is repeated clipped and harmless, and takes no time', () => {
  const long = hint('bash', `x: line 1: ${'a'.repeat(5_000)}: command not found`);
  expect(long?.length).toBeLessThan(200);
  const painted = hint('javascript', "Cannot find module 'a\u001b[31m\u202eb'");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: looked for in vain
  expect(painted).not.toMatch(/[\u001b\u202e]/);
  const parts = [
    ': line 1: ',
    "Cannot find module '",
    'lookup ',
    ' /home/',
    'spawn ',
    'No such file',
    'fork/exec /',
    'Did you mean to import "./',
    'sh: 1: ',
    'a',
  ];
  for (const part of parts) {
    const said = part.repeat(40_000 / part.length);
    const hintAll = () => {
      for (const language of ['python', 'javascript', 'go', 'bash', 'ruby']) hint(language, said);
    };
    // Steps that grow with the square of it would take many times as long.
    expect(leastCpuMs(hintAll, nodeStarts(15)), part).toBeLessThan(nodeStarts(15));
  }
});
