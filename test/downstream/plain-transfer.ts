// What a large answer costs on this machine just now, without anything of ours: the measure for tests that a time grows
// with the size of an answer and not with its square. Wall-clock limits fail on a busy machine.

import { spawn } from 'node:child_process';

/**
 * How many times the plain transfer a linear one may take. Ours takes about as long; reading 40 MB by adding each piece
 * to all before it took 25 times that.
 */
export const LINEAR = 8;

/** For a JSON text of so many bytes to come out of another process, be put together and parsed, in ms. */
export async function plainTransferMs(bytes: number): Promise<number> {
  const script = `process.stdout.write(JSON.stringify({ text: 'x'.repeat(${bytes}) }))`;
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
  JSON.parse(Buffer.concat(chunks).toString());
  return performance.now() - startedAt;
}
