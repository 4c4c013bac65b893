// For Node's own thread of module hooks: tells it which of the program's `.js` files are CommonJS. See mixed.cjs.

import { fileURLToPath } from 'node:url';
import mixed from './mixed.cjs';

export async function load(url, context, nextLoad) {
  const isScript = url.startsWith('file:') && url.endsWith('.js') && !url.includes('/node_modules/');
  if (isScript && mixed.isCommonJs(fileURLToPath(url))) return { format: 'commonjs', shortCircuit: true };
  return nextLoad(url, context);
}
