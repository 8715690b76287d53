import { AssertionError, expect } from 'chai'

function shown(actual: unknown, expected: unknown): { actual: string; expected: string } {
  try {
    expect(actual).to.deep.equal(expected)
  } catch (error) {
    if (error instanceof AssertionError) return error as unknown as ReturnType<typeof shown>
    throw error
  }
  throw new Error('They are equal.')
}

describe('a failed assertion', () => {
  const rows = Array.from({ length: 2000 }, (_, index) => ({ id: `row ${index}`, at: 9n }))
  const deep = (levels: number): object => (levels === 0 ? { at: 9n } : { in: deep(levels - 1) })

  it('shows what differs in a large object, and some lines around', () => {
    const { actual, expected } = shown(
      rows,
      rows.map((row, index) => (index === 1500 ? { ...row, at: 8n } : row)),
    )
    expect(actual.split('\n')).to.have.length(7)
    expect(actual).to.contain("{ at: 9n, id: 'row 1500' }").and.contain('row 1503')
    expect(expected).to.contain("{ at: 8n, id: 'row 1500' }").and.not.contain('row 1504')
  })

  it('shows what differs in a deep object', () => {
    const { actual, expected } = shown(deep(30), deep(31))
    expect(actual).not.to.equal(expected)
    expect(actual).to.contain('at: 9n')
  })

  it('shows texts and numbers unchanged', () => {
    expect(shown('one', 'other')).to.include({ actual: 'one', expected: 'other' })
    expect(shown(1, 2)).to.include({ actual: 1, expected: 2 })
  })
})
