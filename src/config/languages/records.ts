// The languages of `execute_code`, a record each.

import { javascript, typescript } from './javascript.js';
import type { Language } from './language.js';

const MB_BYTES = 1024 ** 2;

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
        ['go', 'build', '-o', '/build/main', '{folder}'],
        ['/build/main', '{args}'],
      ],
    },
  ],
  ahead: [['go', 'mod', 'init', 'main']],
  env: { CGO_ENABLED: '0', GOCACHE: '/build/cache', GOTMPDIR: '/build', GOPATH: '/build/go' },
  places: [{ target: '/build', sizeMb: 256, executable: true }],
  limits: { memoryBytes: 1024 * MB_BYTES },
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

/** Of a file, by its extension. */
export function languageOfFile(file: string): Language | undefined {
  return languages.find(({ extensions }) => extensions.some((extension) => file.endsWith(extension)));
}
