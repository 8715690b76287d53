import { expect } from 'chai'
import fc from 'fast-check'
import { finishReasonsIn, finishReasonsOf } from '../../src/core/chat/finish-reasons.ts'
import { finishChunk, roleChunk, textChunk } from '../support/chat-answers.ts'

describe('the finish reason of a stream', () => {
  it('is found in its events with any whitespace', () => {
    const events = [roleChunk, textChunk('Hello'), finishChunk('length')].join('')
    expect(finishReasonsIn(Buffer.from(events))).to.deep.equal(['length'])
    const spaced = events.replaceAll('"finish_reason":', '"finish_reason": ')
    expect(finishReasonsIn(Buffer.from(spaced))).to.deep.equal(['length'])
  })

  it('is returned for each choice in order', () => {
    const events = finishChunk('stop') + finishChunk('tool_calls')
    expect(finishReasonsIn(Buffer.from(events))).to.deep.equal(['stop', 'tool_calls'])
  })

  it('is never taken from text of the model', () => {
    const said = fc.constantFrom(
      '"finish_reason":"stop"',
      '\\"finish_reason\\":"stop"',
      'text',
      '"',
    )
    fc.assert(
      fc.property(fc.array(said), (texts) => {
        const events = texts.map((text) => textChunk(text)).join('') + roleChunk
        expect(finishReasonsIn(Buffer.from(events))).to.deep.equal([])
      }),
    )
  })

  it("is omitted when it is a vendor's own value", () => {
    expect(finishReasonsIn(Buffer.from(finishChunk('what the answer says')))).to.deep.equal([])
    const choice = { index: 0, message: { role: 'assistant', content: '' } }
    const choices = [
      { ...choice, finish_reason: 'eos' },
      { ...choice, finish_reason: 'stop' },
    ]
    expect(finishReasonsOf({ choices } as Parameters<typeof finishReasonsOf>[0])).to.deep.equal([
      'stop',
    ])
  })
})
