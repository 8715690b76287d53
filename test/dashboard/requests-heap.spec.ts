import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { components } from '../../generated/types.ts'
import { useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'

type Record = components['schemas']['RequestRecord']

const pageRows = 50
const polls = 200
const warmUpPolls = 20
const pollMs = 5000
const growthMiBMax = 1

describe('the list of requests', () => {
  const dashboard = useDashboard()

  it('uses no more memory after ten thousand rows', async function () {
    const { gateway, owner } = dashboard
    const answer = await gateway.post('/v1/chat/completions', {
      model: 'gpt-5-mini',
      messages: [{ role: 'user', content: 'A lighthouse' }],
    })
    const path = `/api/requests/${answer.headers.get('x-request-id')}`
    const response = await gateway.fetch(path, { key: null, ...owner })
    const record = (await response.json()) as Record
    let asked = 0
    const page = await dashboard.open('/overview')
    await page.route('**/api/requests?*', async (route) => {
      const data = newRows(record, asked++)
      await route.fulfill({ json: { object: 'list', data, has_more: true, next_cursor: 'more' } })
    })
    await page.getByRole('link', { name: 'Requests', exact: true }).click()
    const seen = async (count: number) => {
      for (let polled = asked; polled < count; polled++) {
        const poll = page.waitForResponse('**/api/requests?*')
        await page.clock.runFor(pollMs)
        await poll
      }
      await page
        .getByText(nameOf(asked - 1))
        .first()
        .waitFor()
      return measured(page)
    }
    const before = await seen(warmUpPolls)
    let after = await seen(polls)
    // The browser may still hold the rows of the last page: those of a leak stay.
    for (let more = 0; more < 5 && after.nodes >= before.nodes * 1.2; more++) {
      after = await seen(asked + 1)
    }
    const grownMiB = (after.heapBytes - before.heapBytes) / 2 ** 20
    console.log(
      `      ${polls * pageRows} rows: heap ${(after.heapBytes / 2 ** 20).toFixed(1)} MiB, ` +
        `${grownMiB.toFixed(2)} MiB more than after ${warmUpPolls * pageRows}; ${after.nodes} nodes`,
    )
    expect(grownMiB).to.be.below(growthMiBMax)
    expect(after.nodes).to.be.below(before.nodes * 1.2)
  })
})

const nameOf = (poll: number) => `model-${poll}`

/** A page of rows with new ids. */
function newRows(record: Record, poll: number): Record[] {
  return Array.from({ length: pageRows }, (_, index) => ({
    ...record,
    id: `req_${String(poll).padStart(16, '0')}${String(index).padStart(16, '0')}`,
    at: new Date(suiteClock()).toISOString(),
    model: nameOf(poll),
  }))
}

/** Heap size and node count after a garbage collection. */
async function measured(page: Page): Promise<{ heapBytes: number; nodes: number }> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  await session.detach()
  const of = (name: string) => metrics.find((one) => one.name === name)!.value
  return { heapBytes: of('JSHeapUsedSize'), nodes: of('Nodes') }
}
