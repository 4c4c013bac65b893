// The parsers of src/settings/files/parsers.ts, each bundled into a file of its own that can be loaded at once (`require`).

import { rolldown } from 'rolldown';

const LOADER = /[\\/]src[\\/]settings[\\/]files[\\/]parsers\.ts$/;
const REQUIRE = /\brequire\('([^']+)'\)/g;

/** All files of the bundle lie in one folder, also that of a package with a scope. */
const fileOf = (name) => name.replace('@', '').replaceAll('/', '-');

/** Names of the packages that were asked for, and the plugin that has them loaded from beside the chunk that asks. */
export function separateParsers() {
  const packages = new Set();
  const plugin = {
    name: 'separate-parsers',
    transform(code, id) {
      if (!LOADER.test(id)) return undefined;
      const separate = code.replace(REQUIRE, (_, name) => {
        packages.add(name);
        return `require('./${fileOf(name)}.cjs')`;
      });
      return { code: separate, map: null };
    },
  };
  return { packages, plugin };
}

/** Writes each package as `written` says; gives what the bundler says of the files. */
export async function bundleParsers(packages, options, written) {
  const bundle = await rolldown({
    ...options,
    input: Object.fromEntries([...packages].map((name) => [fileOf(name), name])),
  });
  const { output } = await bundle.write(written);
  await bundle.close();
  return output;
}
