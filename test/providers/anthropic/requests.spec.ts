import { describeWire, hello, type WireRow } from '../../support/chat-wire.ts'

const tool = {
  type: 'function' as const,
  function: { name: 'look', parameters: { type: 'object' } },
}
const map = { type: 'object', properties: {}, additionalProperties: { type: 'string' } }
const strictTool = (parameters: Record<string, unknown> | undefined) => ({
  type: 'function' as const,
  function: { name: 'look', strict: true, ...(parameters && { parameters }) },
})
const schema = { type: 'object', properties: {} }
const asked = { type: 'json_schema' as const, json_schema: { name: 'it', schema } }

const rows: WireRow[] = [
  {
    name: 'always sends Anthropic a token limit, by default the model’s maximum',
    model: 'claude-sonnet-4-6',
    request: {},
    wire: { max_tokens: 128_000, temperature: undefined },
  },
  {
    name: 'clamps the temperature for Anthropic, and omits top_p next to it',
    model: 'claude-sonnet-4-6',
    request: { temperature: 1.7, top_p: 0.5 },
    wire: { temperature: 1, top_p: undefined },
    warned: ['temperature', 'top_p'],
  },
  {
    name: 'omits sampling parameters that Anthropic rejects',
    model: 'claude-opus-5-5',
    request: { temperature: 0.2, top_p: 0.5 },
    wire: { temperature: undefined, top_p: undefined },
    warned: ['temperature', 'top_p'],
  },
  {
    name: 'warns of each field that Anthropic does not have',
    model: 'claude-sonnet-4-6',
    request: { seed: 1, presence_penalty: 1, frequency_penalty: 0, logprobs: true, store: true },
    warned: ['seed', 'presence_penalty', 'logprobs', 'store'],
  },
  {
    name: 'replaces a forced tool choice for the newest models of Anthropic',
    model: 'claude-opus-5-5',
    request: { tools: [tool], tool_choice: { type: 'function', function: { name: 'look' } } },
    wire: { 'tool_choice.type': 'auto' },
    warned: ['tool_choice'],
  },
  {
    name: 'sends Anthropic a schema to enforce',
    model: 'claude-sonnet-4-6',
    request: { response_format: asked },
    wire: { 'output_config.format.type': 'json_schema', system: undefined },
  },
  {
    name: 'closes objects for Anthropic, and moves bounds to descriptions',
    model: 'claude-sonnet-4-6',
    request: {
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'it',
          schema: {
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            type: 'object',
            properties: {
              age: { type: 'integer', description: 'In years.', minimum: 0 },
              tags: { type: 'array', items: { oneOf: [{ type: 'string', format: 'date' }] } },
            },
          },
        },
      },
    },
    wire: {
      'output_config.format.schema.$schema': undefined,
      'output_config.format.schema.additionalProperties': false,
      'output_config.format.schema.properties.age.minimum': undefined,
      'output_config.format.schema.properties.age.description': 'In years.\n\n{minimum: 0}',
      'output_config.format.schema.properties.tags.items.anyOf.0.format': 'date',
    },
    warned: ['response_format.json_schema.schema'],
  },
  {
    name: 'puts a schema that Anthropic cannot enforce into the system prompt',
    model: 'claude-sonnet-4-6',
    request: {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'it', schema: { type: 'object', additionalProperties: true } },
      },
    },
    wire: { output_config: undefined, 'system.length': 1 },
    warned: ['response_format'],
  },
  {
    name: 'puts the schema of a map into the system prompt, since Anthropic would allow only {}',
    model: 'claude-sonnet-4-6',
    request: {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'it', schema: { type: 'object', properties: { a: map } } },
      },
    },
    wire: { output_config: undefined, 'system.length': 1 },
    warned: ['response_format'],
  },
  {
    name: 'sends Anthropic the schemas of strict tools if it can enforce them',
    model: 'claude-sonnet-4-6',
    request: {
      tools: [
        strictTool({ type: 'object', properties: { at: { type: 'string', pattern: '^a' } } }),
        strictTool({ type: 'object', properties: { any: {} } }),
        strictTool(undefined),
        strictTool(map),
      ],
    },
    wire: {
      'tools.0.strict': true,
      'tools.0.input_schema.additionalProperties': false,
      'tools.0.input_schema.properties.at.description': '{pattern: "^a"}',
      'tools.1.strict': undefined,
      'tools.1.input_schema.additionalProperties': undefined,
      'tools.2.strict': true,
      'tools.3.strict': undefined,
      'tools.3.input_schema.additionalProperties.type': 'string',
    },
    warned: [
      'tools[0].function.parameters',
      'tools[1].function.strict',
      'tools[3].function.strict',
    ],
  },
  {
    name: 'caches a prompt for five minutes at most',
    model: 'claude-sonnet-4-6',
    request: { cache_control: { type: 'ephemeral', ttl: '1h' } },
    wire: { 'cache_control.type': 'ephemeral', 'cache_control.ttl': undefined },
    warned: ['cache_control.ttl'],
  },
  {
    name: 'asks Anthropic for JSON in the system prompt',
    model: 'claude-sonnet-4-6',
    request: { response_format: { type: 'json_object' } },
    wire: { output_config: undefined, 'system.length': 1 },
    warned: ['response_format'],
  },
  {
    name: 'sends Anthropic the reasoning effort',
    model: 'claude-opus-4-6',
    request: { reasoning_effort: 'xhigh', temperature: 0.2 },
    wire: { 'thinking.type': 'adaptive', 'output_config.effort': 'max', temperature: undefined },
    warned: ['reasoning_effort', 'temperature'],
  },
  {
    name: 'sends older models of Anthropic a thinking budget',
    model: 'claude-haiku-4-5',
    request: { reasoning_effort: 'medium', max_tokens: 2000 },
    wire: { 'thinking.budget_tokens': 1999 },
  },
  {
    name: 'omits thinking if the token limit is too small for Anthropic',
    model: 'claude-haiku-4-5',
    request: { reasoning_effort: 'low', max_tokens: 1024 },
    wire: { thinking: undefined },
    warned: ['reasoning_effort'],
  },
  ...(
    [
      ['claude-haiku-4-5', undefined],
      ['claude-sonnet-4-6', undefined],
      ['claude-opus-5', 'disabled'],
      ['claude-haiku-5-5', 'disabled'],
      ['claude-sonnet-5-5', 'between_tools'],
    ] as const
  ).map(([model, type]): WireRow => ({
    name: `switches off thinking of ${model} on request`,
    model,
    request: { reasoning_effort: 'none' },
    wire: { 'thinking.type': type, output_config: undefined },
  })),
  ...['claude-opus-5-5', 'claude-fable-5-1'].map((model): WireRow => ({
    name: `uses the lowest effort for ${model}, which always thinks`,
    model,
    request: { reasoning_effort: 'none' },
    wire: { 'thinking.type': 'adaptive', 'output_config.effort': 'low' },
    warned: ['reasoning_effort'],
  })),
  {
    name: 'requests the thoughts of models that think by default',
    model: 'claude-opus-5',
    request: {},
    wire: { 'thinking.type': 'adaptive', 'thinking.display': 'summarized' },
  },
  {
    name: 'forces a tool call on models that think by default',
    model: 'claude-opus-5',
    request: { tools: [tool], tool_choice: 'required' },
    wire: { thinking: undefined, 'tool_choice.type': 'any' },
  },
  {
    name: 'continues an answer with Anthropic, without trailing white space',
    model: 'claude-sonnet-4-5',
    request: { messages: [...hello, { role: 'assistant', content: 'I am \n' }] },
    wire: { 'messages.1.content.0.text': 'I am' },
    warned: ['messages[1].content'],
  },
  {
    name: 'refuses to continue an answer with newer models of Anthropic',
    model: 'claude-opus-5',
    request: { messages: [...hello, { role: 'assistant', content: 'I am' }] },
    refused: ['messages[1]'],
  },
  {
    name: 'refuses an empty user message after an answer',
    model: 'claude-sonnet-4-5',
    request: {
      messages: [...hello, { role: 'assistant', content: 'Yes?' }, { role: 'user', content: ' ' }],
    },
    refused: ['messages[2].content'],
  },
  {
    name: 'omits stop sequences of white space for Anthropic',
    model: 'claude-sonnet-4-6',
    request: { stop: ['\n', 'END'] },
    wire: { 'stop_sequences.0': 'END', 'stop_sequences.length': 1 },
    warned: ['stop[0]'],
  },
  {
    name: 'sends Anthropic the end user, preferring safety_identifier',
    model: 'claude-sonnet-4-6',
    request: { user: 'u-1', safety_identifier: 's-1' },
    wire: { 'metadata.user_id': 's-1' },
    warned: ['user'],
  },
  {
    name: 'refuses tool names that Anthropic rejects',
    model: 'claude-sonnet-4-6',
    request: { tools: [{ type: 'function', function: { name: 'look.at' } }] },
    refused: ['tools[0].function.name'],
  },
  {
    name: 'refuses several choices from Anthropic',
    model: 'claude-sonnet-4-6',
    request: { n: 5 },
    refused: ['n'],
  },
]

describe('a chat request to Anthropic', () => describeWire(rows))
