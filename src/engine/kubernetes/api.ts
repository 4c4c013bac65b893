// The API of a cluster: JSON over HTTPS, and exec over a WebSocket. Which cluster, and how one logs in there, is read from where
// kubectl reads it, by the cluster's own client package; its generated classes are not needed.

import type { ClientRequest } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { WebSocket } from 'ws';
import { BridgeError, messageOf } from '../../base/errors.js';
import { clip } from '../../base/text/text.js';
import { type NodeWalls, nodeWallsIn } from './node-walls.js';

const ANSWERS_WITHIN_MS = 30_000;
/** A connection that nobody uses is closed before the server does so, which Kubernetes does after 90 s and proxies after less. */
const KEPT_MS = 20_000;
/** The one version of the exec protocol in which one side can end its input and go on reading, and the one that all have. */
export const HALF_CLOSES = 'v5.channel.k8s.io';
const PROTOCOLS = [HALF_CLOSES, 'v4.channel.k8s.io'];

/** The kinds of resources of agent-sandbox. */
export const CLAIMS_GROUP = 'extensions.agents.x-k8s.io/v1beta1';

/** A refusal of the API server, in its words. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The JSON objects of the API; what is read of one is looked at where it is read. */
// biome-ignore lint/suspicious/noExplicitAny: the shapes are the cluster's, and some thousand lines of types for them are not ours
export type ApiObject = any;

export class Api {
  /** Namespace of the sandboxes. */
  readonly namespace: string;
  readonly walls: NodeWalls;
  readonly #config: KubeConfig;
  readonly #server: string;
  /** The holder of the connections that are kept, and the credentials that they were made with. */
  #kept: { readonly agent: Agent; readonly credentials: Agent['options'] } | undefined;

