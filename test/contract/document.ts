/**
 * Copies of tables in the product document and docs/behaviour.md, to test the contract.
 */

export type Row = {
  name: string
  type: string
  required?: true
  default?: unknown
  /** All allowed values of the parameter. */
  values?: unknown[]
  /** Values that must be allowed; other values may be allowed too. */
  accepts?: unknown[]
  minimum?: number
  maximum?: number
}

const sizeExamples = ['1024x1024', '1024x1536', '1536x1024', '2048x1024', '1024x2048', '2048x2048']

export const bodies: Record<string, Row[]> = {
  createImage: [
    { name: 'prompt', type: 'string', required: true },
    { name: 'model', type: 'string', default: 'auto' },
    { name: 'n', type: 'integer', default: 1, minimum: 1, maximum: 10 },
    { name: 'size', type: 'string', accepts: [...sizeExamples, '4096x4096'] },
    { name: 'quality', type: 'string' },
    { name: 'response_format', type: 'string', default: 'b64_json', values: ['b64_json'] },
    { name: 'style', type: 'string', values: ['vivid', 'natural'] },
  ],
  createImageEdit: [
    { name: 'images', type: 'array', required: true },
    { name: 'prompt', type: 'string', required: true },
    // The default is in docs/behaviour.md#images, not in the document.
    { name: 'model', type: 'string', default: 'auto' },
    { name: 'background', type: 'string', values: ['transparent', 'opaque', 'auto'] },
    { name: 'input_fidelity', type: 'string', values: ['high', 'low'] },
    { name: 'n', type: 'integer', default: 1, minimum: 1, maximum: 10 },
    { name: 'output_format', type: 'string', values: ['png', 'jpeg', 'webp', 'svg'] },
    { name: 'output_compression', type: 'integer', minimum: 0, maximum: 100 },
    { name: 'quality', type: 'string', values: ['low', 'medium', 'high', 'auto'] },
    { name: 'size', type: 'string', values: ['auto', '1024x1024', '1536x1024', '1024x1536'] },
  ],
  createChatCompletion: [
    { name: 'model', type: 'string', required: true },
    { name: 'messages', type: 'array', required: true },
    { name: 'image_config', type: 'object' },
  ],
}

export const toolArguments: Record<string, Row[]> = {
  chat: [
    { name: 'model', type: 'string', required: true },
    { name: 'messages', type: 'array', required: true },
    { name: 'temperature', type: 'number', minimum: 0, maximum: 2 },
    { name: 'max_tokens', type: 'number', minimum: 1 },
  ],
  'generate-image': [
    { name: 'prompt', type: 'string', required: true },
    { name: 'model', type: 'string', default: 'qwen-image-plus' },
    { name: 'size', type: 'string', default: '1024x1024' },
    { name: 'n', type: 'number', default: 1, minimum: 1, maximum: 4 },
  ],
  'generate-image-preview': [
    { name: 'prompt', type: 'string', required: true },
    { name: 'filename', type: 'string' },
    { name: 'aspect_ratio', type: 'string', values: ['1:1', '16:9', '4:3', '5:4'] },
  ],
  'list-models': [
    { name: 'include_deactivated', type: 'boolean', default: false },
    { name: 'exclude_deprecated', type: 'boolean', default: false },
    { name: 'limit', type: 'number', default: 20, minimum: 1 },
    { name: 'family', type: 'string' },
  ],
  'list-image-models': [],
}

/** Optional tool arguments that the product document does not contain, by tool. */
export const furtherArguments: Record<string, string[]> = {
  chat: ['fresh'],
  'generate-image': ['images', 'aspect_ratio', 'quality', 'seed', 'output_format', 'fresh'],
  'generate-image-preview': ['fresh'],
}

export const imageConfigs: Record<string, Row[]> = {
  ImageConfigGoogle: [
    { name: 'aspect_ratio', type: 'string', accepts: ['1:1', '16:9', '4:3', '5:4'] },
    { name: 'image_size', type: 'string', values: ['1K', '2K', '4K'] },
  ],
  ImageConfigAlibaba: [
    { name: 'image_size', type: 'string', accepts: ['1024x1024', '1024x1536', '1536x1024'] },
    { name: 'n', type: 'integer', minimum: 1, maximum: 4 },
    { name: 'seed', type: 'integer', accepts: [0, 1, 42] },
  ],
  ImageConfigZai: [
    { name: 'image_size', type: 'string', accepts: ['1024x1024', '2048x1024', '1024x2048'] },
    { name: 'n', type: 'integer', accepts: [1, 2] },
  ],
  ImageConfigBytedance: [
    { name: 'image_size', type: 'string', accepts: ['1024x1024', '2048x2048', '4096x4096'] },
  ],
}

export type Field = { path: string; type: string; always: boolean; constant?: string }

export const chatAnswer: Field[] = [
  { path: 'id', type: 'string', always: true },
  { path: 'object', type: 'string', always: true, constant: 'chat.completion' },
  { path: 'created', type: 'integer', always: true },
  { path: 'model', type: 'string', always: true },
  { path: 'choices', type: 'array', always: true },
  { path: 'choices[].index', type: 'integer', always: true },
  { path: 'choices[].message', type: 'object', always: true },
  { path: 'choices[].finish_reason', type: 'string', always: true },
  { path: 'choices[].message.role', type: 'string', always: true, constant: 'assistant' },
  { path: 'choices[].message.content', type: 'string', always: true },
  { path: 'choices[].message.images', type: 'array', always: false },
  {
    path: 'choices[].message.images[].type',
    type: 'string',
    always: true,
    constant: 'image_url',
  },
  { path: 'choices[].message.images[].image_url.url', type: 'string', always: true },
  { path: 'usage.prompt_tokens', type: 'integer', always: true },
  { path: 'usage.completion_tokens', type: 'integer', always: true },
  { path: 'usage.total_tokens', type: 'integer', always: true },
]
export const imagesAnswer: Field[] = [
  { path: 'data', type: 'array', always: true },
  { path: 'data[].b64_json', type: 'string', always: true },
]

