import { readFileSync } from 'node:fs'
import { parser } from '@prometheus-io/lezer-promql'
import { expect } from 'chai'
import { parse } from 'yaml'
import { startGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'

type Alerts = {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[]
}
type Dashboard = {
  panels: {
    title: string
    gridPos: { x: number; y: number }
    targets: { expr: string; legendFormat: string }[]
  }[]
}

const read = (name: string) =>
  readFileSync(new URL(`../../deploy/monitoring/${name}`, import.meta.url), 'utf8')
const rules = (parse(read('alerts.yaml')) as Alerts).groups.flatMap((group) => group.rules)
const { panels } = JSON.parse(read('grafana-dashboard.json')) as Dashboard

/** Grafana replaces this variable before Prometheus reads the query. */
const withInterval = (query: string) => query.replaceAll('$__rate_interval', '5m')
const queries = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => [title, withInterval(expr)] as const),
  ),
]

/** The source text of the nodes of a type in a PromQL expression. */
const nodes = (query: string, type: string): string[] => {
  const found: string[] = []
  parser.parse(query).iterate({
    enter: ({ type: { name }, from, to }) => {
      if (name === type) found.push(query.slice(from, to))
    },
  })
  return found
}

describe('the alerts and the Grafana dashboard', () => {
  it('are valid PromQL', () => {
    expect(queries.length).to.be.above(25)
    for (const [name, query] of queries) {
      const errors: string[] = []
      parser.parse(query).iterate({
        enter: ({ type, from }) => void (type.isError && errors.push(query.slice(from, from + 30))),
      })
      expect(errors, name).to.deep.equal([])
    }
    expect(nodes('sum by (le', '⚠')).not.to.be.empty
    expect(nodes('up{job="a"}', 'LabelName')).to.deep.equal(['job'])
  })

  it('use only metrics and labels that the gateway serves', async () => {
    const gateway = await startGateway()
    try {
      const body = { model: 'gpt-5-mini', messages: hello }
      await gateway.post('/v1/chat/completions', body)
      await (await gateway.post('/v1/chat/completions', { ...body, stream: true })).arrayBuffer()
      const text = await (await gateway.fetch('/metrics', { key: null })).text()
      const served = new Set(text.matchAll(/^# TYPE (\w+)/gm).map(([, name]) => name))
      const labels = new Set(text.matchAll(/[{,](\w+)="/g).map(([, name]) => name))
      // These have no value before their first event; `job` and `instance` come from Prometheus.
      const ofRedis = ['gateway_redis_up']
      const ofFailures = ['work']
      const ofPrometheus = ['up', 'job', 'instance']
      const known = new Set([...served, ...labels, ...ofRedis, ...ofFailures, ...ofPrometheus])
      for (const [name, query] of queries) {
        const metrics = nodes(query, 'VectorSelector').map((one) => /^\w+/.exec(one)![0])
        expect(metrics, name).not.to.be.empty
        for (const metric of metrics)
          expect(known, name).to.include(metric.replace(/_(?:bucket|count|sum)$/, ''))
        const used = [...nodes(query, 'LabelName'), ...nodes(query, 'GroupingLabels')]
        for (const label of used.flatMap((one) => one.match(/\w+/g) ?? []))
          expect(known, `${name}: ${label}`).to.include(label)
      }
    } finally {
      await gateway.stop()
    }
  })

  it('name in each text only labels that their query has', () => {
    for (const { alert, expr, annotations } of rules) {
      const named = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label!)
      for (const label of named.filter((one) => one !== 'instance'))
        expect(nodes(expr, 'GroupingLabels').join(' '), alert).to.match(
          new RegExp(`\\b${label}\\b`),
        )
    }
  })

  it('have panels that do not overlap', () => {
    const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)
    expect(new Set(places).size).to.equal(panels.length)
  })
})
