// Every peer, in the order in which they take turns. docs/compared-with.md says which others were tried and could not be measured.

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
