// An exec in a pod as three streams. Each message of the connection begins with the number of its channel. Input is sent as fast as
// the connection takes it, and output is read as fast as its reader does; the protocol's fifth version can say that input has ended.

import type { PassThrough } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ContainerExit } from '../engine.js';
import { type Api, type ApiObject, HALF_CLOSES } from './api.js';

const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const;

export type ExecStreams = {
  /** Resolves when the connection has taken it. */
  write(chunk: Buffer): Promise<void>;
  /** Ends the input. */
  closeInput(): Promise<void>;
  /** Ends the connection, which ends no process. */
  close(): void;
  /** How the program has ended, or that the connection has; never rejects. */
  readonly exited: Promise<ContainerExit>;
};

/** Runs `command` in the pod's one container. Throws where the exec is refused. */
export async function execIn(
  api: Api,
  pod: string,
  command: readonly string[],
  output: { readonly stdout: PassThrough; readonly stderr: PassThrough },
): Promise<ExecStreams> {
  const query = new URLSearchParams({ stdin: 'true', stdout: 'true', stderr: 'true' });
  for (const word of command) query.append('command', word);
  const socket = await api.connect(`${api.path('pods', pod)}/exec?${query}`);
  const exited = new Promise<ContainerExit>((resolve) => {
    socket.on('message', (message: Buffer) => {
      const [channel] = message;
      const bytes = message.subarray(1);
      if (channel === CHANNEL.status) resolve(exitIn(JSON.parse(bytes.toString('utf8'))));
      else if (channel === CHANNEL.stdout) pass(socket, bytes, output.stdout);
      else if (channel === CHANNEL.stderr) pass(socket, bytes, output.stderr);
    });
    socket.once('close', () => resolve({ code: undefined, signal: undefined }));
    socket.on('error', () => resolve({ code: undefined, signal: undefined }));
  });
  const send = (bytes: Buffer): Promise<void> =>
    new Promise((resolve, reject) => {
      socket.send(bytes, (error) => (error == null ? resolve() : reject(error)));
    });
  return {
    exited,
    write: (chunk) => send(Buffer.concat([Buffer.of(CHANNEL.stdin), chunk])),
    closeInput: async () => {
      if (socket.protocol === HALF_CLOSES) await send(Buffer.of(CHANNEL.close, CHANNEL.stdin));
      else socket.close();
    },
    close: () => socket.terminate(),
  };
}

/** Both streams of a sandbox are read all the time, so that one never waits for the other. */
function pass(socket: WebSocket, bytes: Buffer, stream: PassThrough): void {
  if (bytes.length === 0 || !stream.writable || stream.write(bytes)) return;
  socket.pause();
  stream.once('drain', () => socket.resume());
  stream.once('close', () => socket.resume());
}

/** How the program has ended, by the status that the API gives as the exec's last message; nothing where it has not run. */
export function exitIn(status: ApiObject): ContainerExit {
  if (status.status === 'Success') return { code: 0, signal: undefined };
  const causes: ReadonlyArray<{ reason?: string; message?: string }> = status.details?.causes ?? [];
  const code = Number(causes.find(({ reason: kind }) => kind === 'ExitCode')?.message);
  return { code: Number.isInteger(code) ? code : undefined, signal: undefined };
}
