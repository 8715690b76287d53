import { expect } from 'chai'
import { tools } from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { postMessages, textOf, toolCall } from '../support/mcp-client.ts'
import { pixel } from '../support/pixel.ts'
import { memberProbes, sample, type Words } from '../support/probes.ts'

const words: Words = {
  model: 'bytedance/seedream-4-5',
  family: 'claude',
  image_url: pixel,
  url: pixel,
  data: pixel.slice(pixel.indexOf(',') + 1),
  mimeType: 'image/png',
  images: pixel,
}

describe('each enum value and limit of the arguments', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({
      file: { limits: { requests_per_minute: 1_000_000, images_per_minute: 1_000_000 } },
    })
  })
  after(() => gateway.stop())

  for (const { name, inputSchema } of tools) {
    it(`is enforced by ${name}, with the name of the refused argument`, async () => {
      const base = sample(inputSchema, words) as object
      const wrong: string[] = []
      for (const probe of memberProbes(inputSchema, base, words)) {
        const { value, allowed, at } = probe
        // Unknown arguments are ignored, and an empty text is an absent argument (tolerance.spec.ts).
        const isUnset = (value as Record<string, unknown>)[at.slice(1)] === ''
        if (isUnset || ('code' in probe && probe.code === 'unknown_parameter')) continue
        const { answer } = await postMessages(gateway, toolCall(name, value as object))
        const text = answer.result === undefined ? answer.error!.message : textOf(answer.result)
        const isRefused = answer.result?.isError === true
        const isTold = text.includes(at.slice(1)) && /[.?]$/.test(text)
        // A model may refuse a value that the schema allows, with its own message.
        const isWell = allowed ? !text.includes('The gateway failed') : isRefused && isTold
        if (!isWell) wrong.push(`${JSON.stringify(value).slice(0, 200)}: ${text}`)
      }
      expect(wrong).to.deep.equal([])
    })
  }
})
