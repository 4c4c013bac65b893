// The languages of `execute_code`, a record each.

import { MB_BYTES } from '../../base/text/sizes.js';
import { isFileOf, type Language } from './language.js';

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
// can do. The script knows which kind of module a file is where Node is too old to look, and has TypeScript made into JavaScript by
// esbuild, where the image has it.
const RUN = '{harness}/javascript/run.cjs';

const javascript: Language = {
  name: 'javascript',
  title: 'JavaScript',
  aliases: ['js', 'node', 'nodejs'],
  extensions: ['.js', '.mjs', '.cjs'],
  file: 'main.js',
  profile: 'javascript',
  ways: [{ needs: ['node'], steps: [['node', RUN, '{file}', '{args}']] }],
  ahead: [],
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
  env: {},
  places: [],
  limits: {},
  tools: 'none',
};

export const languages: readonly Language[] = [python, javascript, typescript, go, bash, ruby];

/** By its name, or one of its other names, in any case of letters. */
export function languageNamed(name: string): Language | undefined {
  const wanted = name.trim().toLowerCase();
  return languages.find(({ name: own, aliases }) => own === wanted || aliases.includes(wanted));
}

/** The language whose extension the file has; undefined when no language has it. */
export function languageOfFile(file: string): Language | undefined {
  return languages.find((language) => isFileOf(language, file));
}
