import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import {
  changesAsMarkdown,
  contractAt,
  contractChanges,
  releasedContract,
  unnamedChanges,
} from '../../scripts/contract-changes.ts'

import { pairs } from './change-pairs.ts'
import { contract, member, text, words } from './contract-parts.ts'

const textOf = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

/** The same contract, its member's schema moved to the components. */
const moved = (schema: object) => {
  const whole = contract({ answer: member({ $ref: '#/components/schemas/M' }) })
  return { ...whole, components: { schemas: { ...whole.components.schemas, M: schema } } }
}

describe('changes of the contract', () => {
  for (const [name, older, newer, breaking, other] of pairs)
    it(name, () => {
      const changes = contractChanges(contract(older), contract(newer))
      const said = (yes: boolean) =>
        changes.filter((one) => one.breaking === yes).map((one) => `${one.place}: ${one.text}`)
      expect([said(true), said(false)]).to.deep.equal([breaking, other])
    })

  it('a scalar moved to the components is no change, one widened there is', () => {
    const older = contract({ answer: member(words('a')) })
    expect(contractChanges(older, moved(words('a')))).to.deep.equal([])
    expect(
      contractChanges(older, moved(words('a', 'b'))).map(({ text: said }) => said),
    ).to.deep.equal(['new value "b"'])
  })

  it('an object that got a name, lost it or was renamed is no change, one that lacks a member there is', () => {
    const object = { type: 'object', ...member(text, ['m']), additionalProperties: false }
    const inline = contract({ answer: member(object) })
    const named = moved(object)
    // The cast is safe, since only a name is replaced.
    const renamed = JSON.parse(
      JSON.stringify(named).replaceAll('/M"', '/N"').replace('"M":', '"N":'),
    ) as typeof named
    for (const [older, newer] of [
      [inline, named],
      [named, inline],
      [named, renamed],
    ] as const)
      expect(contractChanges(older, newer)).to.deep.equal([])
    const used = (name: string) => {
      const reference = { $ref: `#/components/schemas/${name}` }
      const whole = contract({ answer: { properties: { a: reference, b: reference } } })
      return { ...whole, components: { schemas: { ...whole.components.schemas, [name]: object } } }
    }
    expect(contractChanges(used('M'), used('N'))).to.deep.equal([])
    const less = { ...object, properties: {} }
    const lines = (older: object, newer: object) =>
      contractChanges(older as typeof inline, newer as typeof inline)
        .filter(({ breaking }) => breaking)
        .map(({ place, text: said }) => `${place}: ${said}`)
    expect(lines(inline, moved(less))).to.deep.equal(['B.m.m (answer): removed'])
    expect(lines(named, contract({ answer: member(less) }))).to.deep.equal([
      'M.m (answer): removed',
    ])
  })

  it('an unnamed breaking change and too small a version are refused', () => {
    const older = contract({ answer: member(text) })
    const line = '- `B.m (answer)`: removed'
    expect(unnamedChanges(older, contract(), '')).to.deep.equal([
      'info.version is 1.2.3; with these changes at least 2.0.0',
      `CHANGELOG.md lacks the line: ${line}`,
    ])
    const next = contract({ version: '2.0.0' })
    expect(
      unnamedChanges(older, next, changesAsMarkdown(contractChanges(older, next))),
    ).to.deep.equal([])
    expect(
      unnamedChanges(
        { ...older, info: { version: '0.1.0' } },
        contract({ version: '0.2.0' }),
        line,
      ),
    ).to.deep.equal([])
    expect(unnamedChanges(older, older, '')).to.deep.equal([])
  })

  it('the contract differs from the last release only as its version and the changelog say', () => {
    const last = releasedContract()
    const changelog = textOf('CHANGELOG.md')
    const now = contractAt('openapi.yaml')
    expect(
      last !== undefined,
      'a release keeps its contract: npm run contract-changes -- --release',
    ).to.equal(/^## \[\d/mu.test(changelog))
    if (last) expect(unnamedChanges(last, now, changelog)).to.deep.equal([])
  })
})
