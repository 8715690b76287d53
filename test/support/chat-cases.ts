import { note, pdf } from './chat-wire.ts'
import { pixel } from './pixel.ts'

type Members = Record<string, unknown>
/** A capability that a case needs. A model without the capability refuses with an error that names it. */
type Need = 'vision' | 'audio' | 'file' | 'tools' | 'custom' | 'choices' | 'logprobs' | 'search'

/** A chat request that OpenAI clients send; `request` lacks `model`. */
export type ChatCase = {
  name: string
  request: Members & { messages: readonly Members[] }
  needs?: readonly Need[]
}

export const schema = {
  type: 'object',
  properties: { town: { type: 'string' } },
  required: ['town'],
  additionalProperties: false,
}
export const weather = {
  type: 'function',
  function: { name: 'weather', description: 'The weather in a town.', parameters: schema },
}
export const clock = { type: 'function', function: { name: 'clock' } }
export const shell = {
  type: 'custom',
  custom: { name: 'shell', description: 'Runs a command.', format: { type: 'text' } },
}
const grammar = {
  type: 'custom',
  custom: {
    name: 'sums',
    format: { type: 'grammar', grammar: { syntax: 'regex', definition: '[0-9+]+' } },
  },
}

const ask: readonly Members[] = [{ role: 'user', content: 'Hello' }]
const shown = (...content: readonly Members[]) => [{ role: 'user', content }]
const text = { type: 'text', text: 'What is it?' }
const image = { type: 'image_url', image_url: { url: pixel } }
const call = (id: string, town: string) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: JSON.stringify({ town }) },
})

/** Two rounds of tool calls, as OpenAI's client sends them in the next request. */
const twoSteps: readonly Members[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'How is it in Rome, Oslo and Bern?' },
  {
    role: 'assistant',
    content: null,
    refusal: null,
    annotations: [],
    reasoning_content: 'I look.',
    tool_calls: [call('call_1', 'Rome'), call('call_2', 'Oslo')],
  },
  { role: 'tool', tool_call_id: 'call_1', content: '{"celsius":21}' },
  { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: '{"celsius":3}' }] },
  { role: 'assistant', content: 'One more.', tool_calls: [call('functions.weather:2', 'Bern')] },
  { role: 'tool', tool_call_id: 'functions.weather:2', content: '' },
]
const customHistory: readonly Members[] = [
  ...ask,
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'shell', input: 'ls' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'a.txt' },
]
const functionHistory: readonly Members[] = [
  ...ask,
  { role: 'assistant', content: null, function_call: { name: 'weather', arguments: '{}' } },
  { role: 'function', name: 'weather', content: 'Warm.' },
]

const asks = (name: string, members: Members, needs: readonly Need[] = []): ChatCase => ({
  name,
  request: { messages: ask, ...members },
  needs,
})
const says = (name: string, messages: readonly Members[], needs?: readonly Need[]) =>
  asks(name, { messages }, needs)
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const forced = { type: 'function', function: { name: 'weather' } }
const allowed = (mode: string) => ({
  type: 'allowed_tools',
  allowed_tools: { mode, tools: [forced] },
})
const format = (json: Members) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'it', ...json } },
})

