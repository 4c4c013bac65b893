// Continue.

import { isObject } from '../../base/json/records.js';
import { MS, PROGRAM, type RawEntry } from '../terms/dialect.js';
import type { Host } from '../terms/host.js';

const TITLE = 'Continue';

const bearerOf = ({ apiKey }: RawEntry) => (apiKey ? { Authorization: `Bearer ${String(apiKey)}` } : {});
const headersOf = (options: unknown) => {
  const headers = isObject(options) ? options['headers'] : undefined;
  return isObject(headers) ? headers : {};
};

export const continued: Host = {
  title: TITLE,
  dialect: {
    types: { stdio: 'stdio', sse: 'sse', 'streamable-http': 'http', http: 'http' },
    addresses: { url: 'auto' },
    fields: { ...PROGRAM, headers: 'headers' },
    callTimes: [],
    startTimes: [{ at: ['connectionTimeout'], unitMs: MS }],
    refuse: ({ uses }) => (typeof uses === 'string' ? { kind: 'hub-block', host: TITLE } : undefined),
    reshape: (entry) => ({
      ...entry,
      headers: { ...bearerOf(entry), ...headersOf(entry['requestOptions']) },
    }),
  },
  expansion: 'continue',
  sources: [
    {
      scope: 'project',
      shape: 'list',
      files: { any: ['./.continue/mcpServers/*.yaml', './.continue/mcpServers/*.yml'] },
    },
    { scope: 'project', shape: 'servers', files: { any: ['./.continue/mcpServers/*.json'] } },
    {
      scope: 'user',
      shape: 'list',
      files: { any: ['~/.continue/config.yaml', '~/.continue/mcpServers/*.yaml'] },
    },
    { scope: 'user', shape: 'servers', files: { any: ['~/.continue/mcpServers/*.json'] } },
  ],
};
