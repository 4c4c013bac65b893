// Which servers have changed tools since they were first seen, or another one's name, for the commands that look at servers without starting
// them. Reads what the bridge has kept.

import { shownName } from '../../base/text/shown-name.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { acceptCommand, KeptCatalog } from '../../servers/catalog/kept-catalog.js';
import type { Settings } from '../../settings/environment/settings.js';

/** `changed` in words; `remedy` is a sentence with the command that accepts it. */
export type ServerChange = { readonly changed: string; readonly remedy: string };

const MAX_TOOLS_SHOWN = 5;

/** By server name; of those alone that have changed. */
export function serverChanges(
  specs: readonly DownstreamSpec[],
  { stateDir }: Pick<Settings, 'stateDir'>,
): ReadonlyMap<string, ServerChange> {
  const catalog = new KeptCatalog(stateDir, () => {});
  return new Map(
    specs.flatMap((spec): [string, ServerChange][] => {
      const command = acceptCommand(spec.name);
      if (spec.takesName === true) {
        const changed = 'another entry had its name: nothing that was decided of the name holds for this one';
        return [[spec.name, { changed, remedy: `If it is meant, accept it with \`${command}\`.` }]];
      }
      const changes = [...(catalog.of(spec)?.changes.values() ?? [])];
      if (changes.length === 0) return [];
      const shown = changes
        .slice(0, MAX_TOOLS_SHOWN)
        .map(({ tool, changed, on }) => `${shownName(tool)} (${changed.join(' and ')}, since ${on})`);
      const more = changes.length - shown.length;
      const tools = `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
      return [
        [
          spec.name,
          {
            changed: `not as first seen: ${tools}`,
            remedy: `See what changed with \`${command.replace(/ --accept$/, '')}\`, then accept it with \`${command}\`.`,
          },
        ],
      ];
    }),
  );
}
