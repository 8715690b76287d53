import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { attribute, metricName } from '../../src/telemetry/open-telemetry/names.ts'
import { projectFolder } from '../support/folder.ts'
import { startGateway } from '../support/gateway.ts'

describe('the page on traces and metrics', () => {
  const page = readFileSync(join(projectFolder, 'docs/telemetry.md'), 'utf8')
  const tables = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .join('\n')
  const named = new Set([...tables.matchAll(/`((?:[a-z_]+\.)+[a-z_]+)`/g)].map(([, name]) => name!))
  const sent: ReadonlySet<string> = new Set([
    ...Object.values(attribute),
    ...Object.values(metricName),
  ])

  it('lists exactly the names that are sent', () => {
    expect([...sent].filter((name) => !named.has(name))).to.deep.equal([])
    expect([...named].filter((name) => !sent.has(name))).to.deep.equal([])
  })

  it('lists exactly the metrics that are served, those of Redis included', async () => {
    await using gateway = await startGateway()
    const text = await (await gateway.fetch('/metrics', { key: null })).text()
    const served = [...text.matchAll(/^# TYPE (gateway_\w+)/gm)].map(([, name]) => name!)
    const rows = [...page.matchAll(/^\| `(gateway_\w+)` +\|.*\| (.*)\|$/gm)]
    const withRedis = rows.filter(([, , text]) => text!.startsWith('Only with `REDIS_URL`'))
    expect(withRedis.map(([, name]) => name)).to.deep.equal([
      'gateway_redis_up',
      'gateway_limits_fallback',
      'gateway_far_cache_total',
    ])
    const others = rows.filter((row) => !withRedis.includes(row)).map(([, name]) => name)
    expect(others).to.have.members(served)
  })
})
