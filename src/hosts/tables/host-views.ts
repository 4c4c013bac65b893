// What each host program shows its model of an answer, by the name under which it greets (clientInfo.name). The only place
// that knows this. What it says of Claude Code, Codex, Gemini CLI and OpenCode was seen in the real programs
// (`npm run test:agents`; docs/hosts.md has the table).

export type HostView = {
  /** How much of an answer's text, as UTF-8, reaches the model; undefined where the host cuts nothing that we send. */
  readonly roomBytes?: number;
  /**
   * Whether the text has paths on this machine beside the addresses for `resources/read`: a model with tools for files
   * can search a long output there, and open what its host cannot read as a resource.
   */
  readonly paths: boolean;
  /** Whether `resource_link` blocks are sent. The text has every address, so known hosts would only show it twice. */
  readonly links: boolean;
  /** Whether it shows the model `structuredContent`, instead of the text or beside it. */
  readonly showsStructured: boolean;
};

const VIEWS: Readonly<Record<string, HostView>> = {
  // Has ReadMcpResourceTool.
  'claude-code': { paths: true, links: false, showsStructured: true },
  // Has read_mcp_resource. Keeps 12,000 bytes, head and tail, with 34 of its own ahead.
  'codex-mcp-client': { roomBytes: 11_500, paths: true, links: false, showsStructured: true },
  // Shows `structuredContent` beside the text when a call has failed. Of more than 40,000 characters, it keeps head and tail.
  // Its read_mcp_resource knows only what resources/list has named, which it asks for again when it is told of a change.
  'gemini-cli-mcp-client': { roomBytes: 39_500, paths: true, links: false, showsStructured: true },
  // Has read_mcp_resource. Of an answer it shows text and pictures only. Keeps the first 50 KiB, in whole lines.
  opencode: { roomBytes: 50_000, paths: true, links: false, showsStructured: false },
  'Visual Studio Code': { paths: true, links: true, showsStructured: true },
  // Claude Desktop, whose model has no tools for files; its user has the links.
  'claude-ai': { paths: false, links: true, showsStructured: false },
};

/** Safe wherever nobody has looked: both addresses in the text, and links for hosts that make buttons of them. */
const UNKNOWN: HostView = { paths: true, links: true, showsStructured: false };

/** `client` is a name, or a name and a version behind a space. */
export function hostView(client: string): HostView {
  const name = Object.keys(VIEWS).find((known) => isNamed(client, known));
  return (name === undefined ? undefined : VIEWS[name]) ?? UNKNOWN;
}

/** Whether a client, by its name or by its name and a version behind a space, is the host `known`. */
export const isNamed = (client: string, known: string): boolean =>
  client === known || client.startsWith(`${known} `);
