// All hosts, in order of precedence: the first entry of a name wins. A new host is a file in records/ and a line here.

import { antigravity } from '../records/antigravity.js';
import { claudeCode } from '../records/claude-code.js';
import { claudeDesktop } from '../records/claude-desktop.js';
import { cline } from '../records/cline.js';
import { codex } from '../records/codex.js';
import { continued } from '../records/continue.js';
import { copilotCli } from '../records/copilot-cli.js';
import { cursor } from '../records/cursor.js';
import { geminiCli } from '../records/gemini-cli.js';
import { kiloCode } from '../records/kilo-code.js';
import { kiro } from '../records/kiro.js';
import { lmStudio } from '../records/lm-studio.js';
import { mcpInspector } from '../records/mcp-inspector.js';
import { explicit, generic, homeManager } from '../records/no-host.js';
import { opencode } from '../records/opencode.js';
import { rooCode } from '../records/roo-code.js';
import { vscode } from '../records/vscode.js';
import { windsurf } from '../records/windsurf.js';
import { zed } from '../records/zed.js';
import type { Host } from '../terms/host.js';

export const ALL_HOSTS: readonly Host[] = [
  explicit,
  claudeCode,
  cursor,
  vscode,
  windsurf,
  zed,
  cline,
  rooCode,
  kiloCode,
  continued,
  kiro,
  lmStudio,
  mcpInspector,
  codex,
  geminiCli,
  copilotCli,
  opencode,
  antigravity,
  homeManager,
  generic,
  claudeDesktop,
];
