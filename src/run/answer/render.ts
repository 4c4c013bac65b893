// An Outcome as a CallToolResult, in the form that the operator chose and that this client can make use of.

import { stringify } from '../../base/json/json-text.js';
import { toldApart } from '../../base/text/own-lines.js';
import { shownExactly } from '../../base/text/text.js';
import { hostView } from '../../hosts/tables/clients.js';
import type { OutputMode } from '../../settings/environment/variables.js';
import type { Outcome } from '../outcome/outcome.js';
import { compact } from './compact.js';
import { type ResourceLink, resourceLinks } from './files.js';
import { fitted } from './fit.js';
import { payloadOf, visible } from './payload.js';
import { type ImageBlock, imageBlocks } from './pictures.js';
import { sections } from './sections.js';
import { toonOrJson } from './toon.js';

/** `sections` is what execute_code says where nobody chose: stdout and stderr, each under its own head. */
export type RenderMode = OutputMode | 'sections';

/** The shape of the protocol's CallToolResult that we make. */
export type RenderedResult = {
  readonly content: readonly [
    { readonly type: 'text'; readonly text: string },
    ...(ImageBlock | ResourceLink)[],
  ];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
};

export type RenderOptions = {
  readonly mode: RenderMode;
  readonly structured: 'auto' | 'always' | 'never';
  /** `clientInfo.name` of the agent. */
  readonly client: string;
  /** False where it knows no `resource_link`, and would refuse the whole answer for one. */
  readonly links?: boolean;
};

/** Whether answers carry `structuredContent`. Where a host shows its model that, the compact form is thrown away. */
export const isStructured = ({ structured, client }: Pick<RenderOptions, 'structured' | 'client'>): boolean =>
  structured === 'always' || (structured === 'auto' && !hostView(client).showsStructured);

/** At most MAX_ANSWER_BYTES as JSON, and the pictures, which have a bound of their own and no copy anywhere. */
export function render(outcome: Outcome, options: RenderOptions): RenderedResult {
  const { roomBytes } = hostView(options.client);
  const { content, ...rest } = fitted(outcome, (fitting) => renderWhole(fitting, options), roomBytes);
  const [text, ...links] = content;
  return { content: [text, ...imageBlocks(outcome.pictures), ...links], ...rest };
}

function renderWhole(
  outcome: Outcome,
  { mode, structured, client, links = true }: RenderOptions,
): RenderedResult {
  const view = hostView(client);
  const payload = visible(payloadOf(outcome, view.paths));
  const forms: Readonly<Record<RenderMode, () => string>> = {
    compact: () => toldApart(compact(outcome, view)),
    sections: () => toldApart(sections(outcome, view)),
    toon: () => toonOrJson(payload),
    json: () => stringify(payload),
  };
  // Whatever was overlooked where the words came from, nothing leaves that does not show.
  const text = shownExactly(forms[mode]());
  return {
    content: [{ type: 'text', text }, ...(links && view.links ? resourceLinks(outcome) : [])],
    ...(isStructured({ structured, client }) ? { structuredContent: payload } : {}),
    isError: outcome.status !== 'success' && outcome.status !== 'running',
  };
}
