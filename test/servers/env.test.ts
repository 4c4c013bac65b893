import { expect, it } from 'vitest';
import { childEnv } from '../../src/servers/stdio/stdio-transport.js';

const NONE = { depth: 1, extraNames: [], platform: 'linux' as const };

it('a server gets what a shell would give it and nothing secret', () => {
  const host = {
    PATH: '/bin',
    LC_ALL: 'C.UTF-8',
    XDG_CONFIG_HOME: '/c',
    https_proxy: 'http://p',
    Path: 'C:\\',
    GITHUB_TOKEN: 'ghp_secret',
    AWS_SECRET_ACCESS_KEY: 'secret',
    MCP_BRIDGE_TIMEOUT: '30',
  };
  expect(childEnv(host, {}, NONE)).toEqual({
    PATH: '/bin',
    LC_ALL: 'C.UTF-8',
    XDG_CONFIG_HOME: '/c',
    https_proxy: 'http://p',
    Path: 'C:\\',
    MCP_BRIDGE_DEPTH: '1',
  });
});

it('the spec overrides the host, and nobody overrides the depth', () => {
  const env = childEnv({ PATH: '/bin', HOME: '/h' }, { PATH: '/opt', MCP_BRIDGE_DEPTH: '0' }, NONE);
  expect(env).toEqual({ PATH: '/opt', HOME: '/h', MCP_BRIDGE_DEPTH: '1' });
});

it('the operator may allow further names; exported shell functions never pass', () => {
  const env = childEnv({ DISPLAY: ':0', TERM: '() { :; }; echo' }, {}, { depth: 2, extraNames: ['DISPLAY'] });
  expect(env).toEqual({ DISPLAY: ':0', MCP_BRIDGE_DEPTH: '2' });
});

it('Windows: a variable is one in whatever case, and the spec and the depth override every spelling', () => {
  const host = { Path: 'C:\\Windows', SystemRoot: 'C:\\Windows', Display_Name: 'x', TOKEN: 'secret' };
  const env = childEnv(
    host,
    { PATH: 'D:\\bin', mcp_bridge_depth: '0' },
    { depth: 3, extraNames: ['DISPLAY_NAME'], platform: 'win32' },
  );
  expect(env).toEqual({
    PATH: 'D:\\bin',
    SystemRoot: 'C:\\Windows',
    Display_Name: 'x',
    MCP_BRIDGE_DEPTH: '3',
  });
});

it('elsewhere two spellings are two variables', () => {
  const env = childEnv({ Path: '/a' }, { PATH: '/b' }, { depth: 1, extraNames: [], platform: 'darwin' });
  expect(env).toEqual({ Path: '/a', PATH: '/b', MCP_BRIDGE_DEPTH: '1' });
});