  /**
   * `url` is `kubernetes://CONTEXT/NAMESPACE`, in which either may be empty, with walls of the nodes behind it; without it, the context and the namespace that kubectl
   * would use, or those of the pod in which the bridge runs. Throws E_ENGINE_BROKEN.
   */
  constructor(url: string | undefined) {
    this.walls = nodeWallsIn(url);
    const [place = ''] = (url ?? '').replace(/^kubernetes:\/\//, '').split('?');
    const [context = '', namespace = ''] = place.split('/').map(decodeURIComponent);
    this.#config = new KubeConfig();
    try {
      this.#config.loadFromDefault();
      if (context !== '') this.#config.setCurrentContext(context);
    } catch (thrown) {
      throw noCluster(messageOf(thrown));
    }
    const server = this.#config.getCurrentCluster()?.server;
    // The client package's own answer where there is nothing to read.
    if (server === undefined || server === 'http://localhost:8080')
      throw noCluster(context === '' ? 'no kubeconfig was found' : `there is no context ${context}`);
    this.#server = server.replace(/\/$/, '');
    const current = this.#config.getContextObject(this.#config.getCurrentContext());
    this.namespace = namespace || current?.namespace || 'default';
  }

  /** The address of the API server. */
  get server(): string {
    return this.#server;
  }

  /** Path of a resource in the namespace of the sandboxes. */
  path(
    kind: 'pods' | 'configmaps' | 'sandboxtemplates' | 'sandboxwarmpools' | 'sandboxclaims',
    name = '',
  ): string {
    const group = kind.startsWith('sandbox') ? `/apis/${CLAIMS_GROUP}` : '/api/v1';
    return `${group}/namespaces/${this.namespace}/${kind}${name === '' ? '' : `/${name}`}`;
  }

  /** Sends one request and returns what came; throws ApiError where it was refused, and E_ENGINE_BROKEN where nobody answers. */
  async ask(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    signal: AbortSignal,
    body?: unknown,
  ): Promise<ApiObject> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      Accept: 'application/json',
      ...(text === undefined ? {} : { 'Content-Type': 'application/json' }),
    };
    const { status, answer } = await this.#send(method, path, headers, text, signal).catch(
      (thrown: unknown) => {
        if (signal.aborted) throw thrown;
        throw new BridgeError(
          'E_ENGINE_BROKEN',
          `the cluster does not answer at ${this.#server}: ${messageOf(thrown)}`,
          {
            fault: 'engine',
            cause: thrown,
          },
        );
      },
    );
    const said = answer.startsWith('{') ? JSON.parse(answer) : { message: answer };
    if (status >= 200 && status < 300) return said;
    throw new ApiError(status, clip(String(said.message ?? `status ${status}`), 500));
  }

  /** As ask(), but for an object that is not there: then undefined. */
  async find(path: string, signal: AbortSignal): Promise<ApiObject | undefined> {
    try {
      return await this.ask('GET', path, signal);
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.status === 404) return undefined;
      throw thrown;
    }
  }

  /**
   * Sends it again where a connection was kept that the server has closed meanwhile. An object that was made all the same shows as a
   * conflict.
   */
  async #send(
    method: string,
    path: string,
    headers: Record<string, string>,
    text: string | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly answer: string }> {
    const options = await this.#logIn({ method, headers });
    let asked: ClientRequest | undefined;
    try {
      return await new Promise((resolve, reject) => {
        asked = request(`${this.#server}${path}`, { ...options, signal }, (response) => {
          let answer = '';
          response.setEncoding('utf8').on('data', (piece: string) => {
            answer += piece;
          });
          response.once('error', reject);
          response.once('end', () => resolve({ status: response.statusCode ?? 0, answer }));
        });
        // A signal that joins two others is lost with them at times in Node 20, and then throws.
        asked.setTimeout(ANSWERS_WITHIN_MS, () =>
          asked?.destroy(new Error(`no answer within ${ANSWERS_WITHIN_MS / 1000} s`)),
        );
        asked.once('error', reject);
        asked.end(text);
      });
    } catch (thrown) {
      const isClosed = /^(?:ECONNRESET|EPIPE)$/.test(String((thrown as NodeJS.ErrnoException).code));
      if (asked?.reusedSocket !== true || !isClosed || signal.aborted) throw thrown;
      return this.#send(method, path, headers, text, signal);
    }
  }

  /**
   * `options` with what one logs in with, which may be other credentials each time, and with connections that are kept: to make one costs
   * both sides more than most requests do.
   */
  async #logIn(options: RequestOptions): Promise<RequestOptions> {
    await this.#config.applyToHTTPSOptions(options);
    // The client package makes one for each request. One that leads through a proxy is of another class, and is left as it is.
    const { agent } = options;
    if (!(agent instanceof Agent)) return options;
    const { options: credentials } = agent;
    if (!isDeepStrictEqual(this.#kept?.credentials, credentials))
      this.#kept = { agent: new Agent({ ...credentials, keepAlive: true, timeout: KEPT_MS }), credentials };
    return { ...options, agent: this.#kept?.agent };
  }

  /** Opens a connection for an exec, whose messages come as buffers; throws ApiError where it was refused. */
  async connect(path: string): Promise<WebSocket> {
    const options = await this.#logIn({});
    const socket = new WebSocket(`${this.#server.replace(/^http/, 'ws')}${path}`, PROTOCOLS, {
      ...options,
      handshakeTimeout: ANSWERS_WITHIN_MS,
      // Frames are short, and nobody waits for a packet to be filled.
      perMessageDeflate: false,
    });
    return new Promise((resolve, reject) => {
      socket.once('open', () => resolve(socket));
      socket.once('unexpected-response', (_request, response) => {
        let said = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          said += piece;
        });
        response.once('close', () => {
          const { statusCode: status = 0 } = response;
          const words = said.startsWith('{') ? JSON.parse(said).message : `status ${status}`;
          reject(new ApiError(status, `the exec was refused: ${clip(String(words), 500)}`));
        });
      });
      socket.once('error', (error) => reject(new ApiError(0, `the exec was refused: ${error.message}`)));
    });
  }
}

const noCluster = (why: string): BridgeError =>
  new BridgeError('E_ENGINE_BROKEN', `It is not known which cluster is meant: ${why}.`, {
    fault: 'operator',
    remedy:
      'Name a kubeconfig in KUBECONFIG whose current context is the cluster, and try `kubectl get pods`.',
  });
