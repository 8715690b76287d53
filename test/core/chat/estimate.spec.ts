import { expect } from 'chai'
import fc from 'fast-check'
import type { ChatRequest } from '../../../src/core/chat/chat.ts'
import {
  conversationText,
  estimateStream,
  estimateTokens,
  tokenDemand,
} from '../../../src/core/chat/estimate.ts'
import { messageText } from '../../../src/core/chat/prompt.ts'

const conversation = (...contents: unknown[]) =>
  ({ model: 'm', messages: contents.map((content) => ({ role: 'user', content })) }) as ChatRequest
const event = (chunk: unknown) => Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)
const said = (delta: object) => event({ choices: [{ index: 0, delta }] })

describe('estimated token counts', () => {
  for (const { characters, tokens } of [
    { characters: 0, tokens: 0 },
    { characters: 1, tokens: 1 },
    { characters: 4, tokens: 1 },
    { characters: 5, tokens: 2 },
  ]) {
    it(`are ${tokens} for ${characters} characters, and marked as estimated`, () => {
      const text = 'x'.repeat(characters)
      const usage = { inputTokens: tokens, outputTokens: tokens, images: 0, estimated: true }
      expect(estimateTokens(text, text)).to.deep.equal(usage)
    })
  }

  it('of a conversation include its texts, not its pictures', () => {
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
    const text = conversationText(
      conversation('one', [{ type: 'text', text: 'two' }, picture], null),
    )
    expect(text.replaceAll(/\s+/g, ' ').trim()).to.equal('one two')
  })

  it('of a conversation count a picture as one, whatever other members it has', () => {
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
    const named = conversation([{ ...picture, text: 'a caption' }])
    expect(tokenDemand(named)).to.deep.equal(tokenDemand(conversation([picture])))
    expect(messageText(named.messages[0]!)).to.equal('')
  })

  it('of a stream count each text once, whatever members the vendor adds', () => {
    const events = event({ choices: [{ index: 0, delta: { content: '12345678' } }], delta: '1234' })
    expect(estimateStream(conversation('hello'), events).outputTokens).to.equal(2)
  })

  it('of a stream include all delivered text', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (words) => {
        const stream = Buffer.concat(words.map((content) => said({ content })))
        const { outputTokens } = estimateStream(conversation('hello'), stream)
        expect(outputTokens).to.equal(Math.ceil(words.join('').length / 4))
      }),
    )
  })

  it('of a stream include reasoning, and ignore events without a delta', () => {
    const events = Buffer.concat([
      Buffer.from(': ping\n\n'),
      said({ role: 'assistant', content: null }),
      said({ reasoning_content: '12345678' }),
      said({ content: '1234' }),
      Buffer.from('data: {"broken\n\n'),
      event({ choices: [] }),
      Buffer.from('data: [DONE]\n\n'),
    ])
    const { inputTokens, outputTokens } = estimateStream(conversation('12345678'), events)
    expect({ inputTokens, outputTokens }).to.deep.equal({ inputTokens: 2, outputTokens: 3 })
  })
})
