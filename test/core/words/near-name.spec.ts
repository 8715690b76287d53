import { expect } from 'chai'
import fc from 'fast-check'
import { nearName } from '../../../src/core/words/near-name.ts'

const names = ['model', 'messages', 'max_tokens', 'temperature', 'top_p', 'stop', 'n', 'tools']

describe('the suggested name', () => {
  const rows: [given: string, meant: string | undefined][] = [
    ['temprature', 'temperature'],
    ['max_token', 'max_tokens'],
    ['maxTokens', 'max_tokens'],
    ['message', 'messages'],
    ['mesages', 'messages'],
    ['modle', 'model'],
    ['MODEL', 'model'],
    ['tool', 'tools'],
    ['top_k', undefined],
    ['min_p', undefined],
    ['m', undefined],
    ['metadata', undefined],
    ['', undefined],
  ]
  for (const [given, meant] of rows) {
    it(`for '${given}' is ${meant}`, () => expect(nearName(given, names)).to.equal(meant))
  }

  it('is the plural of a singular, and the reverse', () => {
    expect(nearName('alias', ['aliases', 'models'])).to.equal('aliases')
    expect(nearName('aliases', ['alias'])).to.equal('alias')
  })

  it('is the nearest one', () => {
    expect(nearName('gpt-5-mni', ['gpt-5-nano', 'gpt-5-mini'])).to.equal('gpt-5-mini')
  })

  it('is found despite one typing error in a name of four letters or more', () => {
    const name = fc.stringMatching(/^[a-z]{4,30}$/)
    fc.assert(
      fc.property(name, fc.nat(), (meant, chance) => {
        const at = chance % meant.length
        const slips = [
          meant.slice(0, at) + meant.slice(at + 1),
          `${meant.slice(0, at)}_${meant.slice(at)}`.replaceAll('_', '-'),
        ]
        for (const slip of slips) expect(nearName(slip, [meant])).to.equal(meant)
      }),
    )
  })

  it('is found fast for a text of any length', () => {
    expect(nearName('x'.repeat(1_000_000), names)).to.equal(undefined)
  })
})
