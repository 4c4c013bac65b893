// Modules and programs that are not in the image: which image has them, from the recipes that images are made by, and
// that nothing can be installed.

import { ownCommand } from '../../base/process/own-command.js';
import { findClosest } from '../../base/text/closest.js';
import { VERSION } from '../../base/version.js';
import {
  buildWords,
  type OwnImageName,
  profiles,
  readOwnName,
  shortName,
} from '../../engine/images/image-name.js';
import {
  localImageName,
  modulesOf,
  packageOf,
  pipPackageOf,
  readRecipe,
  recipeOf,
} from '../../engine/images/recipe.js';
import { INDEXED_MODULES, PACKAGED_MODULES } from '../../sandbox/python/image-facts.js';
import { errno, type Hint, type HintSpec, matchDuring, STARTS_SOMETHING, says } from './hint.js';

// Programs that install packages, and what is printed where one was started and could do nothing: a shell's and a Python's
// own words. Such a command raises no exception, so a run that tried it may well have succeeded.

/** As a part of patterns. */
export const INSTALLER = '(?:pip[\\d.]*|uv|pipx|poetry|conda|mamba|apt|apt-get|apk|npm|easy_install)';

/** Shells differ in what stands in front, and in the words. */
const SAID = new RegExp(
  [
    `(?:^|[\\s:'"/])${INSTALLER}: (?:command )?not found`,
    String.raw`\bNo module named '?(?:pip|ensurepip|uv|pipx|conda)\b`,
    String.raw`\bNo matching distribution found for `,
    String.raw`\berror: externally-managed-environment\b`,
  ].join('|'),
  'm',
);
/** So much of what was printed is looked at, from its end. */
const MAX_CHARS = 20_000;

/** Whether something that was printed is an installer's failure. */
const saysNotInstalled = (printed: string): boolean => SAID.test(printed.slice(-MAX_CHARS));

const MODULE = /^ModuleNotFoundError$/;
/** Between the words of a command. */
const GAP = `['", ]+`;

type Profile = { readonly name: string; readonly image: string; readonly modules: readonly string[] };

/** Read when it is asked for: only by runs that have failed. */
const imageProfiles = (): readonly Profile[] =>
  profiles().map((name) => {
    const recipe = readRecipe(name);
    return { name, image: localImageName(recipe, VERSION), modules: modulesOf(recipe) };
  });

const INSTEAD = "use the standard library or a server's tool.";

/**
 * Modules that the image is known to have beyond the standard library, and other profiles with more, which the user may set.
 */
function images(image: string): { readonly own: string; readonly others: readonly Profile[] } {
  const name = readOwnName(image);
  const recipe = name && recipeOf(name);
  const own = recipe === undefined ? [] : modulesOf(recipe);
  const isMore = ({ modules }: Profile) => modules.some((module) => !own.includes(module));
  return {
    own: own.length === 0 ? '' : ` This image has ${own.join(', ')}.`,
    others: imageProfiles().filter((profile) => profile.name !== name?.profile && isMore(profile)),
  };
}

const offers = (others: readonly Profile[]): string =>
  others
    .map(({ name, modules }) => ` The user can set MCP_BRIDGE_IMAGE=${name} for ${modules.join(', ')}.`)
    .join('');

/** The profile that further packages are added to: most of them are about data. */
const RICHEST = 'data';

/** How the user gets one more module, where Debian or the Python index is known to have it. */
function extendAdvice(image: string, module: string): string {
  const recipe = readRecipe(RICHEST);
  if (modulesOf(recipe).includes(module)) return '';
  const more = PACKAGED_MODULES.has(module)
    ? { added: [packageOf(module, recipe)] }
    : INDEXED_MODULES.has(module)
      ? { pip: [pipPackageOf(module)] }
      : undefined;
  if (more === undefined) return '';
  const wanted = extendedName(image, more);
  const made = recipeOf(wanted);
  const use =
    made === undefined
      ? ''
      : ` and set MCP_BRIDGE_IMAGE=${shortName(localImageName(made, VERSION, wanted.suite))}`;
  return ` For ${module} the user can run \`${ownCommand(...buildWords(wanted))}\`${use}.`;
}

/** The richest profile with the packages that the user has added to this image, and with more of them. */
function extendedName(
  image: string,
  { added = [], pip = [] }: { readonly added?: readonly string[]; readonly pip?: readonly string[] },
): OwnImageName {
  const own = readOwnName(image);
  const here = own?.profile === RICHEST && own.added !== undefined && own.pip !== undefined ? own : undefined;
  return {
    profile: RICHEST,
    suite: here?.suite,
    added: [...new Set([...(here?.added ?? []), ...added])].sort(),
    pip: [...new Set([...(here?.pip ?? []), ...pip])].sort(),
  };
}

