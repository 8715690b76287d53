import { setTimeout as sleep } from 'node:timers/promises'
import type { Check } from '../../generated/checks.js'
import { GatewayError } from '../../src/core/error.ts'
import type { ToolContent } from '../../src/mcp/tool.ts'
import type { BoundTool, ToolCall } from '../../src/mcp/tool.ts'

const pauseMs = 50
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

const text = (words: string): ToolContent => ({ type: 'text', text: words })
const image: ToolContent = { type: 'image', base64: [Buffer.from(png)], mimeType: 'image/png' }
const resource = (uri: string): ToolContent => ({
  json: { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'A resource.' } },
})

const anything: Check<object> = Object.assign(
  (value: unknown): value is object => typeof value === 'object',
  { errors: null },
)

const handlers: Record<string, (call: ToolCall) => Promise<ToolContent[]>> = {
  test_simple_text: async () => [text('This is a simple text response for testing.')],
  test_image_content: async () => [image],
  test_audio_content: async () => [{ json: { type: 'audio', data: wav, mimeType: 'audio/wav' } }],
  json_schema_2020_12_tool: async () => [text('The schema is what counts.')],
  test_embedded_resource: async () => [resource('test://embedded-resource')],
  test_multiple_content_types: async () => [
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource'),
  ],
  test_error_handling: async () => {
    throw new GatewayError('invalid_value', 'This tool intentionally returns an error for testing.')
  },
  test_tool_with_progress: async ({ report }) => {
    for (const progress of [0, 50, 100]) {
      report(`${progress} of 100`)
      await sleep(pauseMs)
    }
    return [text('The tool has reported its progress.')]
  },
  test_streaming_elicitation: async () => [text('The tool sends no request to the client.')],
  test_logging_tool: async () => [text('The tool writes no log messages.')],
  // The server reports the state of every generation as log messages on the client's event stream.
  test_tool_with_logging: async () => {
    await sleep(6 * pauseMs)
    return [text('The tool has logged.')]
  },
}

/** A schema with keywords that some servers drop. */
const richSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

/** The test tools that the public conformance suite requires. */
export const conformanceTools: readonly BoundTool[] = Object.entries(handlers).map(
  ([name, handle]) => ({
    description: {
      name,
      description: `For the conformance suite: ${name}.`,
      inputSchema:
        name === 'json_schema_2020_12_tool' ? richSchema : { type: 'object', properties: {} },
    },
    check: anything,
    isGeneration: name.includes('logging'),
    handle: (_input, call) => handle(call),
  }),
)
