import { expect } from 'chai'
import type OpenAI from 'openai'
import { chatVendors } from '../support/chat-vendors.ts'
import {
  asksForImage,
  imageNanoUsd,
  startImageTool,
  type ImageToolHouse,
  type Script,
} from '../support/image-tool.ts'
import { lookAtUrl } from '../support/pictures.ts'
import { checkResponseEvents } from '../support/response-events.ts'

type Asked = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>
type Warned = { warnings?: { param: string }[] }
type Picture = OpenAI.Responses.ResponseOutputItem.ImageGenerationCall

const tool: OpenAI.Responses.Tool.ImageGeneration = { type: 'image_generation' }
const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  strict: false,
  parameters: { type: 'object', properties: { town: { type: 'string' } } },
}
/** Nano-dollars of 100 and 10 tokens, then of 200 and 20. */
const chatNanoUsd: Record<string, number> = {
  openai: 300 * 2000 + 30 * 8000,
  anthropic: 300 * 3000 + 30 * 15_000,
  google: 300 * 500 + 30 * 3000,
}
const ends = { text: ['There', ' it is.'], counts: { input: 200, output: 20 } }

describe('the tool image_generation of /v1/responses', () => {
  let house: ImageToolHouse
  before(async () => {
    house = await startImageTool()
  })
  beforeEach(() => house.images.reset())
  after(() => house.stop())

  const pictures = ({ output }: OpenAI.Responses.Response): Picture[] =>
    output.filter((item) => item.type === 'image_generation_call')
  const post = (body: object, key = house.gateway.liveKey) =>
    house.gateway.post('/v1/responses', body, { key })

  for (const { id, model } of chatVendors) {
    for (const stream of [false, true]) {
      describe(`${stream ? 'streamed' : 'whole'} with ${id}`, () => {
        const ask = async (asked: Asked, ...script: Script) => {
          if (stream) {
            house.says(...script)
            checkResponseEvents(await (await post({ ...asked, stream })).text())
            house.images.reset()
          }
          const sent = house.says(...script)
          const before = (await house.gateway.usage()).length
          const answer = stream
            ? await house.client.responses.stream(asked).finalResponse()
            : await house.client.responses.create(asked)
          const rows = (await house.gateway.usage()).slice(before)
          return { answer, sent, rows }
        }

        it('makes an image, and lets the model end with a text', async () => {
          const asked = { model, input: 'A boat, please.', tools: [tool] }
          const { answer, sent, rows } = await ask(asked, asksForImage(), ends)
          const [picture] = pictures(answer)
          await lookAtUrl(`data:image/jpeg;base64,${picture!.result}`)
          expect(picture).to.deep.include({
            status: 'completed',
            action: 'generate',
            revised_prompt: 'A blue boat',
            size: '1024x1024',
            output_format: 'jpeg',
          })
          expect(picture!.id).to.match(/^ig_/)
          expect(answer).to.include({ status: 'completed', output_text: 'There it is.' })
          expect(
            answer.output.map(({ type }) => type).filter((type) => type !== 'reasoning'),
          ).to.deep.equal(['image_generation_call', 'message'])
          expect(house.images.calls.map(({ body }) => body)).to.have.length(1)
          expect(JSON.stringify(sent[0])).to.contain('image_generation')
          expect(JSON.stringify(sent[1])).to.contain('shown to the user').and.contain('call_image')
          const nanoUsd = chatNanoUsd[id]! + imageNanoUsd
          expect(answer.usage).to.deep.include({ input_tokens: 300, output_tokens: 30 })
          expect(answer.usage).to.include({ total_tokens: 330, cost: nanoUsd / 1e9 })
          expect(answer.tool_usage!.web_search).to.deep.equal({ num_requests: 0 })
          expect(rows.map(({ modality }) => modality)).to.deep.equal(['chat', 'image', 'chat'])
          expect(rows.map(({ face }) => face)).to.deep.equal(Array(3).fill('responses'))
          expect(new Set(rows.map((row) => row.id)).size).to.equal(3)
          const sum = rows.reduce((all, row) => all + Number(row.cost_nano_usd), 0)
          expect(sum).to.equal(nanoUsd)
        })

        it('edits the image of the stored conversation', async () => {
          house.says(asksForImage(), ends)
          const first = await house.client.responses.create({
            model,
            input: 'A boat.',
            tools: [tool],
          })
          const { answer, sent } = await ask(
            { model, input: 'Bluer!', tools: [tool], previous_response_id: first.id },
            asksForImage({ prompt: 'Bluer', action: 'edit' }),
            ends,
          )
          const made = pictures(first)[0]!.result!
          expect(JSON.stringify(sent[0])).to.contain(made)
          expect(house.images.calls.at(-1)!.path).to.equal('/images/edits')
          expect(JSON.stringify(house.images.calls.at(-1)!.body)).to.contain(made)
          expect(pictures(answer)[0]).to.include({ action: 'edit', status: 'completed' })
        })

        it('ends with the calls of the caller’s tools', async () => {
          const called = asksForImage()
          const calls = [...called.calls!, { id: 'call_w', name: 'weather', args: { town: 'Ulm' } }]
          const asked = { model, input: 'A boat in the weather of Ulm.', tools: [weather, tool] }
          const { answer, rows } = await ask(asked, { ...called, calls })
          const types = answer.output.map(({ type }) => type).filter((type) => type !== 'reasoning')
          expect(types).to.deep.equal(['image_generation_call', 'function_call'])
          expect(rows).to.have.length(2)
          const output = {
            type: 'function_call_output' as const,
            call_id: 'call_w',
            output: 'Rain',
          }
          const sent = house.says(ends)
          const next = await house.client.responses.create({
            ...asked,
            input: [
              { role: 'user', content: asked.input },
              ...(answer.output as OpenAI.Responses.ResponseInputItem[]),
              output,
            ],
          })
          expect(next.output_text).to.equal('There it is.')
          expect(JSON.stringify(sent[0])).to.contain('Rain')
        })

        it('tells the model that no image was made', async () => {
          house.images.play({ status: 500 }, ...(stream ? [{ status: 500 }] : []))
          const asked = { model, input: 'A boat, please.', tools: [tool] }
          house.says(asksForImage(), ends)
          if (stream) checkResponseEvents(await (await post({ ...asked, stream })).text())
          house.images.reset()
          house.images.play({ status: 500 })
          const sent = house.says(asksForImage(), ends)
          const answer = await house.client.responses.create(asked)
          expect(pictures(answer)[0]).to.include({ status: 'failed', result: '' })
          expect(pictures(answer)[0]!.error).to.include({ type: 'upstream_error', param: null })
          expect(answer.output_text).to.equal('There it is.')
          expect(JSON.stringify(sent[1])).to.contain('could not be made')
        })

        it('is bounded when the model calls the tool without end', async () => {
          const asked = { model, input: 'Boats.', tools: [tool], max_tool_calls: 2 }
          const { answer, sent } = await ask(asked, asksForImage())
          expect(pictures(answer)).to.have.length(2)
          expect(answer).to.include({ status: 'completed', max_tool_calls: 2 })
          expect(sent).to.have.length(3)
          expect(JSON.stringify(sent[2])).to.match(/"none"|"NONE"/)
        })

        it('can be forced, once', async () => {
          const asked: Asked = {
            model,
            input: 'A boat.',
            tools: [tool, weather],
            tool_choice: tool,
          }
          const { answer, sent } = await ask(asked, asksForImage(), ends)
          expect(pictures(answer)).to.have.length(1)
          expect(JSON.stringify(sent[0])).to.match(/"tool_choice"|"allowedFunctionNames"/)
          expect(JSON.stringify(sent[1])).not.to.match(/"tool_choice"|"allowedFunctionNames"/)
        })
      })
    }
  }

  /** Models that think, each with reasoning that its vendor needs again. */
  const thinkers = ['gpt-6.2-sol', 'claude-sonnet-4-5', 'gemini-3-flash-preview']
  for (const model of thinkers) {
    for (const stream of [false, true]) {
      it(`keeps the reasoning of ${model}${stream ? ' in a stream' : ''}`, async () => {
        const first = { reasoning: ['I ', 'draw.'], ...asksForImage() }
        const asked = { model, tools: [tool, weather], reasoning: { effort: 'high' as const } }
        const question = { role: 'user' as const, content: 'A boat, in the weather of Ulm.' }
        const ask = async (input: OpenAI.Responses.ResponseInputItem[]) => {
          const response = await post({ ...asked, input, stream })
          if (!stream) return (await response.json()) as OpenAI.Responses.Response & Warned
          const checked = checkResponseEvents(await response.text())
          return checked.response as unknown as OpenAI.Responses.Response & Warned
        }
        const sent = house.says(first, ends)
        const alone = await ask([question])
        expect(alone.status).to.equal('completed')
        expect(alone).not.to.have.property('warnings')
        const signed = /gAAAA-rs_|"signature"|thoughtSignature":"(?!skip)/
        expect(JSON.stringify(sent[1])).to.match(signed)
        const calls = [...first.calls!, { id: 'call_w', name: 'weather', args: { town: 'Ulm' } }]
        house.says({ ...first, calls })
        const { output } = await ask([question])
        const called = output.find((item) => item.type === 'function_call')!
        const next = house.says(ends)
        const result = {
          type: 'function_call_output' as const,
          call_id: called.call_id,
          output: 'Rain',
        }
        const answer = await ask([
          question,
          ...(output as OpenAI.Responses.ResponseInputItem[]),
          result,
        ])
        expect(answer.status).to.equal('completed')
        expect(answer.warnings?.map(({ param }) => param) ?? []).to.deep.equal([])
        expect(JSON.stringify(next[0])).to.match(signed)
        const [image] = pictures({ output } as OpenAI.Responses.Response)
        expect(JSON.stringify(next[0])).to.contain(image!.result)
      })
    }
  }
})
