// Modules and programs that are not in the image: which image has them, from the recipes that images are made by, and
// that nothing can be installed.

import { VERSION } from '../../base/version.js';
import { localImageName, modulesOf, profiles, readRecipe } from '../../engine/recipe.js';
import { type Hint, STARTS_SOMETHING, says, saysWhile, type Walls } from './hint.js';

const NO_INSTALLING = 'nothing can be installed here (no network, read-only)';
const MODULE = /^ModuleNotFoundError$/;
const INSTALLER = '(?:pip3?|uv|pipx|poetry|conda|mamba|apt|apt-get|apk|npm|easy_install)';

type Profile = { readonly name: string; readonly image: string; readonly modules: readonly string[] };

/** Read when it is asked for: only by runs that have failed. */
const imageProfiles = (): readonly Profile[] =>
  profiles().map((name) => {
    const recipe = readRecipe(name);
    return { name, image: localImageName(recipe, VERSION), modules: modulesOf(recipe) };
  });

const setting = ({ name, modules }: Profile): string =>
  `MCP_BRIDGE_IMAGE=${name} (${modules.join(', ')}), which the user can set`;

function missingModule({ image }: Walls, module: string): string {
  const [name = ''] = module.split('.');
  const others = imageProfiles().filter((profile) => profile.image !== image && profile.modules.length > 0);
  const its = others.find(({ modules }) => modules.includes(name));
  if (its !== undefined) {
    return `This image does not have ${name}, and ${NO_INSTALLING}. It is in the image of ${setting(its)}.`;
  }
  const own = imageProfiles().find((profile) => profile.image === image)?.modules ?? [];
  const there = own.length === 0 ? '' : ` It has ${own.join(', ')}.`;
  const more = others.map((other) => ` More is in the image of ${setting(other)}.`).join('');
  return `This image does not have ${name}, and ${NO_INSTALLING}: use the standard library or a server's tool.${there}${more}`;
}

const noInstalling = ({ image }: Walls): string => {
  const others = imageProfiles().filter((profile) => profile.image !== image && profile.modules.length > 0);
  const more = others.map((other) => ` More is in the image of ${setting(other)}.`).join('');
  return `Packages: ${NO_INSTALLING}. Use the standard library or a server's tool.${more}`;
};

export const moduleHints: readonly Hint[] = [
  {
    about: 'a server as a module',
    matches: says(/^No module named '(mcp_\w+)'/, MODULE),
    sentence: (_walls, name = '') =>
      `${name} is no module: it is there without an import when run_python's \`servers\` names the server.`,
  },
  {
    about: 'the MCP SDK',
    matches: says(/^No module named '(mcp\.[\w.]+)'/, MODULE),
    sentence: () =>
      '`mcp` is not the MCP SDK here: it has mcp.runtime, mcp.servers.<alias> and MCPError, and servers need no client.',
  },
  {
    about: 'an installer as a module',
    matches: says(new RegExp(`^No module named '(?:${INSTALLER}|ensurepip|micropip)['.]`), MODULE),
    sentence: noInstalling,
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
      new RegExp(String.raw`^Command .*\b${INSTALLER}\b['", ]+(?:-\S+['", ]+)*(?:install|add)\b`),
      /^subprocess\./,
    ),
    sentence: noInstalling,
  },
  {
    about: 'an installer that is not there',
    matches: says(new RegExp(`^\\[Errno 2\\] .*'(?:\\S*/)?${INSTALLER}'$`)),
    sentence: noInstalling,
  },
  {
    about: 'a missing program',
    matches: saysWhile(STARTS_SOMETHING, /^\[Errno 2\] No such file or directory: '([\w.+-]+)'$/),
    sentence: (_walls, name = '') =>
      `The image has no program ${name}; it has Python, a shell and the GNU core tools. Use those or a server's tool.`,
  },
];
