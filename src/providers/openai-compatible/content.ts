/**
 * The members of an answer that are what a model said or found: they are passed on as they are, and all others
 * as docs/vendors.md#what-passes tells.
 */
export const messageContent: ReadonlySet<string> = new Set([
  'content',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'refusal',
  'annotations',
  'images',
  'audio',
  'parsed',
  'tool_calls',
  'function_call',
])
export const choiceContent: ReadonlySet<string> = new Set([
  'index',
  'message',
  'delta',
  'logprobs',
  'finish_reason',
])
/** Of a call; signed thoughts travel with some. */
export const callContent: ReadonlySet<string> = new Set([
  'index',
  'id',
  'type',
  'function',
  'custom',
  'extra_content',
])
/** Of an answer or a chunk: its choices, what is read by itself, and what pads a chunk. */
export const answerContent: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'obfuscation',
  'p',
])
