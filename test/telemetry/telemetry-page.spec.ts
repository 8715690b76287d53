import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { attribute, metricName } from '../../src/telemetry/open-telemetry/names.ts'
import { projectFolder } from '../support/folder.ts'

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
})
