import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { forEachStore } from '../support/each-store.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

type Schemas = components['schemas']
type Record = Schemas['RequestRecord']

const messages = [{ role: 'user', content: 'A lighthouse' }]

forEachStore('the details of a call', () => {
  let shared: TestGateway
  let gateway: TestGateway
  before(async () => {
    shared = await startGateway()
  })
  beforeEach(async () => {
    gateway = await shared.inNewAccount()
  })
  after(() => shared.stop())

  const recordOf = async (answer: Response): Promise<Record> => {
    await answer.text()
    const id = answer.headers.get('x-request-id')
    const response = await gateway.fetch(`/api/requests/${id}`, { key: gateway.adminKey })
    return (await response.json()) as Record
  }
  const ask = (body: object) => gateway.post('/v1/chat/completions', { messages, ...body })

  it('include the requested model, and the model that answered', async () => {
    for (const asked of ['gpt-5-mini', 'openai/GPT 5 Mini']) {
      const found = await recordOf(await ask({ model: asked }))
      expect(found).to.include({ model: 'gpt-5-mini', asked_model: asked })
    }
  })

  it('include the model that was tried, for a failed call too', async () => {
    const asked = 'openai/GPT 5 Mini'
    const words = [{ role: 'user', content: 'sandbox:status=500' }]
    const found = await recordOf(await ask({ model: asked, messages: words }))
    expect(found).to.include({ outcome: 'failed', model: 'gpt-5-mini', asked_model: asked })
  })

  it('include the adjusted parameters, without values that may be part of the prompt', async () => {
    const body = { model: 'gpt-5-mini', max_token: 7, stpo: 'a lighthouse in the fog' }
    const found = await recordOf(await ask(body))
    const shown = found.warnings.map(({ param, requested }) => [param, requested])
    expect(shown).to.deep.include.members([
      ['max_token', 7],
      ['stpo', null],
    ])
    expect(JSON.stringify(found)).not.to.include('fog')
  })

  it('include the start of each attempt', async () => {
    const found = await recordOf(await ask({ model: 'gpt-5-mini' }))
    const [{ start_ms: start, duration_ms: took } = { start_ms: null, duration_ms: 0 }] =
      found.attempts
    expect(start).to.be.within(0, found.duration_ms)
    expect(start! + took).to.be.at.most(found.duration_ms + 1)
  })

  for (const stream of [false, true]) {
    it(`include the cost that the cache saved${stream ? ' for a stream' : ''}, in reports too`, async () => {
      const first = await recordOf(await ask({ model: 'gpt-5-mini', stream }))
      expect(first.cost.saved).to.equal(null)
      // Waits until the response is cached, which happens after it was sent.
      await new Promise((resolve) => setImmediate(resolve))
      const again = await recordOf(await ask({ model: 'gpt-5-mini', stream }))
      expect(again).to.include({ cache: 'hit' })
      expect(again.cost.amount?.nano_usd).to.equal(0)
      expect(again.cost.saved).to.deep.equal(first.cost.amount)
      expect(again.cost.saved?.nano_usd).to.be.above(0)
      const path = '/api/usage?mode=test&group_by=model,outcome'
      const response = await gateway.fetch(path, { key: gateway.adminKey })
      const { total, data } = (await response.json()) as Schemas['UsageReport']
      expect(total.saved).to.deep.equal(first.cost.amount)
      expect(data.map(({ sums }) => sums.saved)).to.deep.equal([first.cost.amount])
    })
  }

  it('include the cost that the cache saved for an image', async () => {
    const body = { model: 'gpt-image-2.6-sunburst', prompt: 'A lighthouse' }
    const first = await recordOf(await gateway.post('/v1/images/generations', body))
    await new Promise((resolve) => setImmediate(resolve))
    const again = await recordOf(await gateway.post('/v1/images/generations', body))
    expect(again).to.include({ cache: 'hit' })
    expect(again.cost.saved).to.deep.equal(first.cost.amount)
  })
})
