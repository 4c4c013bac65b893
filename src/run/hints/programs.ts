// Hints on what a failed program has to do with the sandbox, by what the program and its compiler have written to stderr: all
// that is known of languages but Python, whose exceptions say more (hints.ts). The text is a claim of the guest: it decides
// nothing but the wording.

import { ownCommand } from '../../base/process/own-command.js';
import { type Language, languages } from '../../settings/languages/records.js';
import {
  clipWord,
  diskSentence,
  fileSizeSentence,
  type HintSpec,
  memorySentence,
  openFilesSentence,
  processesSentence,
  writablePlaces,
} from './hint.js';

/** Facts that a sentence may name: the sandbox, the language, and the word that the pattern has found. */
type HintFacts = { readonly spec: HintSpec; readonly language: Language; readonly word: string };

type OutputHint = {
  /** A word or two, for the tests: there is one for each row. */
  readonly about: string;
  /** Names; absent for all but Python. */
  readonly languages?: readonly string[];
  /** Linear. The word is its first group that took part. */
  readonly pattern: RegExp;
  /** Undefined where it is not so in this sandbox. */
  readonly sentence: (seen: HintFacts) => string | undefined;
};

const NODE = ['javascript', 'typescript'] as const;
const ALL = languages.map(({ name }) => name);
/** Homes, mounts, other people's systems. */
const HOST_PATH = String.raw`(?:~/|/(?:home|Users|root|mnt|media|Volumes)/|[A-Za-z]:[\\/])`;

const noFile = ({ word }: HintFacts): string =>
  `${word} is not among the files of this call: send it in \`additional_files\`.`;
const noPackage = ({ word }: HintFacts): string =>
  `Nothing can be installed here: do without ${word}, or send its source in \`additional_files\`.`;
const noProgram = ({ word }: HintFacts): string =>
  `The image has no program ${word}, and nothing can be installed here.`;
const noExecution = ({ spec }: HintFacts): string => {
  const places = { ...spec, tmpfs: spec.tmpfs.filter(({ executable }) => !executable) };
  return `Nothing in ${writablePlaces(places)} can be executed: run a script by its interpreter, as in \`bash x.sh\`.`;
};
const offlineSentence: OutputHint['sentence'] = ({ spec }) =>
  spec.network === 'none'
    ? 'The sandbox has no network: send what the program needs in `additional_files` or `stdin`.'
    : undefined;
const inCage =
  (sentence: (spec: HintSpec) => string): OutputHint['sentence'] =>
  ({ spec }) =>
    sentence(spec);

