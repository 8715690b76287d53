import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { makeFolder } from '../folder.ts'
import { programPath } from '../program-path.ts'
import { alertsFile } from './monitoring-files.ts'

const run = promisify(execFile)
/** The time between two readings, as Prometheus sees it. */
const intervalSeconds = 30
const ofPrometheus = 'job="model-access-gateway",instance="gateway.example:8080"'

/**
 * Checks with `promtool test rules` that exactly these alerts fire at the last reading. Each reading is a page of
 * metrics, `away` if the gateway did not answer, or `unknown` if Prometheus had no gateway to ask. Rejects with what
 * promtool found.
 */
export async function expectFiring(
  readings: readonly string[],
  alerts: readonly string[],
): Promise<void> {
  const folder = makeFolder()
  const file = join(folder.path, 'test.yaml')
  const interval = `${intervalSeconds}s`
  const firing = {
    expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
    eval_time: `${(readings.length - 1) * intervalSeconds}s`,
    exp_samples: alerts.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
  }
  const test = { interval, input_series: seriesOf(readings), promql_expr_test: [firing] }
  const content = { rule_files: [alertsFile], evaluation_interval: interval, tests: [test] }
  writeFileSync(file, stringify(content))
  try {
    await run(programPath('promtool'), ['test', 'rules', file])
  } catch (error) {
    throw new Error(`${(error as { stdout: string }).stdout}${String(error)}`, { cause: error })
  } finally {
    folder.remove()
  }
}

/** The values of each series in all readings, in promtool's notation. */
function seriesOf(readings: readonly string[]) {
  const values = new Map<string, string[]>()
  const put = (series: string, at: number, value: string) => {
    const known = values.get(series) ?? Array.from({ length: readings.length }, () => '_')
    known[at] = value
    values.set(series, known)
  }
  for (const [at, page] of readings.entries()) {
    if (page !== 'unknown') put(`up{${ofPrometheus}}`, at, page === 'away' ? '0' : '1')
    const lines = page.matchAll(/^(gateway_\w+)(?:\{(.*)\})? (\S+)$/gm)
    for (const [, name, labels = '', value] of lines)
      put(`${name}{${ofPrometheus}${labels && `,${labels}`}}`, at, value!)
  }
  return [...values].map(([series, all]) => ({ series, values: all.join(' ') }))
}
