/** An unusual answer of a vendor, whole and streamed, with the result that OpenAI's API would have sent. */
export type AnswerTrap = {
  name: string
  model: string
  /** Body of an answer that is not streamed; absent if the trap exists only in streams. */
  whole?: object
  /** Pieces of a streamed answer; absent if the trap exists only in whole answers. */
  events?: string[]
  message: { content: string | null; reasoning_content?: string; calls?: [string, string][] }
  finish: string
}

const created = 1_767_225_600
const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
const identity = { id: 'a1b2', created, model: 'up' }
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`
const done = 'data: [DONE]\n\n'
const choosing = (choice: object, more: object = {}) =>
  event({ ...identity, object: 'chat.completion.chunk', choices: [choice], ...more })
const delta = (said: object, finish: string | null = null) =>
  choosing({ index: 0, delta: said, finish_reason: finish })
const answer = (message: object, finish: string | null, more: object = {}) => ({
  ...identity,
  object: 'chat.completion',
  choices: [{ index: 0, message, finish_reason: finish }],
  usage,
  ...more,
})
const call = (id: string | undefined, args: unknown, more: object = {}) => ({
  ...(id === undefined ? {} : { id }),
  function: { name: 'look', ...(args === undefined ? {} : { arguments: args }) },
  ...more,
})
const calling = (content: string | null = null) => ({
  content,
  calls: [['look', '{"at":1}']] as [string, string][],
})
const args = '{"at":1}'

/** Collected from vendors' documents, clients and bug reports (docs/vendors.md#openai-compatible-endpoints). */
export const answerTraps: AnswerTrap[] = [
  {
    name: 'calls without `type`, and null for no calls',
    model: 'mistral/mistral-medium-latest',
    whole: answer(
      { role: 'assistant', content: '', tool_calls: [call('abcdefghi', args)] },
      'tool_calls',
    ),
    events: [
      delta({ role: 'assistant', content: '', tool_calls: null }),
      delta({ content: '', tool_calls: [call('abcdefghi', args, { index: 0 })] }, 'tool_calls'),
      done,
    ],
    message: calling(''),
    finish: 'tool_calls',
  },
  {
    name: 'no members that would be null',
    model: 'xai/grok-4.3',
    whole: { ...answer({ role: 'assistant', content: 'It is 2.' }, 'stop'), object: undefined },
    events: [
      choosing({ index: 0, delta: { role: 'assistant', content: 'It ' } }),
      choosing({ index: 0, delta: { content: 'is ', role: 'assistant' } }),
      choosing({ index: 0, delta: { content: '2.' } }),
      choosing({ index: 0, delta: {}, finish_reason: 'stop' }),
      done,
    ],
    message: { content: 'It is 2.' },
    finish: 'stop',
  },
  {
    name: '`reasoning` members, and the finish reason `eos`',
    model: 'together/openai/gpt-oss-20b',
    whole: answer(
      { role: 'assistant', content: 'It is 2.', reasoning: 'One and one.', tool_calls: [] },
      'eos',
    ),
    events: [
      delta({ role: 'assistant', content: '', reasoning: 'One ' }),
      delta({ role: 'assistant', content: '', reasoning: 'and ' }),
      delta({ role: 'assistant', content: '', reasoning: 'one.' }),
      delta({ role: 'assistant', content: 'It is 2.' }),
      delta({ content: '' }, 'eos'),
      done,
    ],
    message: { content: 'It is 2.', reasoning_content: 'One and one.' },
    finish: 'stop',
  },
  {
    name: 'SSE comments, and a call without arguments',
    model: 'openrouter/some/model',
    whole: answer(
      {
        role: 'assistant',
        content: null,
        refusal: null,
        reasoning: null,
        tool_calls: [call('c1', undefined, { type: 'function' })],
      },
      'tool_calls',
      { provider: 'Some' },
    ),
    events: [
      ': OPENROUTER PROCESSING\n\n',
      delta({ role: 'assistant', content: '' }),
      ': OPENROUTER PROCESSING\n\n',
      delta({ tool_calls: [call('c1', undefined, { index: 0, type: 'function' })] }),
      delta({ role: 'assistant', content: '' }, 'tool_calls'),
      done,
    ],
    message: { content: null, calls: [['look', '{}']] },
    finish: 'tool_calls',
  },
  {
    name: 'pieces of a call with an empty id, and empty finish reasons between',
    model: 'alibaba/qwen3.8-max',
    events: [
      choosing({
        index: 0,
        delta: {
          role: 'assistant',
          content: null,
          tool_calls: [call('c1', '', { index: 0, type: 'function' })],
        },
        finish_reason: '',
      }),
      choosing({
        index: 0,
        delta: {
          role: '',
          tool_calls: [
            { index: 0, id: '', type: 'function', function: { name: '', arguments: '{"at"' } },
          ],
        },
        finish_reason: '',
      }),
      choosing({
        index: 0,
        delta: {
          tool_calls: [{ index: 0, id: '', type: 'function', function: { arguments: ':1}' } }],
        },
        finish_reason: '',
      }),
      delta({ content: '' }, 'tool_calls'),
      done,
    ],
    message: calling(''),
    finish: 'tool_calls',
  },
  {
    name: 'its own finish reason for an answer that is too long',
    model: 'zai/glm-5',
    whole: answer({ role: 'assistant', content: 'It is' }, 'model_context_window_exceeded'),
    events: [
      delta({ role: 'assistant', content: 'It is' }),
      delta({}, 'model_context_window_exceeded'),
      done,
    ],
    message: { content: 'It is' },
    finish: 'length',
  },
  {
    name: 'empty lines and keep-alive comments',
    model: 'deepseek/deepseek-flash',
    events: [
      ': keep-alive\n\n',
      '\n\n',
      delta({ role: 'assistant', content: null, reasoning_content: 'One and one.' }),
      ': keep-alive\n\n',
      delta({ content: 'It is 2.', reasoning_content: null }),
      delta({ content: '', reasoning_content: null }, 'stop'),
      done,
    ],
    message: { content: 'It is 2.', reasoning_content: 'One and one.' },
    finish: 'stop',
  },
  {
    name: 'whole calls that share one index, and `stop` after them',
    model: 'own/ollama',
    whole: answer(
      {
        role: 'assistant',
        content: '',
        tool_calls: [call('c1', { at: 1 }, { index: 0 }), call('c1', { at: 2 }, { index: 0 })],
      },
      'stop',
    ),
    events: [
      delta({
        role: 'assistant',
        content: '',
        tool_calls: [call('c1', { at: 1 }, { index: 0, type: 'function' })],
      }),
      delta({
        role: 'assistant',
        content: '',
        tool_calls: [call('c2', { at: 2 }, { index: 0, type: 'function' })],
      }),
      delta({ role: 'assistant', content: '' }, 'stop'),
      done,
    ],
    message: {
      content: '',
      calls: [
        ['look', args],
        ['look', '{"at":2}'],
      ],
    },
    finish: 'tool_calls',
  },
  {
    name: 'only the text',
    model: 'own/plain',
    whole: { choices: [{ message: { content: 'It is 2.' } }] },
    events: [
      event({ choices: [{ delta: { content: 'It ' } }] }),
      event({ choices: [{ delta: { content: 'is 2.' } }] }),
      done,
    ],
    message: { content: 'It is 2.' },
    finish: 'stop',
  },
  {
    name: 'calls without ids and indexes',
    model: 'own/plain',
    whole: { choices: [{ message: { tool_calls: [call(undefined, args), call('', undefined)] } }] },
    events: [
      event({ choices: [{ delta: { tool_calls: [call(undefined, args)] } }] }),
      event({ choices: [{ delta: { tool_calls: [call('', null)] } }] }),
      done,
    ],
    message: {
      content: null,
      calls: [
        ['look', args],
        ['look', '{}'],
      ],
    },
    finish: 'tool_calls',
  },
  {
    name: 'empty names, a dated model and a float for a time',
    model: 'own/plain',
    whole: {
      ...answer({ role: 'model', content: 'It is 2.' }, 'end_turn'),
      id: '',
      created: 1.5,
      model: '',
    },
    events: [
      event({
        id: '',
        object: '',
        created: 1.5,
        model: '',
        choices: [{ index: 0, delta: { content: 'It is 2.' }, finish_reason: null }],
      }),
      event({
        id: '',
        object: '',
        created: 2.5,
        model: '',
        choices: [{ index: 0, delta: {}, finish_reason: 'end_turn' }],
      }),
      done,
    ],
    message: { content: 'It is 2.' },
    finish: 'stop',
  },
  {
    name: 'event names and ids, CRLF line ends and a byte order mark',
    model: 'own/plain',
    events: [
      `\uFEFFevent: message\r\nid: 1\r\n${delta({ role: 'assistant', content: 'It ' }).replaceAll('\n', '\r\n')}`,
      `event: message\r\nid: 2\r\nretry: 9\r\n${delta({ content: 'is ' }).replaceAll('\n', '\r\n')}`,
      `id: 3\r\n${delta({ content: '2.' }).replaceAll('\n', '\r\n')}`,
      delta({}, 'stop').replaceAll('\n', '\r\n'),
      done.replaceAll('\n', '\r\n'),
    ],
    message: { content: 'It is 2.' },
    finish: 'stop',
  },
  {
    name: 'an event over several lines',
    model: 'own/plain',
    events: [
      delta({ role: 'assistant', content: 'It is 2.' }).replace('"choices"', '\ndata: "choices"'),
      delta({}, 'stop'),
      done,
    ],
    message: { content: 'It is 2.' },
    finish: 'stop',
  },
]
