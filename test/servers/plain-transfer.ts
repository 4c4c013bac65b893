// What a large answer costs on this machine, without anything of ours: the measure for tests that a time grows with the
// size of an answer and not with its square. Of a processor, and of this process: what else runs makes no difference.

import { spawn } from 'node:child_process';

/**
 * How many times the plain transfer a linear one may take. Ours takes about as long; reading 40 MB by adding each piece
 * to all before it took 25 times that.
 */
export const LINEAR = 8;

/** Milliseconds of a processor that this process needs while `work` is done. */
export async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** For a JSON text of so many bytes to come out of another process, be put together and parsed. */
export const plainTransferMs = (bytes: number): Promise<number> =>
  cpuMsOf(async () => {
    const script = `process.stdout.write(JSON.stringify({ text: 'x'.repeat(${bytes}) }))`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    const chunks: Buffer[] = [];
    for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
    JSON.parse(Buffer.concat(chunks).toString());
  });