const conversations: readonly ChatCase[] = [
  says('text', ask),
  says('instructions', [{ role: 'system', content: 'Be kind.' }, ...ask]),
  says('developer', [{ role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] }, ...ask]),
  says('several instructions', [
    { role: 'system', content: 'Be kind.' },
    ...ask,
    { role: 'assistant', content: 'Hi.' },
    { role: 'developer', content: 'Be brief.' },
    ...ask,
  ]),
  says('names', [
    { role: 'system', content: 'Be kind.', name: 'house' },
    { role: 'user', content: 'Hello', name: 'ada' },
    { role: 'assistant', content: 'Hi.', name: 'bob' },
    { role: 'user', content: 'Hello', name: 'ada' },
  ]),
  says('vision', shown(text, image), ['vision']),
  says('vision with detail', shown(text, { ...image, image_url: { url: pixel, detail: 'high' } }), [
    'vision',
  ]),
  says(
    'audio',
    shown(text, { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    ['audio'],
  ),
  says('a PDF', shown(text, { type: 'file', file: { filename: 'a.pdf', file_data: pdf } }), [
    'file',
  ]),
  says('a text file', shown(text, { type: 'file', file: { filename: 'a.csv', file_data: note } }), [
    'file',
  ]),
  says('a file by id', shown(text, { type: 'file', file: { file_id: 'file-1' } }), ['file']),
  says('two steps of tools', twoSteps, ['tools']),
  says(
    'a picture in a result',
    [...twoSteps.slice(0, -1), { ...twoSteps.at(-1), content: [image] }],
    ['tools'],
  ),
  says('a user message after results', [...twoSteps, ...ask], ['tools']),
  says(
    'instructions after results',
    [...twoSteps, { role: 'system', content: 'Be kind.' }, ...ask],
    ['tools'],
  ),
  says('instructions at the end', [...ask, { role: 'system', content: 'Be kind.' }]),
  says('calls without results', [...twoSteps.slice(0, 4), ...ask], ['tools']),
  says(
    'results that come late',
    [...twoSteps.slice(0, 3), ...ask, ...twoSteps.slice(3)],
    ['tools'],
  ),
  says('a legacy call without a result', [...functionHistory.slice(0, 2), ...ask], ['tools']),
  says('a refusal as an answer', [
    ...ask,
    { role: 'assistant', content: null, refusal: 'No.' },
    ...ask,
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }] },
    ...ask,
  ]),
  says('an answer at the end', [...ask, { role: 'assistant', content: 'I' }]),
  says('an audio answer', [
    ...ask,
    { role: 'assistant', content: null, audio: { id: 'audio_1' } },
    ...ask,
  ]),
  says('a legacy function call', functionHistory, ['tools']),
  says('a call of a custom tool', customHistory, ['custom']),
  says(
    'unknown members of a picture',
    shown(text, { ...image, mood: 'good', image_url: { url: pixel, colour: 'red' } }),
    ['vision'],
  ),
  says('unknown members', [
    { role: 'user', content: [{ ...text, colour: 'red' }], mood: 'good' },
    { role: 'assistant', content: 'Hi.', mood: 'good' },
    { role: 'system', content: 'Be kind.', mood: 'good' },
    ...ask,
  ]),
]

const toolCases: readonly ChatCase[] = [
  asks('tools', { tools: [weather, clock] }, ['tools']),
  ...['auto', 'none', 'required'].map((tool_choice) =>
    asks(`tools, ${tool_choice}`, { tools: [weather], tool_choice }, ['tools']),
  ),
  asks('tools, a named tool', { tools: [weather], tool_choice: forced }, ['tools']),
  asks('tools, some allowed', { tools: [weather, clock], tool_choice: allowed('auto') }, ['tools']),
  asks('tools, some required', { tools: [weather, clock], tool_choice: allowed('required') }, [
    'tools',
  ]),
  asks('tools, no parallel calls', { tools: [weather], parallel_tool_calls: false }, ['tools']),
  asks('tools, parallel calls', { tools: [weather], parallel_tool_calls: true }, ['tools']),
  asks(
    'strict tools',
    { tools: [{ ...weather, function: { ...weather.function, strict: true } }] },
    ['tools'],
  ),
  asks('tools after two rounds of calls', { messages: twoSteps, tools: [weather] }, ['tools']),
  asks('custom tools', { tools: [shell, grammar] }, ['custom']),
  asks(
    'a custom tool, named',
    { tools: [shell], tool_choice: { type: 'custom', custom: { name: 'shell' } } },
    ['custom'],
  ),
  asks('functions', { functions: [weather.function], function_call: { name: 'weather' } }, [
    'tools',
  ]),
]

