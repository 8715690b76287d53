import { expect } from 'chai'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { postMessages, textOf, toolCall } from '../support/mcp-client.ts'
import { pixel } from '../support/pixel.ts'

/** More pictures than may be rendered at once or wait. */
const burst = 8
const model = 'gpt-image-2'

describe('more concurrent pictures than the render queue holds', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({ bounds: { rendersConcurrentMax: 1, rendersQueuedMax: 0 } })
    const bytes = await paint({ width: 1024, height: 1024, format: 'png', number: 1 })
    const b64_json = bytes.toString('base64')
    own.upstream.answer({ body: { created: 1, data: [{ b64_json }] } })
  })
  after(() => own.stop())

  /** Some calls succeed; the others are refused with Retry-After. */
  const expectSome = async (send: (turn: number) => Promise<Response>) => {
    const answers = await Promise.all(Array.from({ length: burst }, (_, turn) => send(turn)))
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused.length).to.be.within(1, burst - 1)
    for (const response of refused) {
      const { error } = (await response.json()) as { error: { code: string; message: string } }
      expect({ status: response.status, ...error }).to.include({ status: 503, code: 'overloaded' })
      expect(response.headers.get('retry-after')).to.match(/^[1-9]\d?$/)
      expect(error.message).to.contain('Too many pictures are being processed.')
    }
  }

  it('are refused when the sandbox generates', () =>
    expectSome((turn) =>
      own.gateway.post('/v1/images/generations', { model, prompt: `f ${turn}` }),
    ))

  it('are refused when the sandbox edits', () =>
    expectSome((turn) => {
      const images = [{ image_url: pixel }]
      return own.gateway.post('/v1/images/edits', { model, prompt: `fox ${turn}`, images })
    }))

  it('are refused when a chat generates', () =>
    expectSome((turn) => {
      const messages = [{ role: 'user', content: `a fox ${turn}` }]
      return own.gateway.post('/v1/chat/completions', { model, messages })
    }))

  const convert = (turn: number) => {
    const body = { model: 'own/painter', prompt: `fox ${turn}`, output_format: 'webp' }
    return own.gateway.post('/v1/images/generations', body, { key: own.gateway.liveKey })
  }

  it('are converted in their turn once a vendor has made them', async () => {
    const answers = await Promise.all(Array.from({ length: burst }, (_, turn) => convert(turn)))
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(burst).fill(200))
  })

  it('are refused before a vendor is asked while the queue is full', async () => {
    const asked = own.upstream.requests.length
    const generate = (prompt: string, size: string) =>
      own.gateway.post('/v1/images/generations', { model, prompt, size })
    const long = generate('a long rendering', '3840x2160')
    let turn = 0
    while ((await generate(`short ${turn++}`, '1024x1024')).status === 200) expect(turn).below(100)
    const refused = await convert(burst)
    const { error } = (await refused.json()) as { error: object }
    expect({ status: refused.status, ...error }).to.include({ status: 503, code: 'overloaded' })
    expect(refused.headers.get('x-should-retry')).to.equal(null)
    expect(own.upstream.requests).to.have.length(asked)
    expect((await long).status).to.equal(200)
  })

  for (const tool of ['generate-image', 'generate-image-preview']) {
    it(`are refused when the tool ${tool} generates`, async () => {
      const calls = Array.from({ length: burst }, (_, turn) =>
        postMessages(own.gateway, toolCall(tool, { prompt: `a fox ${turn}` })),
      )
      const results = (await Promise.all(calls)).map(({ answer }) => answer.result!)
      const refused = results.filter(({ isError }) => isError)
      expect(refused.length).to.be.within(1, burst - 1)
      for (const result of refused) {
        expect(textOf(result)).to.equal(
          'Too many pictures are being processed. Try again in a moment.',
        )
      }
    })
  }
})
