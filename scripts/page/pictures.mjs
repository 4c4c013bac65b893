// Pictures of each view of the page of `ui` for docs/watch.md, light and dark: `npm run picture:ui`. Needs a Chromium, and no engine.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../bench/stage.mjs';
import { takeOptions } from '../options.mjs';
import { browserHere, startBrowser } from './browser.mjs';

const FOLDER = 'docs/watch';
const SIZE = { width: 900, height: 520 };

takeOptions({
  command: 'npm run picture:ui',
  about: `Writes ${FOLDER}/*.png, the views of the page of \`ui\` as the built bridge serves it. Needs a Chromium on PATH.`,
  options: {},
});
const executable = browserHere();
if (executable === undefined) {
  console.error('There is no Chromium on PATH. `npm run test:page -- --install` installs one.');
  process.exit(3);
}
const { furnish, watchStage } = await import('./watch-stage.mjs');
const { VIEWS, shows } = await import('./watch-checks.mjs');
mkdirSync(join(ROOT, FOLDER), { recursive: true });
const browser = await startBrowser(executable, []);
try {
  const stage = await watchStage(browser);
  await furnish(stage);
  for (const colorScheme of /** @type {const} */ (['light', 'dark']))
    for (const [view, words] of Object.entries(VIEWS)) {
      const page = await stage.open(view, { viewport: SIZE, colorScheme });
      await shows(page, words);
      if (view === 'bridges') await page.click('summary');
      // A run is shown whole, with its files at the end.
      const isOne = view.includes('/');
      if (isOne) await shows(page, 'issues.csv');
      const name = `${view.replace(/\/.*/, '-one')}-${colorScheme}.png`;
      await page.screenshot({ path: join(ROOT, FOLDER, name), fullPage: isOne });
      await page.close();
    }
  await stage.close();
  console.log(`written: ${FOLDER}`);
} finally {
  await browser.close();
}