const options: readonly ChatCase[] = [
  asks('any text', { response_format: { type: 'text' } }),
  asks('a JSON object', {
    messages: [{ role: 'user', content: 'Answer in JSON.' }],
    response_format: { type: 'json_object' },
  }),
  asks('JSON with a strict schema', format({ schema, strict: true })),
  asks('JSON with a schema that is not strict', format({ description: 'A town.', schema })),
  asks('JSON without a schema', format({})),
  asks('a stop', { stop: 'END' }),
  asks('stops', { stop: ['END', '\n'] }),
  asks('an empty stop', { stop: '' }),
  asks('a stop of spaces', { stop: ' \n' }),
  asks('stops, some of them empty', { stop: ['', 'END', ' '] }),
  asks('no stops', { stop: [] }),
  asks('sampling', { temperature: 0.3, top_p: 0.9, seed: 4 }),
  asks('sampling at its defaults', {
    temperature: 1,
    top_p: 1,
    n: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    logprobs: false,
    logit_bias: {},
  }),
  asks('a high temperature', { temperature: 2 }),
  asks('penalties', { presence_penalty: 0.5, frequency_penalty: -0.5 }),
  asks('a bias', { logit_bias: { 50256: -100 } }),
  asks('several answers', { n: 2 }, ['choices']),
  asks('log probabilities', { logprobs: true, top_logprobs: 2 }, ['logprobs']),
  asks('max_tokens', { max_tokens: 100 }),
  asks('max_completion_tokens', { max_completion_tokens: 100 }),
  asks('both limits, equal', { max_tokens: 100, max_completion_tokens: 100 }),
  asks('both limits', { max_tokens: 50, max_completion_tokens: 100 }),
  ...efforts.map((reasoning_effort) => asks(`effort ${reasoning_effort}`, { reasoning_effort })),
  asks(
    'effort and a forced tool',
    {
      reasoning_effort: 'high',
      tools: [weather],
      tool_choice: 'required',
    },
    ['tools'],
  ),
  asks('effort none and sampling', { reasoning_effort: 'none', temperature: 0.3 }),
  asks('user', { user: 'u-1' }),
  asks('metadata', { metadata: { a: 'b' } }),
  asks('store', { store: true }),
  asks('service_tier', { service_tier: 'flex' }),
  asks('prediction', { prediction: { type: 'content', content: 'Hi' } }),
  asks('verbosity', { verbosity: 'low' }),
  asks('web_search_options', { web_search_options: { search_context_size: 'low' } }, ['search']),
  asks('modalities', { modalities: ['text'] }),
  asks(
    'audio output',
    { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
    ['audio'],
  ),
  asks('safety_identifier', { safety_identifier: 's-1' }),
  asks('prompt_cache_key', { prompt_cache_key: 'k-1', prompt_cache_retention: '24h' }),
  asks('cache_control', { cache_control: { type: 'ephemeral' } }),
  asks('unknown fields', { colour: 'red', top_k: 40 }),
  asks('null everywhere', {
    temperature: null,
    top_p: null,
    n: null,
    stop: null,
    seed: null,
    max_tokens: null,
    reasoning_effort: null,
    logit_bias: null,
    store: null,
    service_tier: null,
  }),
]

const whole = [...conversations, ...toolCases, ...options]

/** Every case with a whole answer, and some cases also streamed. */
export const chatCases: readonly ChatCase[] = [
  ...whole,
  ...whole
    .filter(({ name }) => ['text', 'tools', 'JSON with a strict schema'].includes(name))
    .flatMap(({ name, request, needs = [] }) => [
      { name: `${name}, streamed`, request: { ...request, stream: true }, needs },
      {
        name: `${name}, streamed and counted`,
        request: { ...request, stream: true, stream_options: { include_usage: true } },
        needs,
      },
    ]),
]
