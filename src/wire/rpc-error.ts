// An error of JSON-RPC 2.0 (section 5.1), as a peer sends it or gets it.

export type RpcError = { readonly code: number; readonly message: string; readonly data?: unknown };
