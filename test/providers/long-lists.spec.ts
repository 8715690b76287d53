import { expect } from 'chai'
import type { Target } from '../../src/core/model.ts'
import { writeMessages } from '../../src/providers/anthropic/messages.ts'
import { writeContents } from '../../src/providers/google/contents.ts'
import type { Notes } from '../../src/providers/wire/fields.ts'

/** More than the maximum number of function arguments. */
const count = 200_000
const content = Array.from({ length: count }, () => ({ type: 'text' as const, text: 'a' }))
const messages: Parameters<typeof writeContents>[0] = [
  { role: 'user', content: 'a' },
  { role: 'user', content },
]
// The members of a target that the writers read for text conversations.
const target = { model: { row: {} }, provider: { id: 'any' }, upstreamModel: 'any' } as Target

describe('a message of very many parts after a message of the same role', () => {
  const notes = (): Notes => ({ problems: [], warnings: [] })

  it('is one turn for Gemini', () => {
    const { contents } = writeContents(messages, target, notes())
    expect(contents.map(({ parts }) => parts?.length)).to.deep.equal([count + 1])
  })

  it('is one turn for Anthropic', () => {
    const { messages: turns } = writeMessages(messages, target, notes())
    expect(turns.map((turn) => turn.content.length)).to.deep.equal([count + 1])
  })
})