/** The first row that fits speaks: names that are not found come before what the network says of them. */
export const OUTPUT_HINTS: readonly OutputHint[] = [
  {
    about: 'an image without the language',
    languages: ALL,
    pattern: /^The image has no .{1,200} on its PATH\.$/m,
    sentence: ({ spec, language }) =>
      `The image is ${spec.image}. The operator can set another for ${language.title}, or unset it and run \`${ownCommand('image', 'build', language.profile)}\`.`,
  },
  {
    about: 'no package main',
    languages: ['go'],
    pattern: /^`\/build\/main` cannot be executed: (?:Permission denied|Exec format error)/,
    sentence: () => 'A Go program needs `package main` and `func main()`.',
  },
  {
    about: 'tools that were not asked for',
    languages: NODE,
    pattern: /^ReferenceError: (mcp(?:_\w+)?) is not defined$|Cannot find (?:module|package) '(mcp)'/m,
    sentence: ({ word }) =>
      `${word} is there when the call names a server for it in \`servers\`, for example servers=["github"].`,
  },
  {
    about: 'an import without its ending',
    languages: NODE,
    pattern: /\bDid you mean to import "?(\.{1,2}\/[^"?\s]{1,300})/,
    sentence: ({ word }) => `Imports in an ES module need the file's ending: ${word}.`,
  },
  {
    about: 'a module that was not sent',
    languages: NODE,
    pattern: /Cannot find module '([./][^']*)'|Could not resolve "(\.[^"]*)"/,
    sentence: noFile,
  },
  {
    about: 'a package of Node',
    languages: NODE,
    pattern: /Cannot find (?:module|package) '([^']+)'|Could not resolve "([^"]+)"/,
    sentence: noPackage,
  },
  {
    about: 'a package of Go',
    languages: ['go'],
    pattern:
      /(?:no required module provides|cannot find module providing) package ([^\s;:]+)|: package (\S+) is not in (?:GOROOT|std)|: ([^\s:@]+)@[^\s:]+: module lookup disabled|^go: downloading (\S+) [^\n]*\n[^\n]*: module lookup disabled/m,
    sentence: noPackage,
  },
  {
    about: 'C in Go',
    languages: ['go'],
    pattern: /build constraints exclude all Go files in /,
    sentence: () =>
      'The build constraints of the file do not fit: this is Linux, and there is no C compiler for `import "C"`.',
  },
  {
    about: 'a file of Ruby that was not sent',
    languages: ['ruby'],
    pattern: /cannot load such file -- ([./]\S*)/,
    sentence: noFile,
  },
  {
    about: 'a gem',
    languages: ['ruby'],
    pattern: /cannot load such file -- (\S+)/,
    sentence: noPackage,
  },
  {
    about: 'TypeScript that Node is to load itself',
    languages: NODE,
    pattern: /\bUnknown file extension "(\.[cm]?tsx?)"/,
    sentence: ({ word }) =>
      `Only the program's main file and what it imports may be ${word}: send what a worker or a child process runs as .js.`,
  },
  {
    about: 'a missing program',
    pattern:
      /: line \d+: ([\w.+-]+): command not found|\bsh: \d+: ([\w.+-]+): not found|\bspawn(?:Sync)? ([\w.+-]+) ENOENT|exec: "([\w.+-]+)": executable file not found|No such file or directory - ([\w.+-]+) \(Errno::ENOENT\)/,
    sentence: noProgram,
  },
  {
    about: 'execution',
    pattern:
      /: line \d+: ((?:\.{1,2}\/|\/(?:workspace|tmp|dev\/shm)\/)\S*): Permission denied|\bspawn(?:Sync)? (\S+) EACCES|fork\/exec (\S+): permission denied|Permission denied - (\S+) \(Errno::EACCES\)/,
    sentence: noExecution,
  },
  {
    about: "the user's files",
    languages: ALL,
    pattern: new RegExp(
      `[Nn]o such file or directory[^\\n]{0,40}?['" ]${HOST_PATH}|(?:^|[ '"])${HOST_PATH}[^\\s:]{0,200}: [Nn]o such file`,
      'm',
    ),
    sentence: () => "The user's files are not in the sandbox: send them in `additional_files`.",
  },
  {
    about: 'no input',
    languages: ['python'],
    pattern: /^EOFError(?:: EOF when reading a line)?$/m,
    sentence: () => 'The program read past the end of stdin: pass more in `stdin`.',
  },
  {
    about: 'a debugger',
    languages: ['python'],
    pattern: /^(?:bdb\.)?BdbQuit$/m,
    sentence: () =>
      'A debugger reads its commands from `stdin` of the call. Leave out breakpoint(), and print what you want to see.',
  },
  {
    about: 'network',
    pattern:
      /\bE(?:AI_AGAIN|NOTFOUND|NETUNREACH|HOSTUNREACH)\b|\b[Nn]ame resolution\b|Name or service not known|[Nn]etwork is unreachable|\blookup \S+ on /,
    sentence: offlineSentence,
  },
  {
    about: 'localhost',
    pattern: /\bECONNREFUSED\b|[Cc]onnection refused/,
    sentence: ({ spec }) =>
      spec.network === 'none'
        ? "Nothing listens there: localhost is the sandbox itself, not the user's machine, and it has no network."
        : undefined,
  },
  {
    about: 'a request that failed',
    languages: NODE,
    // All that undici says where a program prints no more of the error than its message.
    pattern: /\bfetch failed\b/,
    sentence: offlineSentence,
  },
  {
    about: 'the folder that is there',
    languages: ALL,
    pattern:
      /(?:[Ff]ile exists|file already exists)[^\n]{0,40}?[ '"](?:\/workspace\/)?out(?:['"\s]|$)|[ '"‘](?:\/workspace\/)?out['"’]?: [Ff]ile exists/,
    sentence: () => 'The folder out/ exists already: write into it.',
  },
  {
    about: 'read-only file system',
    pattern: /\bEROFS\b|[Rr]ead-only file system/,
    sentence: ({ spec }) => `Only ${writablePlaces(spec)} can be written to; the rest is read-only.`,
  },
  {
    about: 'memory',
    pattern:
      /heap out of memory|\bNoMemoryError\b|runtime: out of memory|\bENOMEM\b|[Cc]annot allocate memory/,
    sentence: inCage(memorySentence),
  },
  {
    about: 'processes',
    pattern:
      /\bfork: (?:retry: )?Resource temporarily|\bspawn(?:Sync)? \S+ EAGAIN|fork\/exec \S+: resource temporarily|Resource temporarily unavailable - fork|failed to create new OS thread|can't create Thread/,
    sentence: inCage(processesSentence),
  },
  { about: 'disk', pattern: /\bENOSPC\b|[Nn]o space left on device/, sentence: inCage(diskSentence) },
  {
    about: 'open files',
    pattern: /\bEMFILE\b|[Tt]oo many open files/,
    sentence: inCage((spec) => openFilesSentence(spec)),
  },
  { about: 'size of a file', pattern: /\bEFBIG\b|[Ff]ile too large/, sentence: inCage(fileSizeSentence) },
];

/** The sentence about what has been `said`; undefined where it has nothing to do with the sandbox. */
export function programHint(said: string, language: Language, spec: HintSpec): string | undefined {
  for (const { languages, pattern, sentence } of OUTPUT_HINTS) {
    if (languages === undefined ? language.ways.length === 0 : !languages.includes(language.name)) continue;
    const words = pattern.exec(said)?.slice(1);
    if (words === undefined) continue;
    const found = sentence({ spec, language, word: clipWord(words.find((word) => word !== undefined)) });
    if (found !== undefined) return found;
  }
  return undefined;
}
