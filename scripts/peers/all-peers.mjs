// Every peer, in the order in which they take turns, and what was tried and could not be measured.

import { bubblewrap } from './bubblewrap.mjs';
import { cloudflare } from './cloudflare.mjs';
import { direct } from './direct.mjs';
import { fastmcp } from './fastmcp.mjs';
import { llmSandbox, llmSandboxBubblewrap } from './llm-sandbox.mjs';
import { ourSession, ours } from './ours.mjs';
import { podman } from './podman.mjs';
import { pyodide } from './pyodide.mjs';
import { pythonBridge } from './python-bridge.mjs';
import { utcp } from './utcp.mjs';

export const PEERS = [
  ours,
  ourSession,
  podman,
  pythonBridge,
  llmSandbox,
  llmSandboxBubblewrap,
  bubblewrap,
  fastmcp,
  utcp,
  cloudflare,
  pyodide,
  direct,
];

/** Programs that do a part of this and are in no table, with what stood in the way. */
export const NOT_MEASURED = [
  {
    title: 'mcp-run-python',
    why: 'loads parts of itself from the network when it starts; Pyodide in deno stands for it',
  },
  {
    title: 'microsandbox, BoxLite',
    why: 'need a virtual machine, which the machines of this table do not start',
  },
  { title: 'OpenSandbox, E2B on one’s own machines', why: 'come as images of a container registry' },
  { title: 'mcpproxy-go', why: 'the Go module proxy does not have it' },
];
