import { expectFiring } from '../support/deploy/firing-alerts.ts'
import { startGateway } from '../support/gateway.ts'
import { programPath } from '../support/program-path.ts'
import { until } from '../support/until.ts'

describe('the alert for a model that retires', () => {
  before(function () {
    programPath('promtool', this)
  })

  // promtool's first reading is at Unix time 0.
  for (const [day, alerts] of [
    ['1970-01-30', ['GatewayModelRetires']],
    ['1970-02-02', []],
  ] as const)
    it(`${alerts.length > 0 ? 'fires' : 'is silent'} on 1970-01-01 for ${day}`, async () => {
      await using gateway = await startGateway({ clock: () => Math.floor(performance.now()) })
      const pricing = { input_per_million_tokens: '1', output_per_million_tokens: '1' }
      const catalog = { 'openai/old': { pricing, deactivated_at: day } }
      await gateway.reload({ catalog, aliases: { house: 'openai/old' } })
      const read = async () => (await gateway.fetch('/metrics', { key: null })).text()
      await until('the model is in the metric', async () =>
        (await read()).includes('gateway_model_retirement_timestamp_seconds{'),
      )
      const page = await read()
      await expectFiring([page, page, page], alerts)
    })
})
