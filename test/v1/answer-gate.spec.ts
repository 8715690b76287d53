import { expect } from 'chai'
import type OpenAI from 'openai'
import { vendors } from '../../src/providers/index.ts'
import { readChunks } from '../support/event-stream.ts'
import { startEveryVendor, type EveryVendor } from '../support/every-vendor.ts'

type Chunk = OpenAI.ChatCompletionChunk
type Wire = {
  model: string
  says(text: string): string
  ends(reason?: string): string
  begins: string
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`
const named = (data: { type: string; [name: string]: unknown }) =>
  `event: ${data.type}\n${event(data)}`
const chunk = (delta: object, finish: string | null = null, more: object = {}) =>
  event({
    id: 'a1',
    object: 'chat.completion.chunk',
    created: 1_767_225_600,
    model: 'up',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })
const gemini = (candidate: object) =>
  event({ candidates: [{ index: 0, ...candidate }], responseId: 'r1', modelVersion: 'up' })
const parts = (text: string) => ({ content: { parts: [{ text }], role: 'model' } })

const openAiShaped = (model: string): Wire => ({
  model,
  begins: chunk({ role: 'assistant', content: '' }),
  says: (content) => chunk({ content }),
  ends: (reason = 'stop') => chunk({}, reason),
})
const wires: Wire[] = [
  ...vendors
    .filter(({ dialect }) => dialect !== undefined)
    .map(({ id }) => openAiShaped(id === 'openai' ? 'gpt-4.1' : modelOf(id))),
  openAiShaped('own/plain'),
  {
    model: 'gemini-3.5-flash',
    begins: gemini(parts('')),
    says: (text) => gemini(parts(text)),
    ends: (reason = 'stop') =>
      gemini({ finishReason: { stop: 'STOP', length: 'MAX_TOKENS' }[reason] ?? 'OTHER' }),
  },
  {
    model: 'claude-sonnet-4-6',
    begins: named({ type: 'message_start', message: { id: 'm1', model: 'up', usage: {} } }),
    says: (text) =>
      named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    ends: (reason = 'stop') =>
      named({
        type: 'message_delta',
        delta: { stop_reason: reason === 'stop' ? 'end_turn' : 'max_tokens' },
        usage: { output_tokens: 2 },
      }),
  },
]

function modelOf(id: string): string {
  const known: Record<string, string> = {
    alibaba: 'qwen3.8-max',
    bytedance: 'seed-2-0-pro',
    cerebras: 'gpt-oss-120b',
    deepseek: 'deepseek-v4-pro',
    groq: 'gpt-oss-120b',
    mistral: 'mistral-medium-latest',
    xai: 'grok-4.3',
    zai: 'glm-5.3',
  }
  return `${id}/${known[id] ?? 'any'}`
}

describe('an answer to a caller', () => {
  let house: EveryVendor
  before(async () => {
    house = await startEveryVendor()
  })
  after(() => house.stop())

  const streamed = async (model: string, pieces: (string | Buffer)[]) => {
    house.upstream.answer({ pieces })
    const text = await (await house.ask(model, true)).text()
    expect(text).to.contain('data: [DONE]')
    const choices = (readChunks(text) as Chunk[]).flatMap((one) => one.choices)
    return {
      text,
      said: choices.map(({ delta }) => delta.content ?? '').join(''),
      ends: choices.flatMap((one) => one.finish_reason ?? []),
      roles: choices.flatMap(({ delta }) => delta.role ?? []),
      last: choices.at(-1),
    }
  }

  for (const { model, begins, says, ends } of wires) {
    const answers: Record<string, string[]> = {
      'a second end': [ends(), ends()],
      'another end': [ends(), ends('length')],
      'text after the end': [ends(), says('late'), ends('length'), says('late')],
    }
    for (const [name, end] of Object.entries(answers)) {
      it(`has only the first finish reason of ${model} after ${name}`, async () => {
        const done = model.startsWith('claude')
          ? named({ type: 'message_stop' })
          : 'data: [DONE]\n\n'
        const pieces = [begins, says('Hi '), says('you.'), says(' There.'), ...end, done]
        const answer = await streamed(model, pieces)
        expect(answer.said).to.equal('Hi you. There.')
        expect(answer.ends).to.deep.equal(['stop'])
        expect(answer.last!.finish_reason).to.equal('stop')
        expect(answer.roles).to.deep.equal(['assistant'])
      })
    }
  }

  for (const { model, begins, says, ends } of [
    wires.at(-1)!,
    wires.at(-2)!,
    openAiShaped('own/plain'),
  ]) {
    for (const [name, end] of Object.entries({ 'carriage returns': '\r', both: '\r\n' })) {
      for (const bytes of [1, 7, 4096]) {
        it(`is read from ${model} with ${name} as line ends, in chunks of ${bytes} bytes`, async () => {
          const done = model.startsWith('claude')
            ? named({ type: 'message_stop' })
            : 'data: [DONE]\n\n'
          const whole = [begins, says('Hi '), says('you.'), ends(), done].join('')
          const sent = Buffer.from(whole.replaceAll('\n', end))
          const count = Math.ceil(sent.length / bytes)
          const pieces = Array.from({ length: count }, (_, at) =>
            sent.subarray(at * bytes, (at + 1) * bytes),
          )
          const { said, ends: reasons } = await streamed(model, pieces)
          expect(said).to.equal('Hi you.')
          expect(reasons).to.deep.equal(['stop'])
        })
      }
    }
  }

  it('has the first finish reason of each of several choices', async () => {
    const says = (index: number, content: string, finish: string | null = null) =>
      event({ id: 'a', choices: [{ index, delta: { content }, finish_reason: finish }] })
    const answer = await streamed('own/plain', [
      says(0, 'a'),
      says(1, 'b'),
      says(0, 'a'),
      says(1, 'b'),
      says(0, '', 'stop'),
      says(0, 'late'),
      says(1, 'b'),
      event({
        id: 'a',
        choices: [
          { index: 0, delta: { content: 'late' }, finish_reason: 'length' },
          { index: 1, delta: { content: 'b' }, finish_reason: 'length' },
        ],
      }),
      says(1, 'late'),
      'data: [DONE]\n\n',
    ])
    expect(answer.said).to.equal('ababbb')
    expect(answer.ends).to.deep.equal(['stop', 'length'])
  })

  it('includes counts that arrive after the end', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
    const late = chunk({ content: '' }, 'stop', { usage })
    await streamed('own/plain', [
      chunk({ role: 'assistant', content: 'Hi' }),
      chunk({}, 'stop'),
      late,
      'data: [DONE]\n\n',
    ])
    const row = (await house.gateway.usage()).at(-1)!
    expect(row).to.include({ input_tokens: 7, output_tokens: 3 })
  })

  it('has one id, one date and one model, and its role once', async () => {
    const says = (id: string, created: number, content: string) =>
      chunk({ role: 'assistant', content }, null, { id, created, model: `up-${created}` })
    const { text, said, roles } = await streamed('own/plain', [
      event({ id: '', model: '', choices: [] }),
      says('x1', 1, 'a'),
      says('x2', 2, 'b'),
      says('x3', 3, 'c'),
      chunk({}, 'stop', { id: 'x4' }),
      'data: [DONE]\n\n',
    ])
    expect(said).to.equal('abc')
    expect(roles).to.deep.equal(['assistant'])
    const chunks = readChunks(text) as Chunk[]
    const names = chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)
    expect(new Set(names)).to.deep.equal(new Set(['x1 1 up-1']))
  })

  const nulls = { annotations: null, function_call: null, tool_calls: null, images: null }
  for (const { reported, tier, beside } of [
    { reported: 'on_demand', tier: 'default', beside: undefined },
    { reported: 'standard', tier: 'default', beside: undefined },
    { reported: 'flex', tier: 'flex', beside: 'flex' },
    { reported: 'performance', tier: undefined, beside: 'performance' },
    { reported: 7, tier: undefined, beside: undefined },
  ]) {
    it(`has null only where OpenAI has it, and the tier ${reported} in OpenAI's terms`, async () => {
      const more = { system_fingerprint: null, service_tier: reported }
      const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
      const message = { role: 'assistant', content: 'Hi', ...nulls }
      house.upstream.answer({
        body: { choices: [{ message, finish_reason: 'stop' }], usage, ...more },
      })
      const response = await house.ask('own/plain', false)
      const whole = (await response.json()) as OpenAI.ChatCompletion
      expect(whole.service_tier).to.equal(tier)
      expect(whole).to.not.have.property('system_fingerprint')
      expect(whole.choices[0]!.message).to.deep.equal({
        role: 'assistant',
        content: 'Hi',
        refusal: null,
      })
      const { cost_details: details = {} } = whole.usage as { cost_details?: object }
      expect((details as { service_tier?: string }).service_tier).to.equal(beside)
      const { text } = await streamed('own/plain', [
        chunk({ role: 'assistant', content: 'Hi', ...nulls }, null, more),
        chunk({ content: ' you', ...nulls }, null, more),
        chunk({ content: ' all', ...nulls }, null, more),
        chunk({}, 'stop', { ...more, usage }),
        'data: [DONE]\n\n',
      ])
      expect(text).to.not.match(/"(?:annotations|function_call|system_fingerprint|images)":/)
      for (const one of readChunks(text) as Chunk[]) expect(one.service_tier).to.equal(tier)
    })
  }
})
