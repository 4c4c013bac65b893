// What of the suite the bridge does not pass, and why: by side and scenario, of the whole scenario ('*') or of single checks. A
// reason is for all revisions of the protocol that the scenario is tried in, and for all versions of the suite, or for the one
// that is named behind an @. The trial fails where something is missed that is not here, and where something that is here passes.

const NO_PROMPTS = 'The bridge offers tools and resources to agents, and no prompts.';
const NO_SAMPLING =
  'The bridge asks nobody to sample: it passes on elicitation and roots. The protocol deprecates sampling.';
const NO_SUBSCRIBE =
  'A resource of the bridge never changes under its address, so none can be subscribed to; the capability is not declared.';
const NO_RESUMING =
  'A stream that breaks is not resumed: its request is cancelled and what it runs ends, in every revision. Resuming is optional.';
const NO_HEADER_PARAMETERS =
  'No tool of the bridge has a parameter that clients are to repeat in a header (`x-mcp-header`), so there is nothing to compare.';
const NEEDS_NOTHING =
  'No call of the bridge needs a capability of the agent: without one, whoever wants to ask is told that nobody can be asked.';

const OTHER_ISSUER =
  'This version of the suite names an issuer in the metadata that is not the one which was asked (RFC 8414 forbids it). The next one is right, and passed.';
const NO_METADATA =
  'Without metadata nobody says that the authorization server knows PKCE, and later revisions tell clients to refuse it then.';

const NO_SUBJECT_TYPES =
  "The metadata of the suite's identity provider has no `subject_types_supported`, which OpenID Connect Discovery demands; the bridge refuses it.";
const NO_DPOP = 'The bridge does not bind tokens to a key of its own (DPoP), which is an extension.';
const NO_WORKLOADS = 'The bridge does not log in by the identity of a workload, which is an extension.';

export const LEFT_OUT = {
  server: {
    'tools-call-sampling': { 'tools-call-sampling': NO_SAMPLING },
    'input-required-result-basic-sampling': { 'sep-2322-sampling-incomplete': NO_SAMPLING },
    'input-required-result-multiple-input-requests': { 'sep-2322-multiple-inputs-incomplete': NO_SAMPLING },
    'input-required-result-capability-check': { 'sep-2322-respect-client-capabilities': NO_SAMPLING },
    'input-required-result-non-tool-request': { 'sep-2322-non-tool-incomplete': NO_PROMPTS },
    'input-required-result-ignore-extra-params': {
      'sep-2322-ignore-unexpected-params':
        'The suite answers questions in its first request, before any was asked. The bridge takes an answer only for a call that waits for it, named by its `requestState`, and asks.',
    },
    'prompts-list': { 'prompts-list': NO_PROMPTS },
    'prompts-get-simple': { 'prompts-get-simple': NO_PROMPTS },
    'prompts-get-with-args': { 'prompts-get-with-args': NO_PROMPTS },
    'prompts-get-embedded-resource': { 'prompts-get-embedded-resource': NO_PROMPTS },
    'prompts-get-with-image': { 'prompts-get-with-image': NO_PROMPTS },
    caching: { 'sep-2549-prompts-list-caching-hints': NO_PROMPTS },
    'resources-subscribe': { 'resources-subscribe': NO_SUBSCRIBE },
    'resources-unsubscribe': { 'resources-unsubscribe': NO_SUBSCRIBE },
    'server-sse-polling': { 'server-sse-priming-event': NO_RESUMING, 'server-sse-retry-field': NO_RESUMING },
    'http-custom-header-server-validation': { '*': NO_HEADER_PARAMETERS },
    'server-stateless': {
      'sep-2575-server-rejects-undeclared-capability': NEEDS_NOTHING,
      'sep-2575-missing-capability-http-400': NEEDS_NOTHING,
    },
    'tasks-lifecycle': {
      'sep-2663-tasks-get-status-failed':
        'A call that has begun always ends with a result; where the bridge itself is at fault, with one that says so. So no task ends with an error of the protocol.',
    },
    'tasks-required-task-error': {
      'sep-2663-server-returns-missing-capability-when-required':
        'No tool of the bridge demands a task: a client that does not know tasks waits for the answer.',
    },
  },
  client: {
    'auth/2025-03-26-oauth-metadata-backcompat @ 0.1.16': { '*': OTHER_ISSUER },
    'auth/2025-03-26-oauth-endpoint-fallback': { '*': NO_METADATA },
    'auth/enterprise-managed-authorization': { '*': NO_SUBJECT_TYPES },
    'auth/dpop': { '*': NO_DPOP },
    'auth/dpop-nonce': { '*': NO_DPOP },
    'auth/wif-jwt-bearer': { '*': NO_WORKLOADS },
  },
};
