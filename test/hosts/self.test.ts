import { expect, it } from 'vitest';
import { isOurselves } from '../../src/hosts/self.js';
import { Home } from './home.js';

const argv = (line: string) => {
  const [command = '', ...args] = line.split(' ');
  return [command, args] as const;
};

it.each([
  'mcp-sandbox-bridge',
  '/usr/local/bin/mcp-sandbox-bridge serve',
  'C:\\npm\\mcp-sandbox-bridge.cmd',
  'npx mcp-sandbox-bridge',
  'npx -y mcp-sandbox-bridge@latest serve',
  'npx --package=mcp-sandbox-bridge@1 mcp-sandbox-bridge',
  'bunx mcp-sandbox-bridge',
  'pnpm dlx mcp-sandbox-bridge',
  'npm exec mcp-sandbox-bridge',
  'node /opt/mcp-sandbox-bridge/dist/cli/main.js',
  '/usr/bin/node --enable-source-maps /x/node_modules/mcp-sandbox-bridge/dist/cli/main.js serve',
  'cmd /c npx -y mcp-sandbox-bridge',
  'env FOO=1 npx mcp-sandbox-bridge',
  'docker run --rm -i mcp-sandbox-bridge:1.0',
  'podman run -i ghcr.example/team/mcp-sandbox-bridge',
  'docker exec -i box mcp-sandbox-bridge serve',
  'npx -y github:somebody/mcp-sandbox-bridge#main',
  'npx -y somebody/mcp-sandbox-bridge',
  'npx git+https://git.example/somebody/mcp-sandbox-bridge.git',
  'npx /tmp/mcp-sandbox-bridge-0.1.0.tgz',
  'npx /opt/mcp-sandbox-bridge',
  'npx -y mcp-proxy npx -y mcp-sandbox-bridge',
  'node --import tsx /src/mcp-sandbox-bridge/src/cli/main.ts',
  'wsl -d Ubuntu -e npx -y mcp-sandbox-bridge',
  'mise exec node@22 -- npx mcp-sandbox-bridge',
  'op run --env-file=.env -- mcp-sandbox-bridge',
  'cmd /d /s /c npx -y mcp-sandbox-bridge',
  'powershell -NoProfile -ExecutionPolicy Bypass -Command npx -y mcp-sandbox-bridge',
  'npx -y --registry https://registry.example mcp-sandbox-bridge',
  'npx -y @modelcontextprotocol/inspector@latest npx mcp-sandbox-bridge',
  'uvx mcp-proxy --port 9000 -- npx -y mcp-sandbox-bridge',
  'uvx mcp-sandbox-bridge',
  'sudo -u ann npx mcp-sandbox-bridge',
  'nice -n 10 npx mcp-sandbox-bridge',
  'nix run github:somebody/mcp-sandbox-bridge',
])('%s is this bridge', (line) => {
  expect(isOurselves(...argv(line))).toBe(true);
});

it('a command line in a shell is looked into', () => {
  expect(isOurselves('bash', ['-lc', 'exec npx -y mcp-sandbox-bridge serve'])).toBe(true);
  expect(isOurselves('bash', ['-c', 'source ~/.nvm/nvm.sh && exec npx -y mcp-sandbox-bridge'])).toBe(true);
  expect(isOurselves('bash', ['-c', 'export A=1; npx -y mcp-sandbox-bridge'])).toBe(true);
  expect(isOurselves('cmd', ['/c', 'cd /d C:\\x && npx -y mcp-sandbox-bridge'])).toBe(true);
  expect(isOurselves('sh', ['-c', 'cd /src/mcp-sandbox-bridge && node dist/cli/main.js'])).toBe(true);
  expect(isOurselves('sh', ['-c', 'cd /src/mcp-sandbox-bridge && npx server; echo mcp-sandbox-bridge'])).toBe(
    false,
  );
  expect(isOurselves('sh', ['-c', 'npx -y server-filesystem /src/mcp-sandbox-bridge'])).toBe(false);
});

it('a whole line as the command, or as one word for a proxy, is looked into', () => {
  expect(isOurselves('npx -y mcp-sandbox-bridge', [])).toBe(true);
  expect(isOurselves('npx', ['-y', 'supergateway', '--stdio', 'npx -y mcp-sandbox-bridge serve'])).toBe(true);
  expect(isOurselves('npx -y server-filesystem /src/mcp-sandbox-bridge', [])).toBe(false);
});

it('a relative script counts from the folder of the entry', () => {
  expect(isOurselves('node', ['dist/cli/main.js'], '/opt/mcp-sandbox-bridge')).toBe(true);
  expect(isOurselves('node', ['dist/cli/main.js'], '/opt/another')).toBe(false);
});

it.each([
  'npx -y @modelcontextprotocol/server-filesystem /home/ann/mcp-sandbox-bridge',
  'npx -y mcp-sandbox-bridge-extras',
  'npx -y @other/mcp-sandbox-bridge',
  'node /opt/server.js /opt/mcp-sandbox-bridge/dist/cli/main.js',
  'docker run -v /src/mcp-sandbox-bridge:/src other/image',
  'docker build mcp-sandbox-bridge',
  'wsl npx -y server-filesystem /src/mcp-sandbox-bridge',
  'docker exec -i box npx server mcp-sandbox-bridge',
  'npx -y mcp-sandbox-bridge-0.tgz',
  'python server.py',
  'env',
])('%s is another server', (line) => {
  expect(isOurselves(...argv(line))).toBe(false);
});

it("recognises npm's own script, as desktops start it, and another copy of us in a folder of any name", () => {
  const npx = '/usr/lib/node_modules/npm/bin/npx-cli.js';
  expect(isOurselves('/usr/bin/node', [npx, '-y', 'mcp-sandbox-bridge'])).toBe(true);
  expect(isOurselves('/usr/bin/node', [npx, '-y', 'other', 'mcp-sandbox-bridge'])).toBe(false);
  expect(isOurselves('cmd', ['/c', 'npx', '-y', 'mcp-sandbox-bridge'])).toBe(true);
  using home = new Home();
  home.write('copy/package.json', { name: 'mcp-sandbox-bridge' });
  home.write('other/package.json', { name: 'other' });
  for (const folder of ['copy', 'other', 'none']) home.write(`${folder}/dist/cli/main.js`, '');
  const isUs = (folder: string) => isOurselves('node', [`${home.path}/${folder}/dist/cli/main.js`]);
  expect(['copy', 'other', 'none'].map(isUs)).toEqual([true, false, false]);
});
