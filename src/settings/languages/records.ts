// The languages of `execute_code`, as data: a record each, their names, and where their programs may lie. Adding a language is
// adding a record and, where no recipe of ours holds its programs, an image recipe. Nothing here runs anything.

import { z } from 'zod';
import { didYouMean } from '../../base/text/closest.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless } from '../../base/text/text.js';
import { imageReferenceTrouble } from '../bounds.js';

/** A further place for files, in memory like all others; only one that is `executable` may hold programs. */
export type Place = { readonly target: string; readonly sizeMb: number; readonly executable: boolean };

/** An interpreter that is started while a sandbox waits, and is given its program when that comes (harness/waiting.py). */
export type Waits = {
  /** How it is started: with a script of ours, which waits. */
  readonly argv: readonly string[];
  /** The words that the only step of a program begins with that it can run; it is told those behind. */
  readonly runs: readonly string[];
  /** A file of the working directory that it opens when it starts, and that is removed again; null for none. */
  readonly opens: string | null;
  /** Words in sources by which a program may tell it from one that has just started. Such a program is started as always. */
  readonly unless: readonly string[];
  /** Whether it can take a standard input, and speak with the host. Others run only programs without. */
  readonly speaks: boolean;
};

export type Language = {
  /** Name of the language in calls. */
  readonly name: string;
  /** Name of the language for people. */
  readonly title: string;
  /** Other names that calls may use. */
  readonly aliases: readonly string[];
  /** Extensions of its files, with the dot; the first is the one of `file`. */
  readonly extensions: readonly string[];
  /** The entry file's name where a call gives none. */
  readonly file: string;
  /** The recipe of its image, as `image build` takes it. */
  readonly profile: string;
  /** Ways to run code, in order of preference; empty for Python, which the harness runs itself. */
  readonly ways: readonly {
    /** Programs that must be on the image's PATH. */
    readonly needs: readonly string[];
    /**
     * Argument vectors, run in order in the working directory: each must end with status 0 before the next begins, and the
     * last becomes the program. `{file}` stands for the entry file's path, `{folder}` for that of its folder, both relative
     * and beginning with `./`, `{harness}` for that of our own files; a vector's last element may be `{args}`, for the
     * program's arguments.
     */
    readonly steps: ReadonlyArray<readonly string[]>;
  }[];
  /** Run while a sandbox waits, in the working directory; a failure is nobody's. */
  readonly ahead: ReadonlyArray<readonly string[]>;
  readonly waits?: Waits;
  /** Variables for the program and its steps. `{heapMb}` stands for the part of the memory that a managed heap may take. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables on top of `env` where there is no network. */
  readonly envOffline?: Readonly<Record<string, string>>;
  readonly places: readonly Place[];
  /** Limits where neither the call nor the operator says otherwise. */
  readonly limits: {
    readonly timeoutSeconds?: number;
    readonly memoryBytes?: number;
    readonly pids?: number;
  };
  /** Idiom in which the language's programs call MCP tools. */
  readonly tools: 'none' | 'python' | 'javascript';
};

/** Whether the harness itself runs its programs, in the image's own Python. */
export const isPython = ({ ways }: Pick<Language, 'ways'>): boolean => ways.length === 0;

/** Whether its programs can call MCP tools. */
export const callsTools = ({ tools }: Pick<Language, 'tools'>): boolean => tools !== 'none';

/** Whether a file of this name is one of its own, by its ending. */
export const isFileOf = ({ extensions }: Pick<Language, 'extensions'>, file: string): boolean =>
  extensions.some((extension) => file.endsWith(extension));

const python: Language = {
  name: 'python',
  title: 'Python',
  aliases: ['py', 'python3'],
  extensions: ['.py'],
  file: 'main.py',
  profile: 'base',
  ways: [],
  ahead: [],
  env: {},
  places: [],
  limits: {},
  tools: 'python',
};

// JavaScript and TypeScript are started by a script of ours, sandbox-runtime/javascript/run.cjs, which leaves to Node what Node
// can do. The script knows which kind of module a file is where Node is too old to look, and has TypeScript made into
// JavaScript by esbuild, where the image has esbuild.
const RUN = '{harness}/javascript/run.cjs';

// Words by which a program finds how long ago its Node was started.
const AGE_OF_NODE = ['performance', 'perf_hooks', 'uptime', '/proc'];

