import { describe, expect, it } from 'vitest';
import { argvOf, ownCommand } from '../../src/base/process/own-command.js';

describe('argvOf', () => {
  it.each([
    ['/home/ann/.npm/_npx/0f3c/node_modules/.bin/mcp-sandbox-bridge', 'npx -y mcp-sandbox-bridge'],
    [
      'C:\\Users\\ann\\AppData\\Local\\npm-cache\\_npx\\0f3c\\node_modules\\mcp-sandbox-bridge\\dist\\cli\\main.js',
      'npx -y mcp-sandbox-bridge',
    ],
    ['/usr/local/bin/mcp-sandbox-bridge', 'mcp-sandbox-bridge'],
    ['C:\\nodejs\\node_modules\\mcp-sandbox-bridge\\dist\\cli\\main.js', 'mcp-sandbox-bridge'],
    [
      '/home/ann/src/mcp-sandbox-bridge/dist/cli/main.js',
      'node /home/ann/src/mcp-sandbox-bridge/dist/cli/main.js',
    ],
    ['C:\\src\\bridge\\dist\\cli\\main.js', 'node C:\\src\\bridge\\dist\\cli\\main.js'],
    ['/usr/local/bin/code-exec', 'mcp-sandbox-bridge'],
    [undefined, 'mcp-sandbox-bridge'],
  ])('of %s is %s', (script, line) => {
    expect(argvOf(script).join(' ')).toBe(line);
  });
});

it('names the package where nothing tells how it was started, quoted for a shell', () => {
  expect(ownCommand('login', 'my server')).toBe("mcp-sandbox-bridge login 'my server'");
  expect(ownCommand('doctor', '--probe')).toBe('mcp-sandbox-bridge doctor --probe');
});
