// The servers that plugins of Claude Code bring: found by its own list of installed plugins, read from the plugin's
// files, with the plugin's variables replaced. A plugin counts only when the user's own settings switch it on, or, for a plugin
// that the user installed for this project, the project's settings. Reads no credentials, so an option that Claude Code keeps
// among them is missing here.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Claude Code writes variables this way

import { z } from 'zod';
import { isObject } from '../../base/json/records.js';
import type { Environment } from '../../base/process/environment.js';
import { type HostFacts, pathRules } from '../../settings/files/host-facts.js';
import { CLAUDE_FOLDER, CLAUDE_SETTINGS } from '../records/claude-code.js';
import type { PluginOption, ServerSkipReason } from '../skip-reason.js';
import { locate } from '../terms/source-files.js';

/** An entry of a plugin's file. */
type WrittenPlugin = {
  readonly name: string;
  readonly value: unknown;
  readonly file: string;
  readonly pointer: string;
  /** Why no entry can be read from the value; undefined when one can. */
  readonly refusal: ServerSkipReason | undefined;
};

type PluginContext = {
  readonly env: Environment;
  readonly host: HostFacts;
  /** The parsed content of a file, or undefined; one that comes with the project may be no larger than such files are. */
  readonly read: (file: string, ofProject?: 'of project') => unknown;
};

type Plugin = {
  /** `NAME@MARKETPLACE`. */
  readonly id: string;
  readonly root: string;
  /** The contents of the plugin's plugin.json. */
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly name: string;
  readonly manifestFile: string;
  /** Whether the user installed it for this project alone. */
  readonly isOfProject: boolean;
};

const record = z.record(z.string(), z.unknown()).catch({});
const installation = z.looseObject({
  scope: z.string().optional(),
  projectPath: z.string().optional(),
  installPath: z.string(),
});
const installed = z.looseObject({ plugins: record }).catch({ plugins: {} });
const option = z.looseObject({ default: z.unknown().optional(), sensitive: z.boolean().catch(false) });
const settings = z
  .looseObject({ enabledPlugins: record, pluginConfigs: record })
  .catch({ enabledPlugins: {}, pluginConfigs: {} });

/** The project's, in order of precedence; both come before the user's. */
const PROJECT_SETTINGS = ['./.claude/settings.local.json', './.claude/settings.json'];
const HOST = 'Claude Code';
/** Packed servers, which only a host with an installer can unpack. */
const BUNDLE = /\.(mcpb|dxt)$/i;

/** `list` is the content of installed_plugins.json. In order of the list, and of one plugin as its files say. */
export function pluginEntries(list: unknown, context: PluginContext) {
  const { env, host, read } = context;
  const [settingsFile = ''] = locate(CLAUDE_SETTINGS, env, host);
  const { enabledPlugins, pluginConfigs } = settings.parse(read(settingsFile));
  const projects = PROJECT_SETTINGS.flatMap((pattern) => locate(pattern, env, host)).map((file) => ({
    file,
    enabledPlugins: settings.parse(read(file, 'of project')).enabledPlugins,
  }));
  return Object.entries(installed.parse(list).plugins).flatMap(([id, places]) => {
    const plugin = pluginOf(id, places, context);
    if (plugin === undefined) return [];
    // Whatever is not true switches it off.
    const said = projects.find(
      (project) => (memberAt(project.enabledPlugins, id) ?? undefined) !== undefined,
    );
    const isOnHere = said === undefined ? undefined : memberAt(said.enabledPlugins, id) === true;
    // A project, which may be anybody's, switches on only what the user has installed for it.
    const decides =
      said !== undefined && (isOnHere === false || plugin.isOfProject) ? said.file : settingsFile;
    const isOn = decides === settingsFile ? memberAt(enabledPlugins, id) === true : isOnHere;
    const config = memberAt(pluginConfigs, id);
    const options = record.parse(isObject(config) ? config['options'] : {});
    const off: ServerSkipReason = { kind: 'plugin-not-enabled', host: HOST, file: decides, id };
    return serversOf(plugin, context).map(({ name, value, file, pointer, refusal }) => {
      const filled = new PluginVariables(plugin, options, context);
      return {
        name: `plugin:${plugin.name}:${name}`,
        value: filled.entry(value),
        file,
        pointer,
        refusal,
        /** Why a usable entry is not started; undefined when it may be. */
        trouble: isOn ? filled.trouble : off,
      };
    });
  });
}

