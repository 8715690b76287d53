import { parser } from '@prometheus-io/lezer-promql'
import { expect } from 'chai'
import {
  expectServed,
  nodes,
  panels,
  queries,
  redisQueries,
  rules,
} from '../support/deploy/monitoring-files.ts'
import { startGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'

describe('the alerts and the Grafana dashboard', () => {
  it('are valid PromQL', () => {
    expect(queries.length).to.be.above(25)
    for (const [name, query] of [...queries, ...redisQueries]) {
      const errors: string[] = []
      parser.parse(query).iterate({
        enter: ({ type, from }) => void (type.isError && errors.push(query.slice(from, from + 30))),
      })
      expect(errors, name).to.deep.equal([])
    }
    expect(nodes('sum by (le', '⚠')).not.to.be.empty
    expect(nodes('up{job="a"}', 'LabelName')).to.deep.equal(['job'])
  })

  it('use only metrics and labels that a gateway without Redis serves', async () => {
    await using gateway = await startGateway()
    const body = { model: 'gpt-5-mini', messages: hello }
    await gateway.post('/v1/chat/completions', body)
    await (await gateway.post('/v1/chat/completions', { ...body, stream: true })).arrayBuffer()
    const page = await (await gateway.fetch('/metrics', { key: null })).text()
    // `work` has no value before the first failure; the others come from Prometheus.
    expectServed(page, queries, ['work', 'up', 'job', 'instance'])
    expect(page).to.not.include('gateway_redis_up')
    expect(redisQueries.join()).to.include('gateway_redis_up')
  })

  it('name in each text only labels that their query has', () => {
    for (const { alert, expr, annotations } of rules) {
      const named = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label!)
      const grouping = nodes(expr, 'GroupingLabels').join(' ')
      // A query without an aggregation keeps the labels that Prometheus adds.
      const isWhole = grouping === '' && !/\b(?:sum|min|max)\(/.test(expr)
      for (const label of named.filter((one) => !(isWhole && one === 'instance')))
        expect(grouping, alert).to.match(new RegExp(`\\b${label}\\b`))
    }
  })

  it('have panels that do not overlap', () => {
    const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)
    expect(new Set(places).size).to.equal(panels.length)
  })
})
