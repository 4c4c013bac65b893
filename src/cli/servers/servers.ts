// `servers`: what was discovered, from which file, and what was passed over with the reason. Starts nothing.

import { discover } from '../../hosts/discovery/discover.js';
import { withoutDenied } from '../../policy/rules/policy-book.js';
import { prepare } from '../serving/prepare.js';
import { coloursFor, printJson } from '../terminal/output.js';
import { widthOf } from '../terminal/wrap.js';
import { serverChanges } from './server-changes.js';
import { serverLines, serversText } from './server-list.js';

export function servers({ json }: { readonly json?: true }): void {
  // A problem is printed below; the log need not say it as well.
  const { discovery: context, settings, policyBook } = prepare('error', 'ends');
  const found = discover(context, () => {});
  const discovery = withoutDenied(found, policyBook.policy(found.ready));
  const { problems, files } = discovery;
  const changes = serverChanges(discovery.ready, settings);
  if (json) {
    printJson({ servers: serverLines(discovery, changes), problems, files });
    return;
  }
  const { stdout } = process;
  const style = { paint: coloursFor(stdout), width: widthOf(stdout), home: context.host.home };
  process.stdout.write(serversText(discovery, style, changes));
}