function missingModule({ image }: HintSpec, module: string): string {
  const [name = ''] = module.split('.');
  const { own, others } = images(image);
  const having = others.filter(({ modules }) => modules.includes(name));
  return having.length > 0
    ? `This image has no ${name}, and nothing can be installed here.${offers(having)}`
    : `Nothing can be installed here: ${INSTEAD}${own}${offers(others)}${extendAdvice(image, name)}`;
}

/** Says what there is instead of an installer. */
export function noInstalling({ image, network }: HintSpec): string {
  const { own, others } = images(image);
  const why = network === 'none' ? 'there is no network' : 'the image is read-only';
  return `Nothing can be installed here: ${why}. Do without: ${INSTEAD}${own}${offers(others)} For other packages the user can run \`${ownCommand('image', 'build', RICHEST, '--pip')} <name>\`.`;
}

/** Note for a run that succeeded where nothing was installed; undefined where the run has not tried to install. */
export const notInstalledNote = (printed: readonly string[], spec: HintSpec): string | undefined =>
  printed.some(saysNotInstalled) ? noInstalling(spec) : undefined;

const noSdk = (): string =>
  '`mcp` is not the MCP SDK here: it has mcp.runtime, mcp.servers.<alias> and MCPError. Call tools without a client: await mcp_<alias>.<tool>(...).';

export const moduleHints: readonly Hint[] = [
  {
    about: 'a server as a module',
    matches: says(/^No module named '(mcp_\w+)'/, MODULE),
    sentence: ({ aliases = [] }, name = '') => {
      const word = name.replace(/^mcp_/, '');
      const near = aliases.includes(word) ? undefined : findClosest(word, aliases);
      const meant = near === undefined ? '' : ` Did you mean 'mcp_${near}'?`;
      return `${name} is not a module: leave out the import, and name the server in the call's \`servers\`.${meant}`;
    },
  },
  {
    about: 'the MCP SDK',
    matches: says(/^No module named '(mcp\.[\w.]+)'/, MODULE),
    sentence: noSdk,
  },
  {
    about: 'a name of the MCP SDK',
    matches: says(/^cannot import name '\w+' from 'mcp' /, /^ImportError$/),
    sentence: noSdk,
  },
  {
    about: 'an installer as a module',
    matches: says(new RegExp(`^No module named '(?:${INSTALLER}|ensurepip|micropip)['.]`), MODULE),
    sentence: noInstalling,
  },
  {
    about: 'an installer that is started as a module',
    // The words of runpy: without quotes, and in a class above the importer's.
    matches: says(new RegExp(`^No module named (?:${INSTALLER}|ensurepip)$`), /^ImportError$/),
    sentence: noInstalling,
  },
  {
    about: 'a library that is optional to another',
    // pandas before and from 3 on, and libraries that say it in words of their own.
    matches: says(
      /^Missing optional dependency '([\w.-]+)'|^`?Import ([\w.-]+)`? failed|\b(?:pip|conda) install (?:-\S+ )*["'`]?([\w-]+)|^([\w-]+) not found, please install it|^Unable to find a usable engine; tried using: '(\w+)'/,
      /^(?:ImportError|ModuleNotFoundError|ValueError|RuntimeError)$/,
    ),
    sentence: (spec, ...words) => missingModule(spec, words.find((word) => word !== '') ?? ''),
  },
  {
    about: 'a missing module',
    matches: says(/^No module named '([^']+)'/, MODULE),
    sentence: missingModule,
  },
  {
    about: 'an installer that fails',
    // A command is shown as it was given: a list, or a line for the shell.
    matches: says(
      new RegExp(
        String.raw`^Command '(?:\[')?(?:[^\s'",]*python[\d.]*${GAP}-m${GAP})?(?:[^\s'",]*/)?${INSTALLER}${GAP}(?:pip${GAP})?(?:-[^\s'",]+${GAP})*(?:install|add)\b`,
      ),
      /^subprocess\./,
    ),
    sentence: noInstalling,
  },
  {
    about: 'an installer that is not there',
    matches: errno(2, ` .*'(?:[^']*/)?${INSTALLER}'$`),
    sentence: noInstalling,
  },
  {
    about: 'a missing program',
    matches: matchDuring(STARTS_SOMETHING, errno(2, String.raw` No such file or directory: '([\w.+-]+)'$`)),
    sentence: (_walls, name = '') =>
      `The image has no program ${name}; it has Python, a shell and the GNU core tools. Use those or a server's tool.`,
  },
];
