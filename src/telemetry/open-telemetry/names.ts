/**
 * Attribute names, from the semantic conventions of OpenTelemetry where they define one
 * (docs/telemetry.md#spans).
 */
export const attribute = {
  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  urlPath: 'url.path',
  urlScheme: 'url.scheme',
  errorType: 'error.type',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  outputType: 'gen_ai.output.type',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  tokenType: 'gen_ai.token.type',
  toolName: 'gen_ai.tool.name',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  mcpMethod: 'mcp.method.name',
  accountId: 'gateway.account_id',
  cache: 'gateway.cache',
  cost: 'gateway.cost_nano_usd',
  costStatus: 'gateway.cost_status',
  errorCode: 'gateway.error_code',
  estimated: 'gateway.usage_estimated',
  face: 'gateway.face',
  images: 'gateway.images',
  keyId: 'gateway.key_id',
  mode: 'gateway.mode',
  outcome: 'gateway.outcome',
  requestId: 'gateway.request_id',
} as const

/** Names of the metrics that `/metrics` does not have (docs/telemetry.md#metrics). */
export const metricName = {
  requestDuration: 'http.server.request.duration',
  operationDuration: 'gen_ai.client.operation.duration',
  timeToFirstChunk: 'gen_ai.client.operation.time_to_first_chunk',
  tokenUsage: 'gen_ai.client.token.usage',
  timeToFirstToken: 'gen_ai.server.time_to_first_token',
  toolDuration: 'mcp.server.operation.duration',
} as const

/** Replaces names that clients choose, since each name would be a new series. */
export const other = '_OTHER'
