import { expect } from 'chai'
import type OpenAI from 'openai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { pixel } from '../support/pixel.ts'

type Completion = OpenAI.Chat.ChatCompletion
type Message = Completion['choices'][number]['message'] & { reasoning_content?: string }

describe('a conversation with the sandbox', () => {
  const now = Date.parse('2026-11-22T10:00:00Z')
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    gateway = await startGateway({ clock: () => now })
    client = openAiClient(gateway)
  })
  after(() => gateway.stop())
  const post = (prompt: unknown, more: object = {}) =>
    gateway.post('/v1/chat/completions', {
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: prompt }],
      ...more,
    })
  const ask = async (prompt: unknown, more: object = {}) => {
    const response = await post(prompt, more)
    const body = (await response.json()) as Completion & { warnings?: { param: string }[] }
    expect(response.status, JSON.stringify(body)).to.equal(200)
    const choice = body.choices[0]!
    return { ...body, choice, message: choice.message as Message }
  }

  describe('as the model that it simulates', () => {
    it('has its context window for the messages and the output limit', async () => {
      // gpt-4o-mini has a context of 128000 tokens, which this prompt nearly fills.
      const long = 'word '.repeat(127_990)
      const { usage } = await ask(long)
      expect(usage!.prompt_tokens).to.be.within(127_990, 128_000)
      const response = await post(long, { max_tokens: 100 })
      const code = 'context_length_exceeded'
      const { message } = await expectError(response, { status: 400, code, param: 'messages' })
      expect(message).to.include('maximum context length is 128000 tokens')
    })

    it('reasons where the model does, within max_completion_tokens', async () => {
      const { usage, choice, message } = await ask('hello', {
        model: 'gpt-5-mini',
        max_completion_tokens: 5,
      })
      expect(usage!.completion_tokens).to.equal(5)
      expect(usage!.completion_tokens_details!.reasoning_tokens).to.equal(5)
      expect(choice.finish_reason).to.equal('length')
      expect(message).to.include({ content: '' }).and.to.not.have.property('reasoning_content')
    })

    it('reasons more at a higher effort, and not at none', async () => {
      const reasoned = async (effort: string) => {
        const { usage } = await ask('hello', { model: 'gpt-5.2', reasoning_effort: effort })
        return usage!.completion_tokens_details?.reasoning_tokens ?? 0
      }
      expect(await reasoned('none')).to.equal(0)
      expect(await reasoned('low')).to.be.greaterThan(0)
      expect(await reasoned('high')).to.be.greaterThan(await reasoned('medium'))
    })

    it('shows its reasoning when the vendor does', async () => {
      const shown = await ask('hello', { model: 'deepseek/deepseek-v4-pro' })
      expect(shown.message.reasoning_content).to.be.a('string').that.is.not.empty
      const model = 'claude-sonnet-4-6'
      const unasked = await ask('hello', { model })
      expect(unasked.message).to.not.have.property('reasoning_content')
      const asked = await ask('hello', { model, reasoning_effort: 'low' })
      expect(asked.message.reasoning_content).to.be.a('string').that.is.not.empty
    })

    it('returns logprobs when the model does', async () => {
      const { choice, message } = await ask('hello', { logprobs: true, top_logprobs: 3 })
      const odds = choice.logprobs!.content!
      expect(odds.map(({ token }) => token).join('')).to.equal(message.content)
      for (const { token, logprob, bytes, top_logprobs: top } of odds) {
        expect(Buffer.from(bytes!).toString()).to.equal(token)
        expect(top.map((one) => one.logprob)).to.deep.equal(
          top.map((one) => one.logprob).toSorted((a, b) => b - a),
        )
        expect(top).to.have.length(3)
        expect(top[0]).to.deep.include({ token, logprob })
        expect(logprob).to.be.at.most(0)
      }
      const other = await ask('hello', { model: 'gpt-5-mini', logprobs: true })
      expect(other.choice.logprobs).to.equal(null)
      expect(other.warnings!.map(({ param }) => param)).to.deep.equal(['logprobs'])
    })

    it('accepts top_logprobs only with logprobs', async () => {
      const param = 'top_logprobs'
      const code = 'invalid_value'
      await expectError(await post('hello', { top_logprobs: 2 }), { status: 400, code, param })
    })

    it('counts the tokens of pictures', async () => {
      const seen = async (detail: string) => {
        const { usage } = await ask([{ type: 'image_url', image_url: { url: pixel, detail } }])
        return usage!.prompt_tokens
      }
      expect(await seen('low')).to.equal(85)
      expect(await seen('high')).to.equal(85 + 170)
    })

    it('gives its answers a date and an id', async () => {
      const one = await ask('hello')
      expect(one.created).to.equal(now / 1000)
      expect(one.id).to.match(/^chatcmpl-[0-9a-f]{24}$/)
      expect(one.id).to.not.equal((await ask('hello there')).id)
    })

    it('gives the same answer to the same question', async () => {
      const headers = { 'cache-control': 'no-store' }
      const text = async () =>
        (
          await client.chat.completions.create(
            {
              model: 'gpt-4o-mini',
              messages: [{ role: 'user', content: 'fox' }],
            },
            { headers },
          )
        ).choices
      expect(await text()).to.deep.equal(await text())
    })
  })

  describe('with a scenario for the end', () => {
    for (const [word, reason] of [
      ['length', 'length'],
      ['content-filter', 'content_filter'],
      ['no-answer', 'stop'],
      ['refusal', 'stop'],
    ] as const) {
      it(`sandbox:${word} ends with ${reason}, also as a stream`, async () => {
        const { choice, message } = await ask(`sandbox:${word}`)
        const runner = client.chat.completions.stream({
          model: 'gpt-4o-mini',
          messages: [{ role: 'user', content: `sandbox:${word}` }],
        })
        // Reads the events one by one, because the client's helper throws for some finish reasons.
        for await (const _ of runner) continue
        const [streamed] = runner.currentChatCompletionSnapshot?.choices ?? []
        expect(choice.finish_reason).to.equal(reason)
        if (streamed !== undefined) expect(streamed.finish_reason).to.equal(reason)
        if (word === 'refusal') expect(message).to.include({ content: null })
        if (word === 'refusal') expect(message.refusal).to.be.a('string').that.is.not.empty
        if (word === 'no-answer') expect(message.content).to.equal('')
      })
    }

    it('sandbox:slow-stream waits before each event', async () => {
      const startedAt = performance.now()
      await (await post('sandbox:slow-stream=10', { stream: true, max_tokens: 5 })).text()
      expect(performance.now() - startedAt).to.be.at.least(75)
    })

    it('sandbox:context-length refuses the conversation as too long', async () => {
      const code = 'context_length_exceeded'
      await expectError(await post('sandbox:context-length'), { status: 400, code })
    })
  })
})
