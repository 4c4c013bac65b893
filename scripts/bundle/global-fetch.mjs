// Node's own fetch in the place of the package node-fetch, for a client package that names it: what that package brings along asks Node
// for a module which Node warns of, and one of its parts has no terms of its licence.

// biome-ignore lint/style/noDefaultExport: the package has one
export default globalThis.fetch;
export const { Headers, Request, Response } = globalThis;
export class FetchError extends Error {}
export class AbortError extends Error {}