const javascript: Language = {
  name: 'javascript',
  title: 'JavaScript',
  aliases: ['js', 'node', 'nodejs'],
  extensions: ['.js', '.mjs', '.cjs'],
  file: 'main.js',
  profile: 'javascript',
  ways: [{ needs: ['node'], steps: [['node', RUN, '{file}', '{args}']] }],
  ahead: [],
  waits: { argv: ['node', RUN], runs: ['node', RUN], opens: null, unless: AGE_OF_NODE, speaks: true },
  // So that what grows too large says "JavaScript heap out of memory" instead of being killed. Left alone, Node takes half
  // of a control group's memory at most, and where there is none it knows no limit but the machine's.
  env: { NODE_OPTIONS: '--max-old-space-size={heapMb}' },
  places: [],
  limits: {},
  tools: 'javascript',
};

const typescript: Language = {
  ...javascript,
  name: 'typescript',
  title: 'TypeScript',
  aliases: ['ts'],
  extensions: ['.ts', '.mts', '.cts'],
  file: 'main.ts',
  // Traces name the lines of what was sent.
  ways: [{ needs: ['node'], steps: [['node', '--enable-source-maps', RUN, '{file}', '{args}']] }],
  waits: {
    argv: ['node', '--enable-source-maps', RUN],
    runs: ['node', '--enable-source-maps', RUN],
    opens: null,
    unless: AGE_OF_NODE,
    speaks: true,
  },
};

const go: Language = {
  name: 'go',
  title: 'Go',
  aliases: ['golang'],
  extensions: ['.go'],
  file: 'main.go',
  profile: 'go',
  ways: [
    {
      needs: ['go'],
      steps: [
        // A package that is not there is to be looked for, which says best that it cannot be. No debugger needs DWARF.
        // Four compilers at once, each with its threads, stay far below the limit of processes on any host.
        // Where our image says how, a program of one file is made without the go command (harness/go_program.py), with these flags
        // (sandbox-runtime/images/compile-go.sh).
        ['go', 'build', '-mod=mod', '-ldflags=-w', '-p=4', '-o', '/build/main', '{folder}'],
        ['/build/main', '{args}'],
      ],
    },
  ],
  // A go.mod that the call gives takes the place of this one. The build has nothing to do where the standard library is
  // compiled, and looks for what of it is old; elsewhere it compiles what nearly every program needs.
  ahead: [
    ['go', 'mod', 'init', 'main'],
    ['go', 'build', 'fmt'],
  ],
  env: {
    CGO_ENABLED: '0',
    GOTOOLCHAIN: 'local',
    GOTMPDIR: '/build',
    GOPATH: '/build/go',
    // Only of images that have no cache of their own, such as upstream's; ours names its in GOCACHE.
    XDG_CACHE_HOME: '/build/cache',
  },
  envOffline: { GOPROXY: 'off' },
  places: [{ target: '/build', sizeMb: 256, executable: true }],
  // A long program of 30,000 lines compiles under 256 MB with what ours has compiled ahead. An image that has not
  // compiles the standard library first, and keeps it in memory: net/http under 1024 MB, and hardly under 512.
  // gVisor's own threads count as well: under 128 its kernel ended in the middle of a build, under 192 it did not.
  limits: { memoryBytes: 1024 * MB_BYTES, pids: 256 },
  tools: 'none',
};

const bash: Language = {
  name: 'bash',
  title: 'Bash',
  aliases: ['sh', 'shell'],
  extensions: ['.sh', '.bash'],
  file: 'main.sh',
  profile: 'bash',
  ways: [{ needs: ['bash'], steps: [['bash', '{file}', '{args}']] }],
  ahead: [],
  env: {},
  places: [],
  limits: {},
  tools: 'none',
};

const ruby: Language = {
  name: 'ruby',
  title: 'Ruby',
  aliases: ['rb'],
  extensions: ['.rb'],
  file: 'main.rb',
  profile: 'ruby',
  ways: [{ needs: ['ruby'], steps: [['ruby', '{file}', '{args}']] }],
  ahead: [],
  // Ruby takes its options from the first line of a script before it loads what `-r` names, so they are to be there then.
  // LOADED_FEATURES and `$"` tell what was loaded, and ObjectSpace what was opened.
  waits: {
    argv: ['ruby', '-r{harness}/ruby/wait.rb', './main.rb'],
    runs: ['ruby', './main.rb'],
    opens: './main.rb',
    unless: ['#!', 'LOADED_FEATURES', '$"', 'ObjectSpace', '/proc'],
    speaks: false,
  },
  env: {},
  places: [],
  limits: {},
  tools: 'none',
};

