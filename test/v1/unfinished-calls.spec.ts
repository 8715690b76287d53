import { expect } from 'chai'
import { abandonedCallsPerKeyMax } from '../../src/core/resilience/ending.ts'
import { nanoPerUsd, setBudgetOfKey } from '../support/budgets.ts'
import { completion, streamed, textChunk } from '../support/chat-answers.ts'
import { toolCall } from '../support/mcp-client.ts'
import { countLeft, metric } from '../support/metric.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { until } from '../support/until.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

const file = {
  routes: {
    'gpt-5-mini': ['own/writer'],
    'zai/cogview-4': ['own/painter'],
    'gpt-image-1-mini': ['own/painter'],
  },
  catalog: {
    'gpt-5-mini': { pricing: { input_per_million_tokens: 1, output_per_million_tokens: 10 } },
    'zai/cogview-4': { pricing: { per_image: [{ usd: 0.04 }] } },
    'gpt-image-1-mini': { pricing: { per_image: [{ usd: 0.04 }] } },
  },
}

const drawing = { model: 'zai/cogview-4', prompt: 'a fox' }
const drawingChat = { model: 'zai/cogview-4', messages: hello }
const subjects = {
  chat: {
    path: '/v1/chat/completions',
    body: { model: 'gpt-5-mini', messages: hello, max_completion_tokens: 100 },
  },
  stream: {
    path: '/v1/chat/completions',
    body: { model: 'gpt-5-mini', messages: hello, max_completion_tokens: 100, stream: true },
  },
  picture: { path: '/v1/images/generations', body: drawing },
  edit: {
    path: '/v1/images/edits',
    body: { ...drawing, model: 'gpt-image-1-mini', images: [{ image_url: pixel }] },
  },
  'picture in chat': { path: '/v1/chat/completions', body: drawingChat },
  'picture in a stream': { path: '/v1/chat/completions', body: { ...drawingChat, stream: true } },
  tool: { path: '/mcp', body: toolCall('generate-image', drawing) },
  'chat by tool': {
    path: '/mcp',
    body: toolCall('chat', { model: 'gpt-5-mini', messages: hello, max_tokens: 100 }),
  },
  'picture in chat by tool': { path: '/mcp', body: toolCall('chat', drawingChat) },
}
type Subject = keyof typeof subjects
const chats = ['chat', 'chat by tool'] as const
const pictures = [
  ...(['picture', 'edit', 'picture in chat', 'picture in a stream'] as const),
  ...(['tool', 'picture in chat by tool'] as const),
]

const base64 = pixel.slice(pixel.indexOf(',') + 1)
const picture: ScriptedAnswer = { body: { created: 1, data: [{ b64_json: base64 }] } }
/** The price of 9 input tokens at $1 and 4 output tokens at $10 a million. */
const chatNanoUsd = 9 * 1000 + 4 * 10_000
const pictureNanoUsd = 40_000_000

