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