export const languages: readonly Language[] = [python, javascript, typescript, go, bash, ruby];

/** The language that has `name` as its own name or as one of its other names, in any case of letters. */
export function languageNamed(name: string): Language | undefined {
  const wanted = name.trim().toLowerCase();
  return languages.find(({ name: own, aliases }) => own === wanted || aliases.includes(wanted));
}

/** The language whose extension the file has; undefined when no language has it. */
export function languageOfFile(file: string): Language | undefined {
  return languages.find((language) => isFileOf(language, file));
}

// Which folder of a sandbox can be its working directory. A file system in memory is put there, and hides what the image
// has in that place: where programs, the kernel's files and our own lie, none can be.

/** Where nobody names another. */
export const DEFAULT_WORKDIR = '/workspace';

const MAX_CHARS = 200;
/** Each of them, what is in them, and what they are in. */
const RESERVED: Readonly<Record<string, string>> = {
  'has programs of the image':
    '/bin /lib /lib32 /lib64 /libx32 /sbin /usr/bin /usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/libx32 /usr/local /usr/sbin /usr/share',
  'has the settings of the system': '/boot /etc /var/lib',
  'belongs to the kernel': '/dev /proc /sys',
  'has files of the system': '/run /var/run /var/lock',
  'can be entered by root only': '/root /lost+found',
  'has files of the bridge': '/ipc /python-fallback',
  'is a writable place already': [
    '/tmp',
    ...languages.flatMap(({ places }) => places.map(({ target }) => target)),
  ].join(' '),
};

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Why `path` cannot be a working directory, as `it …`; undefined where it can. */
export function workdirTrouble(path: string): string | undefined {
  if (!path.startsWith('/')) return 'it is not absolute';
  if (path === '/') return 'it is the whole file system';
  if (path.length > MAX_CHARS) return `it has ${path.length} characters; at most ${MAX_CHARS} are allowed`;
  // The engines' options have no way to quote.
  if (!/^[\w./+@-]+$/.test(path)) return 'it has characters other than letters, digits and _ . + @ -';
  if (/\/\.{0,2}(\/|$)/.test(path)) return 'it has a part that is empty, . or ..';
  for (const [why, folders] of Object.entries(RESERVED)) {
    const folder = folders
      .split(' ')
      .find((reserved) => isWithin(path, reserved) || isWithin(reserved, path));
    if (folder !== undefined)
      return `${isWithin(path, folder) ? folder : `${folder}, which is in it,`} ${why}`;
  }
  return undefined;
}

// How operators name languages: rules for variables and files that take every name a language has, hand on its own one,
// and say which name is none.

const MAX_NAME_CHARS = 60;

/** Names of all languages, in words, for a sentence on what is allowed. */
export const LANGUAGE_NAMES = languages.map(({ name }) => name).join(', ');

/** A sentence, with the name that was probably meant. */
export function noSuchLanguage(name: string): string {
  const known = languages.flatMap(({ name: own, aliases }) => [own, ...aliases]);
  return `There is no language '${clipHarmless(name, MAX_NAME_CHARS)}'.${didYouMean(name, known)}`;
}

/** Makes `message` what is said of the value, besides what is allowed. */
function objectTo(context: z.core.$RefinementCtx, input: string, message: string): never {
  context.issues.push({ code: 'custom', input, message, params: { explains: true } });
  return z.NEVER;
}

/** Any of its names becomes its own. */
export const languageName = z
  .string()
  .transform(
    (name, context): string => languageNamed(name)?.name ?? objectTo(context, name, noSuchLanguage(name)),
  );

/** `language=image` pairs, by the languages' own names. */
export const languageImages = z
  .array(z.string())
  .min(1)
  .transform((pairs, context): ReadonlyMap<string, string> => {
    const images = new Map<string, string>();
    for (const pair of pairs) {
      const [, name = '', image = ''] = /^([^=]*)=(.*)$/s.exec(pair) ?? [];
      const shown = clipHarmless(pair, MAX_NAME_CHARS);
      if (image === '') return objectTo(context, pair, `'${shown}' is not a language=image pair.`);
      const trouble = imageReferenceTrouble(image);
      if (trouble !== undefined) return objectTo(context, pair, `'${shown}' names no image. ${trouble}`);
      const language = languageNamed(name);
      if (language === undefined) return objectTo(context, pair, noSuchLanguage(name));
      if (images.has(language.name)) return objectTo(context, pair, `${language.title} is given twice.`);
      images.set(language.name, image);
    }
    return images;
  });
