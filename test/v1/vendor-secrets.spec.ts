import { expect } from 'chai'
import { vendors } from '../../src/providers/index.ts'
import { chunk, completion, doneEvent, finishChunk, textChunk } from '../support/chat-answers.ts'
import { startEveryVendor, type EveryVendor } from '../support/every-vendor.ts'
import type { ReceivedRequest, ScriptedAnswer } from '../support/upstream.ts'

/** A model of each vendor, and a model of the operator's own server. */
const models: Readonly<Record<string, string>> = {
  google: 'gemini-3.5-flash',
  anthropic: 'claude-sonnet-4-6',
  openai: 'gpt-4.1',
  alibaba: 'alibaba/qwen3.5-plus',
  zai: 'zai/glm-5.2',
  bytedance: 'bytedance/seed-2-0-pro',
  mistral: 'mistral/mistral-large-4',
  deepseek: 'deepseek/deepseek-flash',
  groq: 'groq/llama-3.3-70b-versatile',
  xai: 'xai/grok-4.3',
  cerebras: 'cerebras/gpt-oss-120b',
  own: 'own/house-1',
  ...Object.fromEntries(
    vendors.flatMap(({ id, anyModel, tokenScope }) =>
      anyModel && !tokenScope ? [[id, `${id}/some`]] : [],
    ),
  ),
}
/** Image models by vendor. */
const painters: Readonly<Record<string, string>> = {
  google: 'gemini-3.1-flash-image',
  alibaba: 'alibaba/qwen-image-2.0',
  zai: 'zai/glm-image',
  bytedance: 'bytedance/seedream-4-5',
  openai: 'gpt-image-1.5',
  xai: 'xai/grok-imagine-image-2.0',
  together: 'together/black-forest-labs/FLUX.1-schnell',
  own: 'own/painter',
}

/** A key that matches no pattern of vendor keys. The gateway removes it because it is configured. */
const keyOf = (id: string) => `${id}7Q.x9Z3mN5p+R2tV8w/${id.split('').toReversed().join('')}4c`
const each = (text: string, write: (code: number) => string) =>
  Array.from(text, (letter) => write(letter.codePointAt(0)!)).join('')
const hex = (code: number) => code.toString(16)
const hexOf = (text: string) => Buffer.from(text).toString('hex')
const basicOf = (key: string) => Buffer.from(`user:${key}`).toString('base64')

/** Secrets that a vendor may repeat, in texts so short that the gateway does not shorten them. */
function secretsOf(id: string): string[] {
  const key = keyOf(id)
  return [
    key,
    each(key, (code) => String.raw`\u00${hex(code)}`),
    each(key, (code) => `%${hex(code)}`),
    `${hexOf(key)} ${hexOf(key).toUpperCase()} ${hexOf(key.slice(0, 14))} x${hexOf(key.slice(-14))}`,
    [
      `Bearer ${key}`,
      `Basic ${basicOf(key)}`,
      basicOf(key),
      `${key.slice(0, 7)}...${key.slice(-4)}`,
      `${key.slice(0, 7)}******${key.slice(-4)}.`,
      key.slice(0, 20),
      keyOf('groq'),
    ].join(' '),
    [
      'Bearer abcdefgh12345678',
      'http://10.0.0.7:8080/v1/chat',
      '10.0.0.7:8080',
      'llm.internal',
      '/opt/models/hidden/weights.bin',
    ].join(' '),
    'llm.internal',
  ]
}

/** Matches the remains of a secret in a text. */
function leakPattern(id: string): RegExp {
  const key = keyOf(id)
  const core = basicOf(key).slice(8, -4)
  const ends = [key.slice(0, 12), key.slice(-12)]
  const texts = [...ends, ...ends.map(hexOf), core, '12345678', '10.0.0.7', 'llm.internal']
  const masked = String.raw`\b${id}7Q(?:\.x9Z)?[.*]|(?:\\+u00|%)[0-9a-f]{2}`
  return new RegExp([...texts, 'hidden'].map(RegExp.escape).concat(masked).join('|'), 'i')
}