describe('a call that ends early or fails', () => {
  let shared: OwnEndpoint
  let own: OwnEndpoint
  let key: string
  before(async () => {
    const bounds = { keyCacheMs: 0, circuitFailuresMax: Infinity }
    shared = await startOwnEndpoint({ file, bounds })
  })
  beforeEach(async () => {
    own = await shared.inNewAccount()
    key = await own.gateway.createKey('live')
    await setBudgetOfKey(own.gateway, key, { nanoUsd: nanoPerUsd, period: 'total' })
  })
  after(() => shared.stop())

  const send = (subject: Subject, { signal }: Partial<AbortController> = {}, more: object = {}) => {
    const { path, body } = subjects[subject]
    return own.gateway.post(path, { ...body, ...more }, { key, ...(signal && { signal }) })
  }
  const spending = async () => {
    const answer = await own.gateway.fetch('/api/key', { key })
    const { budget } = (await answer.json()) as {
      budget: Record<'spent' | 'reserved', { nano_usd: number }>
    }
    return { spent: budget.spent.nano_usd, reserved: budget.reserved.nano_usd }
  }
  const isAsked = (count: number) =>
    until(`${count} are asked`, () => own.upstream.requests.length === count)
  const rowsUntil = async (count: number) => {
    await until(`${count} rows`, async () => (await own.gateway.usage()).length >= count)
    return own.gateway.usage()
  }
  /** Makes the vendor answer when the returned function is called. */
  const answerLater = (answer: ScriptedAnswer) => {
    const gate = Promise.withResolvers<void>()
    own.upstream.answer({ ...answer, after: gate.promise })
    return gate.resolve
  }

  const left: (readonly [Subject, ScriptedAnswer, nanoUsd: number])[] = [
    ...chats.map((one) => [one, completion('Hi.'), chatNanoUsd] as const),
    ...pictures.map((one) => [one, picture, pictureNanoUsd] as const),
  ]
  for (const [subject, answer, nanoUsd] of left) {
    it(`as a ${subject} runs to its end after its caller disconnects, is charged once and cached`, async () => {
      const counted = await countLeft(own.gateway)
      const release = answerLater(answer)
      const leaving = new AbortController()
      send(subject, leaving).catch(() => undefined)
      await isAsked(1)
      leaving.abort()
      await counted.until(1)
      expect((await spending()).reserved, 'it is held').to.be.greaterThan(0)
      const joined = send(subject)
      release()
      expect((await joined).status).to.equal(200)
      expect((await send(subject)).status).to.equal(200)
      const rows = await rowsUntil(3)
      const ends = rows.map((row) => [row.outcome, row.cost_status, row.cost_nano_usd])
      expect(ends).to.have.deep.members([
        ['ok', 'exact', nanoUsd],
        ['ok', 'cached', 0],
        ['ok', 'cached', 0],
      ])
      expect(await spending()).to.deep.equal({ spent: nanoUsd, reserved: 0 })
      expect(own.upstream.requests.map(({ aborted }) => aborted)).to.deep.equal([false])
      expect(await metric(own.gateway, 'gateway_left_calls')).to.equal(0)
    })
  }

  it('makes all pictures of a request whose caller disconnects', async () => {
    const counted = await countLeft(own.gateway)
    const release = answerLater(picture)
    const leaving = new AbortController()
    send('picture', leaving, { n: 6 }).catch(() => undefined)
    await until('some are asked', () => own.upstream.requests.length > 0)
    leaving.abort()
    await counted.until(1)
    release()
    const [row] = await rowsUntil(1)
    expect(row).to.include({ outcome: 'ok', cost_status: 'exact', images: 6 })
    expect(await spending()).to.deep.equal({ spent: 6 * pictureNanoUsd, reserved: 0 })
    expect(own.upstream.requests).to.have.length(6)
  })

  it('as a stream stops when its caller disconnects, and the received part is charged', async () => {
    own.upstream.answer({ pieces: [textChunk('four'), textChunk('more')], hang: true })
    const leaving = new AbortController()
    const answer = await send('stream', leaving)
    const reader = answer.body!.getReader()
    await reader.read()
    leaving.abort()
    await own.upstream.requests[0]!.closed
    const [row] = await rowsUntil(1)
    expect(row).to.include({ outcome: 'cancelled', cost_status: 'estimated' })
    expect(row!.cost_nano_usd).to.be.greaterThan(10_000)
    expect(await spending()).to.deep.equal({ spent: row!.cost_nano_usd, reserved: 0 })
    expect(own.upstream.requests[0]!.aborted).to.equal(true)
  })

  for (const prompt of [9, 0]) {
    const usage = { prompt_tokens: prompt, completion_tokens: 0 }
    for (const [subject, answer] of [
      ['chat', completion('Hi, you.', { usage })],
      ['stream', streamed(['Hi, ', 'you.'], { usage })],
    ] as const) {
      it(`as a ${subject} is estimated when its vendor counts ${prompt} input tokens and no output for a text`, async () => {
        own.upstream.answer(answer)
        await (await send(subject)).text()
        const [row] = await rowsUntil(1)
        const nanoUsd = (prompt || 2) * 1000 + 2 * 10_000
        const cost = { cost_status: 'estimated', cost_nano_usd: nanoUsd }
        expect(row).to.include({ outcome: 'ok', ...cost })
      })
    }
  }

  const one = { data: [{ b64_json: base64 }] }
  const away = 'https://169.254.169.254/picture.png'
  const counted = { input_tokens: 5, output_tokens: 1000 }
  const refusal: ScriptedAnswer = { status: 400, body: { error: { message: 'no' } } }
  const cutOff: ScriptedAnswer = {
    body: '{"da',
    headers: { 'content-length': '500' },
    reset: 'after',
  }
  const everyOther = (index: number): ScriptedAnswer =>
    index % 2 === 1 ? { ...refusal, delayMs: 20 } : { body: one, delayMs: 60 }
  const all = [...chats, ...pictures, 'stream'] as const
  const faces = ['chat', 'stream', 'picture', 'tool'] as const
  type Row = [
    name: string,
    subjects: readonly Subject[],
    answer: ScriptedAnswer | ((index: number) => ScriptedAnswer),
    status: string,
    nanoUsd: number | null,
    more?: { body?: object; calls?: number },
  ]
  /** A provider's answer and the resulting cost of the call. */
  const rows: Row[] = [
    ['a refusal', all, refusal, 'exact', 0],
    ['a broken answer', all, { body: '{"data":' }, 'unknown', null],
    ['an answer that is cut off', all, cutOff, 'unknown', null],
    ['a cut connection', faces, { reset: 'before' }, 'unknown', null],
    ['a timeout of its provider', faces, { status: 504 }, 'unknown', null],
    ['a timeout of a proxy before its provider', faces, { status: 524 }, 'unknown', null],
    [
      'a part of a stream',
      ['stream'],
      { pieces: [textChunk('four')], reset: 'after' },
      'estimated',
      2 * 1000 + 10_000,
    ],
    [
      'a broken chunk',
      ['stream'],
      { pieces: [textChunk('four'), 'data: {"choices":\n\n'] },
      'estimated',
      2 * 1000 + 10_000,
    ],
    [
      'an address that may not be fetched',
      pictures,
      { body: { data: [{ url: away }], usage: { generated_images: 1 } } },
      'exact',
      pictureNanoUsd,
    ],
    [
      'a file that is not a picture',
      pictures,
      { body: { data: [{ b64_json: 'AAAA' }] } },
      'exact',
      pictureNanoUsd,
    ],
    [
      'fewer pictures than were asked for',
      ['picture'],
      { body: { ...one, usage: counted } },
      'exact',
      pictureNanoUsd,
      { body: { model: 'gpt-image-1-mini', n: 4 } },
    ],
    [
      'tokens and no picture, where only pictures have a price',
      ['picture'],
      { body: { data: [], usage: counted } },
      'estimated',
      0,
    ],
    [
      'every second picture refused',
      ['picture'],
      everyOther,
      'exact',
      2 * pictureNanoUsd,
      { body: { n: 4 }, calls: 4 },
    ],
  ]
  for (const [name, subjects, answer, status, nanoUsd, { body = {}, calls = 1 } = {}] of rows)
    for (const subject of subjects) {
      it(`as a ${subject} with ${name} costs as much as its provider may charge`, async () => {
        own.upstream.answer((_request, index) =>
          typeof answer === 'function' ? answer(index) : answer,
        )
        await (await send(subject, {}, body)).text().catch(() => undefined)
        const [row] = await rowsUntil(1)
        expect(row!.outcome).to.be.oneOf(['failed', 'unknown'])
        expect(row).to.include({ cost_status: status, cost_nano_usd: nanoUsd })
        const { spent, reserved } = await spending()
        expect(reserved).to.equal(0)
        if (nanoUsd === null) expect(spent).to.be.greaterThan(0)
        else expect(spent).to.equal(nanoUsd)
        expect(own.upstream.requests).to.have.length(calls)
      })
    }

  it('is aborted and charged at its reservation when its key has too many abandoned calls', async () => {
    const counted = await countLeft(own.gateway)
    const release = answerLater(completion('Hi.'))
    const leaving = new AbortController()
    for (let count = 0; count <= abandonedCallsPerKeyMax; count++) {
      const messages = [{ role: 'user', content: `${count}` }]
      send('chat', leaving, { messages, max_completion_tokens: 1 }).catch(() => undefined)
    }
    await isAsked(abandonedCallsPerKeyMax + 1)
    leaving.abort()
    await counted.until(abandonedCallsPerKeyMax)
    const [ended] = await rowsUntil(1)
    expect(ended).to.include({ outcome: 'cancelled', cost_status: 'unknown', cost_nano_usd: null })
    release()
    const rows = await rowsUntil(abandonedCallsPerKeyMax + 1)
    expect(rows.filter(({ outcome }) => outcome === 'ok')).to.have.length(abandonedCallsPerKeyMax)
    const { spent, reserved } = await spending()
    expect(spent).to.be.greaterThan(abandonedCallsPerKeyMax * chatNanoUsd)
    expect(reserved).to.equal(0)
  })
})
