import { readFileSync } from 'node:fs'
import { parser } from '@prometheus-io/lezer-promql'
import { expect } from 'chai'
import { parse } from 'yaml'
import { projectFolder } from '../folder.ts'

type Rule = { alert: string; expr: string; annotations: { summary: string } }
type Panel = {
  title: string
  gridPos: { x: number; y: number }
  targets: { expr: string; legendFormat: string }[]
}
/** An alert or a panel, and its PromQL expression. */
type Query = readonly [name: string, query: string]

export const alertsFile = `${projectFolder}/deploy/monitoring/alerts.yaml`
const dashboardFile = `${projectFolder}/deploy/monitoring/grafana-dashboard.json`

type Alerts = { groups: { name: string; rules: Rule[] }[] }
const { groups } = parse(readFileSync(alertsFile, 'utf8')) as Alerts
const needsRedis = ({ name }: { name: string }) => name.endsWith('-redis')
export const rules = groups.flatMap((group) => group.rules)
export const { panels } = JSON.parse(readFileSync(dashboardFile, 'utf8')) as { panels: Panel[] }

const ofRules = (some: readonly Rule[]) => some.map(({ alert, expr }): Query => [alert, expr])
/** The alerts of gateways with Redis. */
export const redisQueries = ofRules(groups.filter(needsRedis).flatMap((group) => group.rules))
/** All other alerts, and the panels. */
export const queries = [
  ...ofRules(groups.filter((group) => !needsRedis(group)).flatMap((group) => group.rules)),
  ...panels.flatMap(({ title, targets }) =>
    // Grafana replaces this variable before Prometheus reads the query.
    targets.map(({ expr }): Query => [title, expr.replaceAll('$__rate_interval', '5m')]),
  ),
]

/** The source text of the nodes of a type in a PromQL expression. */
export function nodes(query: string, type: string): string[] {
  const found: string[] = []
  parser.parse(query).iterate({
    enter: ({ type: { name }, from, to }) => {
      if (name === type) found.push(query.slice(from, to))
    },
  })
  return found
}

/** Checks that the metrics and labels of queries are on a page of metrics; `more` are names from elsewhere. */
export function expectServed(page: string, some: readonly Query[], more: readonly string[]): void {
  const served = page.matchAll(/^# TYPE (\w+)/gm).map(([, name]) => name)
  const labels = page.matchAll(/[{,](\w+)="/g).map(([, name]) => name)
  const known = new Set([...served, ...labels, ...more])
  for (const [name, query] of some) {
    const metrics = nodes(query, 'VectorSelector').map((one) => /^\w+/.exec(one)![0])
    expect(metrics, name).not.to.be.empty
    for (const metric of metrics)
      expect(known, name).to.include(metric.replace(/_(?:bucket|count|sum)$/, ''))
    const used = [...nodes(query, 'LabelName'), ...nodes(query, 'GroupingLabels')]
    for (const label of used.flatMap((one) => one.match(/\w+/g) ?? []))
      expect(known, `${name}: ${label}`).to.include(label)
  }
}