/** Errors in every format that vendors use, with a secret in every member. */
function errorsOf(said: string): Record<string, object | string> {
  const every = {
    message: `Refused: ${said}`,
    param: said,
    code: said,
    type: said,
    status: said,
    details: [{ reason: said, retryDelay: said, metadata: { consumer: said } }],
    metadata: { raw: { error: { message: said, code: said } }, provider_name: said },
    innererror: { trace: said },
    [said]: said,
  }
  return {
    nested: { error: every, request_id: said, message: said, code: said },
    flat: { object: 'error', ...every },
    bare: { error: { message: said } },
    path: { error: { message: 'No.', param: said } },
    typed: { type: 'error', error: { type: 'invalid_request_error', message: said } },
    listed: [{ error: { ...every, code: 400 } }],
    schema: { detail: [{ loc: ['body', said], msg: said, type: said }] },
    text: `It failed: ${said}`,
    page: `<html><head><title>${said}</title></head></html>`,
  }
}

describe("a vendor's text about its keys, its network and its folders", () => {
  let house: EveryVendor
  before(async () => {
    house = await startEveryVendor({ keyOf, limits: { requests_per_minute: 1_000_000 } })
  })
  after(() => house.stop())

  /** The headers and the body that a caller receives. */
  const textOf = async (asked: Promise<Response>): Promise<string> => {
    const response = await asked
    const headers = [...response.headers].map((header) => header.join(': '))
    return [...headers, await response.text()].join('\n')
  }
  const expectNothing = (received: string, id: string, how: string) => {
    expect(received, how).to.not.match(leakPattern(id))
  }
  const draw = (model: string) => {
    const { gateway } = house
    const headers = { 'cache-control': 'no-store' }
    const body = { model, prompt: 'a boat' }
    return gateway.post('/v1/images/generations', body, { key: gateway.liveKey, headers })
  }

  for (const [id, model] of Object.entries(models)) {
    it(`reaches no caller through an error of ${id}`, async () => {
      for (const said of secretsOf(id)) {
        for (const [form, body] of Object.entries(errorsOf(said))) {
          const isFirst = form === 'nested' && said === keyOf(id)
          for (const status of isFirst ? [200, 401, 402, 403, 429, 500] : [200, 400]) {
            const headers = { 'x-request-id': said, 'retry-after': said, 'content-type': 'text/x' }
            house.upstream.answer({ status, headers, body })
            for (const stream of [false, true]) {
              const how = `${form} ${status} ${stream ? 'stream' : 'whole'}: ${said}`
              expectNothing(await textOf(house.ask(model, stream)), id, how)
            }
          }
        }
      }
    })

    it(`reaches no caller through an error in a stream of ${id}`, async () => {
      for (const said of secretsOf(id)) {
        for (const [form, body] of Object.entries(errorsOf(said))) {
          for (const begun of [false, true]) {
            house.upstream.answer((request) => ({
              pieces: [...(begun ? firstEvents(request) : []), errorEvent(body), doneEvent],
            }))
            expectNothing(await textOf(house.ask(model, true)), id, `${form} ${begun}: ${said}`)
          }
        }
      }
    })

    it(`reaches no caller through odd places of an answer of ${id}`, async () => {
      for (const said of secretsOf(id)) {
        house.upstream.answer((request) => oddAnswer(request, said))
        for (const stream of [false, true]) {
          const received = await textOf(house.ask(model, stream))
          expectNothing(received, id, `${stream ? 'stream' : 'whole'}: ${said}`)
          expect(received, received).to.contain('Fine.')
        }
      }
    })
  }

  for (const [id, model] of Object.entries(painters)) {
    it(`reaches no caller through a picture of ${id} that fails`, async () => {
      for (const said of secretsOf(id)) {
        const { nested, flat, bare, text, page } = errorsOf(said)
        const inBand = {
          data: [{ error: { code: said, message: said } }],
          candidates: [{ finishReason: said, finishMessage: said }],
          content_filter: [{ role: said }],
        }
        const blocked = { promptFeedback: { blockReason: said, blockReasonMessage: said } }
        const address = { url: `${house.upstream.url}/pictures/1` }
        const choices = [{ message: { content: [{ image: address.url }] } }]
        const fetched = { data: [address], output: { choices } }
        for (const body of [nested!, flat!, bare!, text!, page!, inBand, blocked, fetched]) {
          for (const status of [200, 400, 500]) {
            house.upstream.answer(({ path }) =>
              path.startsWith('/pictures') ? { status: 403, body: nested! } : { status, body },
            )
            const how = `${status} ${JSON.stringify(body)}`
            expectNothing(await textOf(draw(model)), id, how)
          }
        }
      }
    })
  }

  it('reaches no caller through a name in a list of models', async () => {
    house.upstream.answer(({ path }) => {
      if (!path.includes('/models')) return { status: 404 }
      const data = secretsOf('xai').map((id) => ({ id, name: `models/${id}` }))
      return { body: { data, models: data } }
    })
    for (const model of [...secretsOf('xai'), 'unheard-of']) {
      const received = await textOf(house.ask(model, false))
      if (model === 'unheard-of') expectNothing(received, 'xai', model)
      else expect(received).to.not.contain('Several providers')
    }
  })

  it('is in no row, no log and no metric', async () => {
    const { gateway } = house
    const rows = JSON.stringify(await gateway.usage())
    const metrics = await gateway.fetch('/metrics')
    const kept = [rows, gateway.logText(), await metrics.text()]
    for (const id of Object.keys(models)) {
      for (const text of kept) expectNothing(text, id, id)
    }
  })
})