const memberAt = (map: Readonly<Record<string, unknown>>, id: string): unknown =>
  Object.hasOwn(map, id) ? map[id] : undefined;

function pluginOf(id: string, places: unknown, context: PluginContext): Plugin | undefined {
  const { host, read } = context;
  const { join } = pathRules(host);
  // Once there was one installation of each plugin, now there is a list.
  const all = (Array.isArray(places) ? places : [places]).flatMap(
    (place) => installation.safeParse(place).data ?? [],
  );
  const here = all.find(({ projectPath }) => projectPath === undefined || isHere(projectPath, host));
  if (here === undefined) return undefined;
  const at = id.lastIndexOf('@');
  const name = at > 0 ? id.slice(0, at) : id;
  const root = folderInMarketplace(name, id.slice(at + 1), context) ?? here.installPath;
  const manifestFile = join(root, '.claude-plugin', 'plugin.json');
  const isOfProject = all.some(({ projectPath }) => projectPath !== undefined && isHere(projectPath, host));
  return { id, name, root, manifestFile, manifest: record.parse(read(manifestFile)), isOfProject };
}

function isHere(projectPath: string, host: HostFacts): boolean {
  const { relative, isAbsolute } = pathRules(host);
  const way = relative(projectPath, host.cwd);
  return way !== '..' && !/^\.\.[/\\]/.test(way) && !isAbsolute(way);
}

/** When a marketplace is a folder of this machine, Claude Code runs the plugin in that folder, not its copy. */
function folderInMarketplace(name: string, marketplace: string, context: PluginContext): string | undefined {
  const { env, host, read } = context;
  const { join } = pathRules(host);
  const [known = ''] = locate(`${CLAUDE_FOLDER}/plugins/known_marketplaces.json`, env, host);
  const all = record.parse(read(known));
  const one = Object.hasOwn(all, marketplace) ? all[marketplace] : undefined;
  if (!isObject(one) || !isObject(one['source']) || one['source']['source'] !== 'directory') return undefined;
  const { installLocation: folder } = one;
  if (typeof folder !== 'string') return undefined;
  const { plugins } = record.parse(read(join(folder, '.claude-plugin', 'marketplace.json')));
  const offer = Array.isArray(plugins)
    ? plugins.find((item) => isObject(item) && item['name'] === name)
    : undefined;
  const written = isObject(offer) ? offer['source'] : undefined;
  const root = typeof written === 'string' ? pathInside(folder, written, host) : undefined;
  return root !== undefined && host.exists(root) ? root : undefined;
}

/** When two servers have one name, the later one counts: the manifest comes after the file beside it. */
function serversOf(plugin: Plugin, context: PluginContext): WrittenPlugin[] {
  const { host } = context;
  const { manifest, manifestFile, root } = plugin;
  const found = [...fromFile(pathRules(host).join(root, '.mcp.json'), context)];
  const said = manifest['mcpServers'];
  for (const [index, part] of (Array.isArray(said) ? said : [said]).entries()) {
    const pointer = Array.isArray(said) ? `/mcpServers/${index}` : '/mcpServers';
    if (isObject(part)) found.push(...members(part, manifestFile, pointer));
    if (typeof part !== 'string') continue;
    const file = pathInside(root, part, host);
    // A bundle is shown, and cannot be used.
    if (BUNDLE.test(part))
      found.push({ name: part, value: {}, file: manifestFile, pointer, refusal: BUNDLED });
    else if (file !== undefined) found.push(...fromFile(file, context));
  }
  return [...new Map(found.map((one) => [one.name, one])).values()];
}

