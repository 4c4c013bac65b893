// A tool as tools/list tells of it.

export type ToolDefinition = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown };
  readonly annotations: Readonly<Record<string, boolean | string>>;
  readonly _meta: Readonly<Record<string, unknown>>;
};