/** Values inside and outside each limit in the product document's table of limits. */
export const limits: { limit: string; at: string[]; accepts: unknown[]; refuses: unknown[] }[] = [
  { limit: 'n of createImage', at: ['createImage', 'n'], accepts: [1, 10], refuses: [0, 11, 1.5] },
  {
    limit: 'n of the tool generate-image',
    at: ['generate-image', 'n'],
    accepts: [1, 4],
    refuses: [0, 5, 1.5],
  },
  {
    limit: 'n of provider group 2',
    at: ['ImageConfigAlibaba', 'n'],
    accepts: [1, 4],
    refuses: [0, 5],
  },
  {
    limit: 'temperature of the tool chat',
    at: ['chat', 'temperature'],
    accepts: [0, 0.5, 2],
    refuses: [-0.1, 2.1],
  },
  {
    limit: 'filename of the tool generate-image-preview',
    at: ['generate-image-preview', 'filename'],
    accepts: ['a fox.png', 'fox'],
    refuses: ['a/fox.png', '../fox.png', 'a\\fox.png', ''],
  },
  {
    limit: 'image_size of provider group 1',
    at: ['ImageConfigGoogle', 'image_size'],
    accepts: ['1K', '2K', '4K'],
    refuses: ['8K', '1k', '1024x1024'],
  },
  {
    limit: 'response_format of createImage',
    at: ['createImage', 'response_format'],
    accepts: ['b64_json'],
    refuses: ['url', null],
  },
  {
    limit: 'size of createImageEdit',
    at: ['createImageEdit', 'size'],
    accepts: ['auto', '1024x1024', '1536x1024', '1024x1536'],
    refuses: ['512x512', '1024X1024', ''],
  },
]

export const previewModel = { id: 'gemini-3-pro-image-preview', upstream: 'gemini-3-pro-image' }
export const toolModel = { id: 'alibaba/qwen-image-plus', alias: 'qwen-image-plus' }

/** Model, dollars per image, and the description of the price in the product document. */
export const prices: [id: string, usd: string, note: string][] = [
  ['alibaba/qwen-image', '0.035', 'Standard quality'],
  ['alibaba/qwen-image-plus', '0.03', 'Balance of quality and cost'],
  ['alibaba/qwen-image-max', '0.075', 'Highest quality'],
  ['zai/cogview-4', '0.01', 'Bilingual (Chinese and English) prompts, good text rendering'],
  ['zai/glm-image', '0.015', 'Text rendering and knowledge-intensive generation'],
  ['bytedance/seedream-4-0', '0.035', '2K default output'],
  ['bytedance/seedream-4-5', '0.045', 'Better quality and prompt adherence'],
]

/** The example sizes in the product document, by provider. */
export const exampleSizes: Record<string, string[]> = {
  alibaba: ['1024x1024', '1024x1536', '1536x1024'],
  zai: ['1024x1024', '2048x1024', '1024x2048'],
  bytedance: ['1024x1024', '2048x2048', '4096x4096'],
}

/** The errors of /v1 (docs/behaviour.md#errors), by status. */
export const errors: Record<number, { type: string; codes: string[] }> = {
  400: {
    type: 'invalid_request_error',
    codes: [
      'invalid_json',
      'invalid_value',
      'missing_required_parameter',
      'unknown_parameter',
      'unsupported_parameter',
      'unsupported_value',
      'context_length_exceeded',
      'model_capability_mismatch',
      'content_policy_violation',
      'image_fetch_failed',
    ],
  },
  401: {
    type: 'authentication_error',
    codes: [
      'missing_api_key',
      'invalid_api_key',
      'expired_api_key',
      'invalid_token',
      'invalid_credentials',
      'invalid_session',
    ],
  },
  402: { type: 'billing_error', codes: ['insufficient_quota'] },
  403: {
    type: 'permission_error',
    codes: [
      'model_not_allowed',
      'ip_not_allowed',
      'insufficient_scope',
      'csrf_failed',
      'sign_up_closed',
      'password_sign_in_closed',
    ],
  },
  404: { type: 'invalid_request_error', codes: ['model_not_found', 'not_found'] },
  405: { type: 'invalid_request_error', codes: ['method_not_allowed'] },
  408: { type: 'timeout_error', codes: ['timeout'] },
  409: {
    type: 'invalid_request_error',
    codes: [
      'key_not_active',
      'idempotency_key_in_use',
      'idempotency_key_reused',
      'email_taken',
      'already_member',
      'last_owner',
      'too_many_invitations',
    ],
  },
  410: { type: 'invalid_request_error', codes: ['model_deactivated'] },
  416: { type: 'invalid_request_error', codes: ['invalid_value'] },
  413: { type: 'invalid_request_error', codes: ['request_too_large'] },
  415: { type: 'invalid_request_error', codes: ['unsupported_media_type'] },
  429: { type: 'rate_limit_error', codes: ['rate_limit_exceeded'] },
  431: { type: 'invalid_request_error', codes: ['request_too_large'] },
  500: { type: 'api_error', codes: ['internal_error'] },
  502: { type: 'upstream_error', codes: ['provider_error', 'all_providers_failed'] },
  503: { type: 'overloaded_error', codes: ['overloaded', 'no_provider_configured'] },
  504: { type: 'timeout_error', codes: ['timeout'] },
}
