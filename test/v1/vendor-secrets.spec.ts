import { expect } from 'chai'
import { hosts } from '../../src/providers/hosts/index.ts'
import { vendors } from '../../src/providers/index.ts'
import { doneEvent } from '../support/chat-answers.ts'
import { startEveryVendor, type EveryVendor } from '../support/every-vendor.ts'
import { errorEvent, firstEvents, oddAnswer } from '../support/secret-answers.ts'

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
    vendors.flatMap(({ id, anyModel, tokenScope, onlyPictures }) =>
      anyModel && !tokenScope && !onlyPictures ? [[id, `${id}/some`]] : [],
    ),
  ),
}
/** Vendors with the protocol of `mistral` and few lines of their own, of which three forms of errors are tried. */
const plain: ReadonlySet<string> = new Set(
  ['deepseek', 'groq', 'moonshot', 'openrouter', 'perplexity'].concat(hosts.map(({ id }) => id)),
)
/** Image models by vendor. */
const painters: Readonly<Record<string, string>> = {
  google: 'gemini-3.1-flash-image',
  alibaba: 'alibaba/qwen-image-2.0',
  zai: 'zai/glm-image',
  bytedance: 'bytedance/seedream-4-5',
  openai: 'gpt-image-1.5',
  xai: 'xai/grok-imagine-image-2.0',
  together: 'together/black-forest-labs/FLUX.1-schnell',
  bfl: 'bfl/flux-2-pro',
  fal: 'fal/fal-ai/flux/schnell',
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

/** Parts of a secret that are in no text for a caller, in lower case. */
function partsOf(id: string): string[] {
  const key = keyOf(id)
  const core = basicOf(key).slice(8, -4)
  const ends = [key.slice(0, 12), key.slice(-12)]
  const texts = [...ends, ...ends.map(hexOf), core, '12345678', '10.0.0.7', 'llm.internal']
  return [...texts, 'hidden'].map((text) => text.toLowerCase())
}

/** Matches what is left of a masked key. */
const maskedKey = (id: string) => new RegExp(String.raw`\b${id}7Q(?:\.x9Z)?[.*]`, 'i')
const escapedLetter = /(?:\\+u00|%)[0-9a-f]{2}/i

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
    const limits = { requests_per_minute: 1_000_000 }
    house = await startEveryVendor({ keyOf, limits, bounds: { taskPollMs: 6 } })
  })
  after(() => house.stop())

  /** The headers and the body that a caller receives. */
  const textOf = async (asked: Promise<Response>): Promise<string> => {
    const response = await asked
    const headers = [...response.headers].map((header) => header.join(': '))
    return [...headers, await response.text()].join('\n')
  }
  const expectNothing = (received: string, id: string, how: string) => {
    expectNoSecret(received.toLowerCase(), [id], how)
  }
  /** Expects no secret of these vendors in a text in lower case, which may be long. */
  const expectNoSecret = (lower: string, ids: readonly string[], how: string) => {
    expect(escapedLetter.test(lower), how).to.equal(false)
    for (const id of ids) {
      const found = partsOf(id).filter((part) => lower.includes(part))
      if (lower.includes(`${id}7q`) && maskedKey(id).test(lower)) found.push('a masked key')
      expect(found, `${id}: ${how}`).to.deep.equal([])
    }
  }
  const draw = (model: string) => {
    const { gateway } = house
    const headers = { 'cache-control': 'no-store' }
    const body = { model, prompt: 'a boat' }
    return gateway.post('/v1/images/generations', body, { key: gateway.liveKey, headers })
  }

  it('would be noticed', () => {
    for (const said of [...secretsOf('xai'), 'key xai7Q...']) {
      expect(() => expectNothing(said, 'xai', said), said).to.throw()
    }
  })

  for (const [id, model] of Object.entries(models)) {
    const formsOf = (said: string) => {
      const forms = Object.entries(errorsOf(said))
      return plain.has(id) ? forms.filter(([form]) => /nested|flat|text/.test(form)) : forms
    }
    it(`reaches no caller through an error of ${id}`, async () => {
      for (const said of secretsOf(id)) {
        for (const [form, body] of formsOf(said)) {
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
        for (const [form, body] of formsOf(said)) {
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
        const { nested, flat, bare, schema, text, page } = errorsOf(said)
        const inBand = {
          data: [{ error: { code: said, message: said } }],
          candidates: [{ finishReason: said, finishMessage: said }],
          content_filter: [{ role: said }],
        }
        const blocked = { promptFeedback: { blockReason: said, blockReasonMessage: said } }
        const address = { url: `${house.upstream.url}/pictures/1` }
        const choices = [{ message: { content: [{ image: address.url }] } }]
        const fetched = { data: [address], output: { choices } }
        for (const body of [
          nested!,
          flat!,
          bare!,
          schema!,
          text!,
          page!,
          inBand,
          blocked,
          fetched,
        ]) {
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
    const kept = { rows, log: gateway.logText(), metrics: await metrics.text() }
    for (const [name, text] of Object.entries(kept)) {
      expectNoSecret(text.toLowerCase(), Object.keys(models), name)
    }
  })
})