const BUNDLED: ServerSkipReason = { kind: 'plugin-bundle', host: HOST };

/** The plugin's servers in `file`, with the key `mcpServers` or without it. */
function fromFile(file: string, { read }: PluginContext): WrittenPlugin[] {
  const value = read(file);
  if (!isObject(value)) return [];
  const { mcpServers } = value;
  return isObject(mcpServers) ? members(mcpServers, file, '/mcpServers') : members(value, file, '');
}

const members = (map: Readonly<Record<string, unknown>>, file: string, pointer: string): WrittenPlugin[] =>
  Object.entries(map).map(([name, value]) => ({
    name,
    value,
    file,
    pointer: `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    refusal: undefined,
  }));

/** `written` below `folder`; undefined when it leads out of it. */
function pathInside(folder: string, written: string, host: HostFacts): string | undefined {
  const { join, relative, isAbsolute } = pathRules(host);
  const file = join(folder, written);
  const way = relative(folder, file);
  return way === '..' || /^\.\.[/\\]/.test(way) || isAbsolute(way) || isAbsolute(written) ? undefined : file;
}

/** No field of an entry is nested deeper than `env` and `headers`; JSON can be until the stack ends. */
const MAX_DEPTH = 16;

/** Replaces the variables of one plugin in one entry, and gathers the options that have no value. */
class PluginVariables {
  readonly #fixed: Readonly<Record<string, string>>;
  readonly #options: Readonly<Record<string, unknown>>;
  readonly #declared: Readonly<Record<string, unknown>>;
  readonly #missing = new Map<string, PluginOption>();

  constructor(
    { id, root, manifest }: Pick<Plugin, 'id' | 'root' | 'manifest'>,
    options: Readonly<Record<string, unknown>>,
    context: { readonly env: Environment; readonly host: HostFacts },
  ) {
    const { env, host } = context;
    const [data = ''] = locate(`${CLAUDE_FOLDER}/plugins/data/${id.replace(/[^\w-]/g, '-')}`, env, host);
    this.#fixed = { CLAUDE_PLUGIN_ROOT: root, CLAUDE_PLUGIN_DATA: data, CLAUDE_PROJECT_DIR: host.cwd };
    this.#options = options;
    this.#declared = record.parse(manifest['userConfig']);
  }

  /** Why the entry may not start: options without a value; undefined when all of them have one. */
  get trouble(): ServerSkipReason | undefined {
    const options = [...this.#missing.values()];
    return options.length === 0 ? undefined : { kind: 'needs-plugin-options', options };
  }

  /** A program also gets the plugin's places as variables, as Claude Code gives them. */
  entry(value: unknown): unknown {
    const filled = this.#fill(value);
    if (!isObject(filled) || filled['command'] === undefined) return filled;
    const { env } = filled;
    return env === undefined || env === null || isObject(env)
      ? { ...filled, env: { ...this.#fixed, ...env } }
      : filled;
  }

  #fill(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (depth === MAX_DEPTH) return value;
    if (Array.isArray(value)) return value.map((item) => this.#fill(item, depth + 1));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#fill(item, depth + 1)]));
  }

  #text(text: string): string {
    return text
      .replace(/\$\{(CLAUDE_PLUGIN_ROOT|CLAUDE_PLUGIN_DATA|CLAUDE_PROJECT_DIR)\}/g, (whole, name: string) => {
        return this.#fixed[name] ?? whole;
      })
      .replace(/\$\{user_config\.([^{}]+)\}/g, (whole, name: string) => this.#optionValue(name) ?? whole);
  }

  #optionValue(name: string): string | undefined {
    const said = Object.hasOwn(this.#options, name) ? this.#options[name] : undefined;
    const declared = option.safeParse(
      Object.hasOwn(this.#declared, name) ? this.#declared[name] : undefined,
    ).data;
    const value = said ?? declared?.default;
    if (['string', 'number', 'boolean'].includes(typeof value)) return String(value);
    this.#missing.set(name, { name, isSensitive: declared?.sensitive ?? false });
    return undefined;
  }
}
