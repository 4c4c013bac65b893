// The page of `ui` for the browser: one script with the library that it stands on, and its style, as small as both can be made.

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const STYLE = 'page.css';
/** Of the script, compressed: a first look at the page is not to wait for it. */
const MAX_COMPRESSED_BYTES = 250 * 1024;

/**
 * Writes both into `folder`; gives what the bundler says of the script, and the name of the style.
 * @param {string} root
 * @param {string} folder
 * @param {import('rolldown').InputOptions} options
 */
export async function bundlePage(root, folder, options) {
  const source = join(root, 'src/watch/page');
  const bundle = await rolldown({
    ...options,
    platform: 'browser',
    input: { page: join(source, 'main.tsx') },
    transform: {
      ...options.transform,
      target: 'es2022',
      jsx: { runtime: 'automatic', importSource: 'preact' },
    },
    resolve: { extensionAlias: { '.js': ['.tsx', '.ts', '.js'] } },
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'iife',
    entryFileNames: '[name].js',
    minify: true,
    // For whoever asks which packages are in it; the script itself names no map.
    sourcemap: 'hidden',
  });
  await bundle.close();
  copyFileSync(join(source, STYLE), join(folder, STYLE));
  const [{ code }] = output;
  const bytes = gzipSync(code).length;
  if (bytes > MAX_COMPRESSED_BYTES)
    throw new Error(`page.js has ${bytes} bytes compressed; at most ${MAX_COMPRESSED_BYTES} are allowed`);
  return { output, style: STYLE };
}