function errorEvent(body: object | string): string {
  return `event: error\ndata: ${typeof body === 'string' ? body : JSON.stringify(body)}\n\n`
}

/** The first events of a stream in the vendor's format. */
function firstEvents({ path }: ReceivedRequest): string[] {
  if (/generateContent/i.test(path)) return [data({ candidates: [{ content: parts('Fine.') }] })]
  if (!path.includes('/messages')) return [textChunk('Fine.'), textChunk('Fine.')]
  return [
    data({ type: 'message_start', message: { id: 'msg_1', model: 'c', usage: counts } }),
    data({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Fine.' } }),
  ]
}

/** The answer "Fine.", whole or streamed, with a secret in every member that may hold any text. */
function oddAnswer(request: ReceivedRequest, said: string): ScriptedAnswer {
  const { path, body } = request
  const odd = { [said]: said, debug: { upstream: said, list: [said, { [said]: [said] }] } }
  if (/generateContent/i.test(path)) {
    const candidate = {
      content: parts('Fine.'),
      finishReason: 'SAFETY',
      finishMessage: said,
      ...odd,
    }
    const answer = { candidates: [candidate], responseId: said, modelVersion: said, ...odd }
    return path.includes('stream') ? { pieces: [data(answer)] } : { body: answer }
  }
  if (path.includes('/messages')) {
    const stop_details = { explanation: said, category: said }
    const usage = { ...counts, service_tier: said }
    const text = { type: 'text', text: 'Fine.', ...odd }
    const call = { type: 'tool_use', id: said, name: 'look', input: {}, ...odd }
    const ended = { stop_reason: 'refusal', stop_details, ...odd }
    const message = { id: said, model: said, usage, ...odd }
    if ((body as { stream?: boolean }).stream !== true) {
      return { body: { ...message, ...ended, type: 'message', content: [text, call] } }
    }
    return {
      pieces: [
        data({ type: 'message_start', message }),
        data({ type: 'content_block_start', index: 0, content_block: text, ...odd }),
        data({ type: 'content_block_start', index: 1, content_block: call }),
        data({ type: 'message_delta', delta: ended, usage }),
        data({ type: 'message_stop', ...odd }),
      ],
    }
  }
  const more = {
    id: said,
    model: said,
    system_fingerprint: said,
    service_tier: said,
    provider: said,
    warnings: [said],
    x_groq: { id: said },
    ...odd,
  }
  const calls = [{ index: 0, id: said, type: 'function', function: { name: 'f' }, ...odd }]
  const choice = { index: 0, finish_reason: null, native_finish_reason: said, ...odd }
  const spoken = { role: said, content: 'Fine.', ...odd }
  if ((body as { stream?: boolean }).stream === true) {
    const delta = (received: object) =>
      chunk({ choices: [{ ...choice, delta: received }], ...more })
    const first = delta({ ...spoken, tool_calls: calls })
    return { pieces: [first, delta(spoken), delta(spoken), finishChunk(said, more), doneEvent] }
  }
  const whole = completion('Fine.').body as object
  const message = { ...spoken, tool_calls: calls }
  return { body: { ...whole, ...more, choices: [{ ...choice, finish_reason: said, message }] } }
}

const counts = { input_tokens: 9, output_tokens: 4 }
const parts = (text: string) => ({ role: 'model', parts: [{ text }] })
const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`
