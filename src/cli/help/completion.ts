// `completion bash|zsh|fish`: a script that knows every command and option, made of the very tree that reads the command line.
// Nothing of ours is started at a TAB, and where a word is no command, option or choice of ours, the shell offers files.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shells write variables this way

import type { Command, Option } from 'commander';
import { PACKAGE_NAME } from '../../base/version.js';
import { profiles } from '../../engine/images/image-name.js';
import { HOSTS } from '../../hosts/records/all-hosts.js';
import { commandsBelow } from './examples.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** A word that may come next, and what it means. */
type CompletionWord = { readonly word: string; readonly says: string };
/** A command by the words that name it, separated by spaces. */
type CompletionPlace = {
  readonly name: string;
  /** Its commands, or words that its arguments may be. */
  readonly words: readonly CompletionWord[];
  readonly options: readonly CompletionWord[];
};

/** Arguments whose words are known, by command. */
const ARGUMENTS: Readonly<Record<string, () => readonly string[]>> = {
  install: () => HOSTS.map(({ id }) => id),
  uninstall: () => HOSTS.map(({ id }) => id),
  adopt: () => HOSTS.map(({ id }) => id),
  restore: () => HOSTS.map(({ id }) => id),
  'image build': () => profiles(),
  'image rm': () => profiles(),
  completion: () => SHELLS,
};

/** The script for a shell; ends with a newline. */
export function completionScript(shell: (typeof SHELLS)[number], program: Command): string {
  const commands = commandsBelow(program).filter(([, command]) => !isHidden(command));
  const places = commands.map(([name, command]) => placeOf(name, command));
  const choices = new Map(commands.flatMap(([, command]) => command.options.flatMap(choicesOf)));
  return `${SCRIPTS[shell](places, choices).join('\n')}\n`;
}

function placeOf(name: string, command: Command): CompletionPlace {
  const below = command.commands.filter((each) => !isHidden(each));
  const known = ARGUMENTS[name]?.() ?? [];
  const options = command.createHelp().visibleOptions(command);
  return {
    name,
    words: [
      ...below.map((each) => ({ word: each.name(), says: each.description() })),
      ...known.map((word) => ({ word, says: '' })),
    ],
    options: options.flatMap(({ long, description }) =>
      long == null ? [] : [{ word: long, says: description }],
    ),
  };
}

const isHidden = (command: Command): boolean =>
  command.parent !== null && !command.parent.createHelp().visibleCommands(command.parent).includes(command);

const choicesOf = ({
  long,
  argChoices,
}: Option): Array<readonly [option: string, words: readonly string[]]> =>
  long == null || argChoices === undefined ? [] : [[long, argChoices]];

/** Descriptions stand between single quotes in every shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", '’')}'`;
const wordsOf = (offers: readonly CompletionWord[]): string => offers.map(({ word }) => word).join(' ');
const namesOf = (places: readonly CompletionPlace[]): readonly string[] =>
  places.flatMap(({ name }) => (name === '' ? [] : [quoted(name)]));

type Write = (
  places: readonly CompletionPlace[],
  choices: ReadonlyMap<string, readonly string[]>,
) => readonly string[];

const FUNCTION = `_${PACKAGE_NAME.replaceAll('-', '_')}`;
const HEAD = `# Completion of ${PACKAGE_NAME}, printed by \`${PACKAGE_NAME} completion\`.`;

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], Write>> = {
  bash: (places, choices) => [
    HEAD,
    `${FUNCTION}() {`,
    `  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" at='' i words='' options=''`,
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    `    case "\${at:+$at }\${COMP_WORDS[i]}" in`,
    `      ${namesOf(places).join('|')}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;`,
    '    esac',
    '  done',
    '  case "$at" in',
    ...places.map(
      ({ name, words, options }) =>
        `    ${quoted(name)}) words='${wordsOf(words)}' options='${wordsOf(options)}' ;;`,
    ),
    '  esac',
    `  [[ "$word" == -* ]] && words="$options"`,
    '  case "$before" in',
    ...[...choices].map(([option, words]) => `    ${option}) words='${words.join(' ')}' ;;`),
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
    '}',
    `complete -o default -F ${FUNCTION} ${PACKAGE_NAME}`,
  ],
  zsh: (places, choices) => [
    `#compdef ${PACKAGE_NAME}`,
    HEAD,
    `${FUNCTION}() {`,
    `  local at='' word`,
    '  local -a offers options',
    '  for word in "${(@)words[2,CURRENT-1]}"; do',
    '    case "${at:+$at }$word" in',
    `      (${namesOf(places).join('|')}) at="\${at:+$at }$word" ;;`,
    '    esac',
    '  done',
    '  case "$at" in',
    ...places.map(
      ({ name, words, options }) =>
        `    (${quoted(name)}) offers=(${zshOffers(words)}) options=(${zshOffers(options)}) ;;`,
    ),
    '  esac',
    '  case "${words[CURRENT-1]}" in',
    ...[...choices].map(([option, words]) => `    (${option}) offers=(${words.join(' ')}) ;;`),
    '  esac',
    '  if [[ "$PREFIX" == -* ]]; then _describe -o option options',
    '  elif (( $#offers )); then _describe word offers || _files',
    '  else _files',
    '  fi',
    '}',
    `if [[ "\${funcstack[1]}" == ${FUNCTION} ]]; then ${FUNCTION} "$@"; else compdef ${FUNCTION} ${PACKAGE_NAME}; fi`,
  ],
  fish: (places, choices) => [
    HEAD,
    `function _${FUNCTION}_at`,
    '  set -l tokens (commandline -opc)',
    `  set -l at ''`,
    '  for word in $tokens[2..-1]',
    '    set -l longer (string trim -- "$at $word")',
    `    contains -- $longer ${namesOf(places).join(' ')}; and set at $longer`,
    '  end',
    '  test "$at" = "$argv[1]"',
    'end',
    ...places.flatMap(({ name, words, options }) => {
      const start = `complete -c ${PACKAGE_NAME} -n ${fishCondition(name)}`;
      return [
        ...words.map(({ word, says }) => `${start} -f -a ${word} -d ${quoted(says)}`),
        ...options.map(({ word, says }) => {
          const values = choices.get(word);
          const more = values === undefined ? '' : ` -x -a ${quoted(values.join(' '))}`;
          return `${start} -l ${word.slice(2)}${more} -d ${quoted(says)}`;
        }),
      ];
    }),
  ],
};

const fishCondition = (name: string): string => `'_${FUNCTION}_at "${name}"'`;

/** Each as \`word:meaning\`; a colon of a word's own would end it. */
const zshOffers = (offers: readonly CompletionWord[]): string =>
  offers.map(({ word, says }) => quoted(`${word.replaceAll(':', '\\:')}:${says}`)).join(' ');
