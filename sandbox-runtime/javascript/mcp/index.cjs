// The package `mcp` of JavaScript and TypeScript programs: `import mcp from 'mcp'`, `import { callTool } from 'mcp'`,
// `require('mcp')`. Written out so that Node finds the names for an import.

'use strict';

const { MCPError, UnknownServerError, UnknownToolError } = require('../errors.cjs');
const { callTool, callToolRaw, listServers, listTools, servers } = require('../api.cjs');
const {
  describeServer,
  discoveredServers,
  loadServer,
  queryToolDocs,
  searchToolDocs,
} = require('../api.cjs');
const { getPrompt, listPrompts, listResources, readResource } = require('../resources.cjs');
const { progress } = require('../progress.cjs');

module.exports = {
  MCPError,
  UnknownServerError,
  UnknownToolError,
  callTool,
  callToolRaw,
  describeServer,
  discoveredServers,
  getPrompt,
  listPrompts,
  listResources,
  listServers,
  listTools,
  loadServer,
  progress,
  queryToolDocs,
  readResource,
  searchToolDocs,
  servers,
};
