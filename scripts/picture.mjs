// The README's picture, `npm run picture`: a terminal in which a host's servers move behind the bridge, and an agent's call that
// uses them. All of its text is what the built bridge has printed just now, in a home folder of its own, with three servers from
// npm. Needs an engine with the default image.

import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { escapeText } from './bench/plot.mjs';
import { environmentIn, furnish } from './main-job.mjs';
import { takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const PROGRAM = join(ROOT, 'dist/cli/main.js');
const NAME = 'mcp-sandbox-bridge';
const PICTURE = 'docs/demo.svg';

const CODE = `import asyncio
names = ("north", "south", "west")
texts = await asyncio.gather(*[mcp_filesystem.read_text_file(path=f"{n}.csv") for n in names])
rows = [line.split(",") for text in texts for line in text["content"].splitlines()[1:]]
best = max(rows, key=lambda row: float(row[1]))
await mcp_memory.create_entities(entities=[
    {"name": best[0], "entityType": "field", "observations": [f"{best[1]} t, the most"]}])
{"fields": len(rows), "tonnes": sum(float(row[1]) for row in rows), "best": best[0]}
`;

// The shape of the picture, in pixels, and its times, in seconds.
const LINE = 19;
const MARGIN = 20;
const BAR = 34;
const COLUMNS = 104;
const CHARACTER = 7.83;
const PAUSE_S = 0.9;
const LINE_S = 0.12;

/** @typedef {{ readonly text: string, readonly kind: 'typed' | 'said' | 'code' | 'answer', readonly waits?: boolean }} Line */

takeOptions({
  command: 'npm run picture',
  about: `Writes ${PICTURE}, out of what the built bridge prints here.`,
  options: {},
});
const home = mkdtempSync(join(tmpdir(), 'picture-'));
try {
  writeFileSync(join(ROOT, PICTURE), svgOf(await record(home)));
  console.log(`written: ${PICTURE}`);
} finally {
  rmSync(home, { recursive: true, force: true });
}

/**
 * What a person types and reads, line by line.
 * @param {string} home
 * @returns {Promise<readonly Line[]>}
 */
async function record(home) {
  furnish(home, join(ROOT, 'node_modules'));
  renameSync(join(home, '.config/mcp/servers/demo.json'), join(home, '.claude.json'));
  const env = { ...environmentIn(home), MCP_BRIDGE_LOG_LEVEL: 'error' };
  /** @param {readonly string[]} args @param {string} input */
  const print = async (args, input = '') => {
    const { stdout } = await execa(process.execPath, [PROGRAM, ...args], {
      env,
      extendEnv: false,
      cwd: home,
      input,
    });
    return stdout.replaceAll(home, '~').replaceAll(`node ${PROGRAM}`, NAME).replace(/\s+$/, '').split('\n');
  };
  await print(['servers', 'refresh']);
  const moved = await print(['adopt', 'claude-code']);
  const asked = ['run', '-', '--servers', 'filesystem,memory'];
  // The first run of a process starts the servers; the picture shows no time.
  const answer = await print(asked, CODE);
  return [
    { text: `${NAME} adopt claude-code`, kind: 'typed', waits: true },
    ...moved.map((text) => ({ text, kind: /** @type {const} */ ('said') })),
    { text: '', kind: 'said' },
    { text: 'Claude Code: run_python(servers=["filesystem", "memory"], code=…)', kind: 'typed', waits: true },
    ...CODE.trimEnd()
      .split('\n')
      .map((text) => ({ text, kind: /** @type {const} */ ('code') })),
    { text: '', kind: 'said' },
    ...answer.map((text, index) => ({ text, kind: /** @type {const} */ ('answer'), waits: index === 0 })),
  ];
}

/**
 * An SVG whose lines appear one after the other, and stay; all at once for who wants no motion.
 * @param {readonly Line[]} lines
 */
function svgOf(lines) {
  const width = Math.round(COLUMNS * CHARACTER) + 2 * MARGIN;
  const height = BAR + lines.length * LINE + MARGIN;
  let at = 0.3;
  const drawn = lines.map(({ text, kind, waits = false }, index) => {
    at += waits ? PAUSE_S : LINE_S;
    const y = BAR + (index + 1) * LINE;
    const shown = text.length > COLUMNS ? `${text.slice(0, COLUMNS - 1)}…` : text;
    const prompt = kind === 'typed' ? '<tspan class="prompt">❯ </tspan>' : '';
    return `<text x="${MARGIN}" y="${y}" class="${kind}" style="animation-delay:${at.toFixed(2)}s">${prompt}${escapeText(shown)}</text>`;
  });
  const title = 'Three servers move behind the bridge, and one program of an agent uses two of them';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
  <title>${title}</title>
  <style>
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; opacity: 0; animation: show 0.2s forwards; }
    @keyframes show { to { opacity: 1; } }
    @media (prefers-reduced-motion: reduce) { text { opacity: 1; animation: none; } }
    .typed { fill: #f0f6fc; font-weight: 600; } .prompt { fill: #3fb950; } .said { fill: #b1bac4; }
    .code { fill: #79c0ff; } .answer { fill: #7ee787; font-weight: 600; }
  </style>
  <rect width="${width}" height="${height}" rx="10" fill="#0d1117"/>
  <circle cx="20" cy="17" r="5" fill="#ff5f57"/><circle cx="38" cy="17" r="5" fill="#febc2e"/><circle cx="56" cy="17" r="5" fill="#28c840"/>
  ${drawn.join('\n  ')}
</svg>
`;
}
