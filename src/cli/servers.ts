// `servers`: what was discovered, from which file, and what was passed over with the reason. Starts nothing.

import { discover } from '../config/discover.js';
import { coloursFor, printJson } from './output.js';
import { prepare } from './prepare.js';
import { serverLines, serversText } from './server-list.js';

export function servers({ json }: { readonly json?: true }): void {
  // A problem is printed below; the log need not say it as well.
  const { discovery: context } = prepare('error', 'ends');
  const discovery = discover(context, () => {});
  const { problems, files } = discovery;
  if (json) {
    printJson({ servers: serverLines(discovery), problems, files });
    return;
  }
  const { stdout } = process;
  const width = stdout.isTTY ? stdout.columns : undefined;
  process.stdout.write(serversText(discovery, { paint: coloursFor(stdout), width, home: context.host.home }));
}
