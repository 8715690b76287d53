import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'
import { connectClient, callTool, textOf } from '../support/mcp-client.ts'

type Schemas = components['schemas']

const announced = [
  { model: 'gemini-3.8-flash', before: 0.75, promised: { from: '2027-01-01', input: '1.5' } },
  { model: 'gemini-4-argon', before: 2, promised: { from: '2026-12-01', input: '4' } },
]

for (const one of announced)
  describe(`the announced price of ${one.model}`, () => {
    const { model, before: first, promised } = one
    let gateway: TestGateway
    let now = 0
    before(async () => {
      gateway = await startGateway({
        clock: () => now,
        file: { limits: { cache_ttl_seconds: 0 } },
      })
    })
    after(() => gateway.stop())

    const lastMoment = Date.parse(promised.from) - 1
    for (const { at, usd, ahead } of [
      { at: lastMoment, usd: first, ahead: [promised] },
      { at: lastMoment + 1, usd: Number(promised.input), ahead: [] },
    ]) {
      const when = new Date(at).toISOString()

      it(`applies to calls from its date on: $${usd} a million at ${when}`, async () => {
        now = at
        const response = await gateway.post('/v1/chat/completions', { model, messages: hello })
        const { usage } = (await response.json()) as Schemas['ChatCompletion']
        expect(usage.cost_details).to.include({ usd_per_million_input_tokens: usd })
      })

      it(`is listed as upcoming before its date and as current afterwards, at ${when}`, async () => {
        now = at
        const one = (await (await gateway.fetch(`/v1/models/${model}`)).json()) as Schemas['Model']
        const list = (await (await gateway.fetch('/v1/models')).json()) as Schemas['ModelList']
        for (const shown of [one, list.data.find(({ id }) => id === model)!]) {
          expect(shown.pricing.input_per_million_tokens).to.equal(String(usd))
          const changes = (shown.price_changes ?? []).map(({ from, pricing }) => ({
            from,
            input: pricing.input_per_million_tokens,
          }))
          expect(changes).to.deep.equal(ahead)
        }
        const client = await connectClient(gateway)
        const text = textOf(await callTool(client, 'list-models', { family: 'gemini' }))
        await client.close()
        const line = text.split('\n').find((one) => one.includes(`**${model}**`))
        expect(line).to.contain(`$${usd} input`)
        expect(line?.includes(`from ${promised.from} $${promised.input} input`)).to.equal(
          ahead.length > 0,
        )
      })
    }
  })
