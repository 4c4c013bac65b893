// Settings of hosts as their users have written them, with comments, tabs, unusual order and a link to another folder: what
// is in a home before the bridge is registered there, and must be there again, byte for byte, after it was taken out.

import {
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';

const FILES = {
  '.claude.json':
    '{\n  "numStartups": 7,\n  "projects": {},\n  "mcpServers": {},\n  "tipsHistory": { "theme": 1 }\n}\n',
  '.claude/settings.json': '{"model":"sonnet"}',
  '.codex/config.toml':
    '# what I use most\nmodel = "gpt-5"   # the usual one\n\n[mcp_servers.notes]\ncommand = "notes-mcp" # not installed here\nargs = [\n  "--folder", "/srv/notes",\n]\nenabled = false\n\n[tui]\nnotifications = true\n',
  '.gemini/settings.json': '{\n\t"theme": "GitHub",\n\t"mcpServers": {}\n}',
  '.config/Code/User/mcp.json':
    '{\n    // servers of my own\n    "servers": {\n        "notes": { "type": "stdio", "command": "notes-mcp", "args": [], }, // not installed here\n    },\n    "inputs": [],\n}\n',
  '.config/zed/settings.json':
    '// Zed settings\n{\n  "theme": "One Dark", /* for now */\n  "context_servers": {\n  }\n}\n',
  '.config/opencode/opencode.jsonc':
    '{\r\n  // line breaks of Windows\r\n  "$schema": "https://opencode.ai/config.json"\r\n}\r\n',
  '.codeium/windsurf/mcp_config.json': '{"mcpServers": {}}\n',
  'dotfiles/cursor.json': '{ "mcpServers": { "notes": {"command": "notes-mcp"} } }\n',
};
/** How many hosts these files are of. */
export const HOSTS = 8;
/** The link, and where it leads. */
const LINK = ['.cursor/mcp.json', 'dotfiles/cursor.json'];

/** Writes the files into the folder `home`, as the user `id`. */
export function writeHostFiles(home, id) {
  const own = (path) => chownSync(path, id, id);
  const folderOf = (path) => {
    const folder = dirname(join(home, path));
    const first = mkdirSync(folder, { recursive: true });
    for (let made = folder; first !== undefined && made.length >= first.length; made = dirname(made))
      own(made);
  };
  for (const [path, text] of Object.entries(FILES)) {
    folderOf(path);
    writeFileSync(join(home, path), text, { mode: 0o600 });
    own(join(home, path));
  }
  const [link, target] = LINK;
  folderOf(link);
  symlinkSync(relative(dirname(join(home, link)), join(home, target)), join(home, link));
}

/** Of each of the files and of the link what it is now, as text that is equal where nothing has changed. */
export function hostFiles(home) {
  return Object.fromEntries(
    [...Object.keys(FILES), LINK[0]].map((path) => [path, stateOf(join(home, path))]),
  );
}

function stateOf(file) {
  try {
    const { mode } = lstatSync(file);
    const link = lstatSync(file).isSymbolicLink() ? readlinkSync(file) : '';
    return `${mode.toString(8)} ${link} ${readFileSync(file).toString('base64')}`;
  } catch (thrown) {
    return thrown.code;
  }
}
