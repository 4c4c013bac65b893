// One configured MCP server in normal form, remembering the file that it came from. Read by discover and the
// downstream floor; knows nothing of how a host spells it.

import { createHash } from '../base/crypto.js';
import type { ServerSkipReason } from './skip-reason.js';

/** Where an entry was found: the host's name, its scope, the file, and the JSON pointer within it. */
export type SpecSource = {
  readonly host: string;
  /**
   * Author of an entry: the user for everything or for one project (`local`), the project's own files, an administrator, a
   * plugin of the host, or the operator of this bridge.
   */
  readonly scope: 'user' | 'local' | 'project' | 'managed' | 'plugin' | 'explicit';
  readonly file: string;
  readonly pointer: string;
};

export const VERSION_NEGOTIATIONS = ['auto', 'legacy', '2026-07-28'] as const;

type SpecBase = {
  readonly name: string;
  readonly description: string;
  /** Hard limit of one call in ms, from the host's own field; undefined means the bridge's default. */
  readonly callTimeoutMs: number | undefined;
  /** Limit for start, greeting and list of tools, in ms, from the host's own field; undefined means the bridge's default. */
  readonly startTimeoutMs: number | undefined;
  /** The host's own choice among a server's tools, by their real names. */
  readonly toolFilter: {
    /** Undefined means all of them. */
    readonly only: readonly string[] | undefined;
    readonly except: readonly string[];
  };
  /**
   * Which era of MCP the server is greeted in: found out (`auto`, and where nothing is said), `initialize` alone
   * (`legacy`), or none but the version that is named.
   */
  readonly versionNegotiation?: (typeof VERSION_NEGOTIATIONS)[number] | undefined;
  readonly source: SpecSource;
  /** The entry is a project's, and its name was another's (name-owners.ts): no decision about that name holds for it. */
  readonly takesName?: true;
  /** Whether the operator has named it as one of which one process or session serves all principals. */
  readonly isShared?: true;
};

/** A program of this machine. `command` and `args` are an argv; nothing is ever parsed by a shell. */
export type StdioSpec = SpecBase & {
  readonly transport: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
};

/** Where a secret stands: it is known, or it is in a file that may be exchanged. */
export type SecretSource = { readonly value: string } | { readonly file: string };

/** A login that needs no person. */
export type MachineLogin = {
  readonly grant: 'client_credentials' | 'cross_app_access';
  /** The one authorization server that the secrets may go to. */
  readonly issuer: string;
  readonly clientId: string;
  readonly secret: SecretSource | undefined;
  /** Key with which the client signs, instead of a secret (RFC 7523). `pem` is PKCS #8. */
  readonly privateKey: { readonly pem: SecretSource; readonly algorithm: string } | undefined;
  /** The user's identity provider, and the ID token that it gave, for `cross_app_access`. */
  readonly identity:
    | {
        readonly issuer: string;
        readonly clientId: string;
        readonly secret: SecretSource | undefined;
        readonly token: SecretSource;
      }
    | undefined;
};

/** A server that is reached over HTTP. */
export type RemoteSpec = SpecBase & {
  /** `auto`: Streamable HTTP, and SSE where the server answers that with 400, 404 or 405. */
  readonly transport: 'http' | 'sse' | 'auto';
  readonly url: string;
  /** Sent with every request; bearer tokens of the environment are among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The user's own command line that prints a JSON object of further headers, as its host runs it. */
  readonly headersHelper: string | undefined;
  /** Settings that an entry has for its server, on top of what the server itself tells; `false`: it says that there is none. */
  readonly oauth:
    | false
    | {
        readonly clientId: string | undefined;
        readonly clientSecret: string | undefined;
        readonly scopes: readonly string[];
        /** Port of the loopback redirect, where the client was registered with a fixed one; undefined means any free port. */
        readonly callbackPort: number | undefined;
        readonly authServerMetadataUrl: string | undefined;
        /** Where nobody has to log in, since the entry itself names a client with its secrets. */
        readonly machine?: MachineLogin | undefined;
      };
};

/** A server that may be started or reached. */
export type DownstreamSpec = StdioSpec | RemoteSpec;

/** An entry that is not started, and why; explain-skip.ts has the words for it. */
export type SkippedSpec = {
  readonly name: string;
  readonly reason: ServerSkipReason;
  readonly source: SpecSource;
  /** The spec of what the entry would start or reach, where that could be read. Holds secrets, like every spec. */
  readonly spec?: DownstreamSpec;
};

/**
 * Every value of the entry that may be a secret, by the value's name: variables of a program; headers, the query of the address
 * and the client's secret of a remote server.
 */
export function secretsOf(spec: DownstreamSpec): Readonly<Record<string, string>> {
  if (spec.transport === 'stdio') return spec.env;
  const { clientSecret, machine } = spec.oauth || { clientSecret: undefined, machine: undefined };
  const query = URL.canParse(spec.url) ? Object.fromEntries(new URL(spec.url).searchParams) : {};
  const ofMachine = {
    'client secret': machine?.secret,
    'private key': machine?.privateKey?.pem,
    'secret at the identity provider': machine?.identity?.secret,
    'ID token': machine?.identity?.token,
  };
  const known = Object.entries(ofMachine).flatMap(([name, source]) =>
    source !== undefined && 'value' in source ? [[name, source.value]] : [],
  );
  return {
    ...query,
    ...spec.headers,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...Object.fromEntries(known),
  };
}

/**
 * 32 hex digits, equal for what starts or reaches the same server: what is learned of one is kept under it. A token in
 * its environment or headers makes no other server.
 */
export function definitionKey(spec: DownstreamSpec): string {
  const parts = spec.transport === 'stdio' ? ['stdio', spec.command, spec.args] : ['http', spec.url];
  return keyOf(parts);
}

/**
 * 32 hex digits, equal for what lists the same tools: what a server says of itself is kept under it. Besides what
 * starts the server these are the names of its variables or headers, since a server that was given a key or a switch
 * may have other tools; not their values, since with each new token all that was seen of it would be forgotten, and a
 * changed tool would count as new. And the folder, where a relative path is another program: a project's entry without
 * one runs in the project.
 */
export function catalogKey(spec: DownstreamSpec): string {
  const { scope, file, pointer } = spec.source;
  const project = scope === 'project' || scope === 'local' ? [file, pointer] : null;
  const given =
    spec.transport === 'stdio'
      ? [Object.keys(spec.env).sort(), spec.cwd ?? project]
      : [Object.keys(spec.headers).sort(), spec.headersHelper ?? null];
  return keyOf([definitionKey(spec), given]);
}

function keyOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

// How long a server may take for its start, greeting and list of tools: known to those who open servers, and to those who
// say how long a sandbox may have to wait for that.

/** Where the host's own field says nothing. What Claude Code grants a server. */
export const START_TIME_MS = 30_000;

/** As long as opening any of them, or all of them side by side, may take. */
export const longestStartSeconds = (specs: ReadonlyArray<Pick<DownstreamSpec, 'startTimeoutMs'>>): number =>
  specs.length === 0
    ? 0
    : Math.ceil(Math.max(START_TIME_MS, ...specs.map((spec) => spec.startTimeoutMs ?? 0)) / 1000);
