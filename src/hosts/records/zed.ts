// Zed.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { isObject } from '../../base/json/records.js';
import { ANY_TYPE, PROGRAM, REMOTE, SECOND_MS, timeout } from '../terms/dialect.js';
import { type Host, PROGRAM_FIELDS, plainEntry, REMOTE_FIELDS } from '../terms/host.js';

const TITLE = 'Zed';

export const zed: Host = {
  title: TITLE,
  dialect: {
    types: ANY_TYPE,
    addresses: { url: 'auto' },
    fields: { ...PROGRAM, ...REMOTE },
    callTimes: timeout(SECOND_MS),
    startTimes: [],
    refuse: ({ source, command, url }) =>
      source === 'extension' || (command === undefined && url === undefined)
        ? { kind: 'host-extension', host: TITLE }
        : undefined,
    // Once the command was an object with a path.
    reshape: (entry) => {
      const { command } = entry;
      if (!isObject(command)) return entry;
      return { ...entry, command: command['path'], args: command['args'], env: command['env'] };
    },
  },
  expansion: 'none',
  sources: [
    { scope: 'project', pointer: ['context_servers'], files: { any: ['./.zed/settings.json'] } },
    {
      scope: 'user',
      pointer: ['context_servers'],
      files: {
        darwin: ['~/.config/zed/settings.json'],
        linux: ['${XDG_CONFIG_HOME:-~/.config}/zed/settings.json'],
        win32: ['${APPDATA:-~/AppData/Roaming}/Zed/settings.json'],
      },
    },
  ],
  install: {
    id: 'zed',
    programs: ['zed', 'zeditor'],
    isDesktop: true,
    // Older versions take an entry without this word for one of an extension.
    entry: (launch) => ({ source: 'custom', ...plainEntry(launch) }),
    adopt: {
      fields: [...PROGRAM_FIELDS, ...REMOTE_FIELDS, 'source', 'enabled', 'timeout'],
      handsOnVariables: true,
    },
  },
};
