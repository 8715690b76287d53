import { expect } from 'chai'
import type OpenAI from 'openai'
import { codex, olderCodex } from '../support/codex-requests.ts'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { openAiClient } from '../support/openai-client.ts'
import { openAiDouble } from '../support/openai-upstream.ts'
import { pixel } from '../support/pixel.ts'
import { checkResponseEvents } from '../support/response-events.ts'
import type { Spoken } from '../support/spoken.ts'

type Input = OpenAI.Responses.ResponseInputItem
type Body = Record<string, unknown>
type Item = Body & { type: string; encrypted_content?: string }

const weather = {
  type: 'function' as const,
  name: 'weather',
  strict: false,
  parameters: { type: 'object', properties: { town: { type: 'string' } } },
}
const question: Input = { role: 'user', content: 'How is it in Rome?' }
const call = { id: 'call_1', name: 'weather', args: { town: 'Rome' } }
const result: Input = { type: 'function_call_output', call_id: 'call_1', output: 'sunny' }
/** Models that think, each with an effort. */
const thinkers: Record<string, string> = {
  openai: 'gpt-6.2-sol',
  anthropic: 'claude-sonnet-4-5',
  google: 'gemini-3-flash-preview',
}

describe('conversations over /v1/responses', () => {
  let house: VendorGateway
  let client: OpenAI
  before(async () => {
    house = await startVendorGateway()
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())

  const post = (body: object, key = house.gateway.liveKey) =>
    house.gateway.post('/v1/responses', body, { key })
  const postStream = async (body: object) => {
    const response = await post({ ...body, stream: true })
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    return checkResponseEvents(text)
  }

  for (const { id, double } of chatVendors) {
    const model = thinkers[id]!
    describe(`with ${model}`, () => {
      let sent: Body
      const says = (spoken: Spoken) =>
        house.upstreams[id].answer(
          double((body) => {
            sent = body
            return spoken
          }),
        )

      for (const stream of [false, true]) {
        it(`carry reasoning to the next turn${stream ? ' of a stream' : ''}`, async () => {
          const asked = { model, tools: [weather], reasoning: { effort: 'high' as const } }
          says({ reasoning: ['I ', 'wonder.'], calls: [call], end: 'tool_calls' })
          const first = stream
            ? ((await postStream({ ...asked, input: [question] })).response.output as Item[])
            : (((await (await post({ ...asked, input: [question] })).json()) as Body)[
                'output'
              ] as Item[])
          expect(first.map(({ type }) => type)).to.deep.equal(['reasoning', 'function_call'])
          says({ text: ['Sunny.'] })
          const input = [question, ...(first as unknown as Input[]), result]
          const answer = await client.responses.create({ ...asked, input })
          expect(answer.output_text).to.equal('Sunny.')
          expect(answer).not.to.have.property('warnings')
          const thoughts = JSON.stringify(sent)
          expect(thoughts).to.match(/gAAAA-rs_|"signature"|thoughtSignature":"(?!skip)/)
        })
      }

      it('drop reasoning that another account, gateway or vendor wrote', async () => {
        says({ reasoning: ['secret'], calls: [call], end: 'tool_calls' })
        const reasoning = { effort: 'high' as const }
        const asked = { model, tools: [weather], reasoning, input: [question] }
        const stranger = await house.gateway.createKey('live', {
          accountId: await house.gateway.createAccount(),
        })
        const foreign = (await (await post(asked, stranger)).json()) as { output: Item[] }
        const [thought] = foreign.output
        const made = { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' }
        const sealed = thought!.encrypted_content!
        expect(sealed).to.be.a('string')
        for (const encrypted_content of [sealed, 'gAAAAB-of-openai', `${sealed}x`, 'gw1..', '']) {
          says({ text: ['Sunny.'] })
          const item = { type: 'reasoning', summary: [], encrypted_content }
          const response = await post({ ...asked, input: [question, item, made, result] })
          const { warnings, status } = (await response.json()) as Body
          expect(response.status).to.equal(200)
          expect(status).to.equal('completed')
          expect(warnings).to.deep.include({
            param: 'input[1].encrypted_content',
            requested: 'reasoning',
            applied: null,
            reason: 'The gateway did not write this reasoning for this account.',
          })
          expect(JSON.stringify(sent)).not.to.match(/gAAAA|"signature"|thoughtSignature":"(?!skip)/)
        }
      })

      it('take the requests of Codex', async () => {
        says({ calls: [{ id: 'call_1', name: 'functions__wait', args: {} }], end: 'tool_calls' })
        const { response } = await postStream(codex(model))
        const made = response.output.at(-1)!
        expect(made).to.include({ type: 'function_call', name: 'wait', namespace: 'functions' })
        const second = {
          ...codex(model),
          input: [
            ...codex(model).input,
            ...response.output,
            { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'waited' },
          ],
        }
        says({ text: ['Two boats.'] })
        const last = (await postStream(second)).response.output.at(-1)!
        expect(last).to.deep.include({ type: 'message', status: 'completed' })
        says({ calls: [{ id: 'call_1', name: 'functions__run', args: {} }], end: 'tool_calls' })
        const older = (await postStream(olderCodex(model))).response.output.at(-1)!
        expect(older).to.include({ type: 'function_call', name: 'run', namespace: 'functions' })
      })

      if (id !== 'openai') {
        it('give a custom tool back as one, though the vendor has functions only', async () => {
          const args = { input: 'ls "a b"\n' }
          says({ calls: [{ id: 'call_1', name: 'functions__run', args }], end: 'tool_calls' })
          const { types, response } = await postStream(codex(model))
          expect(types).to.include('response.custom_tool_call_input.delta')
          const made = response.output.at(-1)!
          expect(made).to.include({
            type: 'custom_tool_call',
            name: 'run',
            namespace: 'functions',
            input: args.input,
          })
          expect(JSON.stringify(sent)).to.contain('start: LINE+')
          says({ text: ['Two boats.'] })
          const output = [{ type: 'input_text', text: 'a b' }]
          await postStream({
            ...codex(model),
            input: [
              ...codex(model).input,
              ...response.output,
              { type: 'custom_tool_call_output', id: 'ctco_9', call_id: 'call_1', output },
            ],
          })
          expect(JSON.stringify(sent)).to.contain('ls \\"a b\\"')
        })
      }

      it('show pictures of tool results in a user message', async () => {
        const call = { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' }
        const output = [
          { type: 'input_text', text: 'a map' },
          { type: 'input_image', image_url: pixel },
        ]
        says({ text: ['Nice.'] })
        const seen = { type: 'function_call_output', call_id: 'call_1', output }
        const response = await post({ model, tools: [weather], input: [question, call, seen] })
        expect(response.status).to.equal(200)
        expect(JSON.stringify(sent)).to.contain(pixel.split(',')[1]).and.contain('a map')
      })
    })
  }

  it('send custom tools of OpenAI’s models as they are', async () => {
    let sent: Body = {}
    house.upstreams.openai.answer(
      openAiDouble((body) => {
        sent = body
        return { text: ['Done.'] }
      }),
    )
    await postStream(codex('gpt-4.1'))
    const { tools } = sent as { tools: Body[] }
    const grammar = { syntax: 'lark', definition: 'start: LINE+' }
    expect(tools[0]).to.deep.equal({
      type: 'custom',
      custom: {
        name: 'functions__run',
        description: 'Runs a script.',
        format: { type: 'grammar', grammar },
      },
    })
  })

  it('are kept alive by an event that clients count', async () => {
    const quick = await startVendorGateway({ limits: { ping_interval_ms: 100 } })
    const more = Promise.withResolvers<void>()
    const full = openAiDouble(() => ({ text: ['one ', 'two'] }))
    quick.upstreams.openai.answer((request) => {
      const [first, ...rest] = [...(full(request).pieces as string[])]
      async function* pieces(): AsyncGenerator<string> {
        yield first!
        await more.promise
        yield* rest
      }
      return { pieces: pieces() }
    })
    const body = { model: 'gpt-4.1', input: 'Count.', stream: true }
    const { liveKey: key } = quick.gateway
    const { body: events } = await quick.gateway.post('/v1/responses', body, { key })
    let text = ''
    for await (const piece of events!) {
      text += Buffer.from(piece).toString()
      if (text.includes('event: keepalive')) more.resolve()
    }
    const { types, response } = checkResponseEvents(text)
    expect(types).to.include('keepalive')
    expect(response.status).to.equal('completed')
    await quick.stop()
  })

  it('report fields that the gateway does not know', async () => {
    house.upstreams.openai.answer(openAiDouble(() => ({ text: ['Hi.'] })))
    const body = { model: 'gpt-4.1', input: 'Hello', sparkle: 7 }
    const { warnings } = (await (await post(body)).json()) as { warnings: { param: string }[] }
    expect(warnings.map(({ param }) => param)).to.deep.equal(['sparkle'])
  })
})
