// Cloudflare's codemode, whose executor needs a loader of Workers: in miniflare, with the two servers behind a binding of ours.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { javascriptPrograms } from './jobs.mjs';
import { HERE, listed } from './place.mjs';

const PACKAGES = { '@cloudflare/codemode': '0.5.6', miniflare: '4.20260426.0' };

/** @type {import('./place.mjs').Peer} */
export const cloudflare = {
  name: 'cloudflare',
  title: 'Cloudflare codemode',
  version: `${listed(PACKAGES)}; in miniflare, tools by a binding of ours`,
  walls: 'an isolate of V8 in workerd, without a network',
  lacks: 'run Python; reach MCP servers of this machine without a program of your own',
  install: async (place) => {
    await place.installFromNpm('cloudflare', PACKAGES);
    const folder = place.folder('cloudflare');
    const { rolldown } = await import('rolldown');
    const bundle = await rolldown({
      input: join(HERE, 'cloudflare-worker.mjs'),
      external: ['cloudflare:workers'],
      resolve: { modules: [join(folder, 'node_modules')] },
    });
    const { output } = await bundle.generate({ format: 'esm' });
    writeFileSync(join(folder, 'worker.js'), output[0].code);
  },
  open: async (place) => {
    const { ask, definitionChars, close } = await place.openLines(process.execPath, [
      join(HERE, 'cloudflare-lines.mjs'),
      place.folder('cloudflare'),
      JSON.stringify(place.servers),
    ]);
    const programs = javascriptPrograms(
      (server, tool, name, value) => `codemode.${server}_${tool}({ ${name}: ${value} })`,
      place.logFile,
    );
    /** @param {string} body */
    const run = (body) => ask(`async () => {\n${body}\n}`);
    return {
      jobs: {
        hello: () => run(programs.hello),
        sequence: () => run(programs.sequence),
        gathered: () => run(programs.gathered),
        filtered: () => run(programs.filtered),
      },
      definitionChars,
      close,
    };
  },
};
