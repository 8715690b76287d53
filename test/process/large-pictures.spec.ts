import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect } from 'chai'
import { contract, resolve, tools, type Schema } from '../support/contract.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { toolCall } from '../support/mcp-client.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'

type Launcher = { flags: readonly string[]; variables: Record<string, string> }
const launcher = createRequire(import.meta.url)('../../bin/model-access-gateway.cjs') as Launcher
const { schemas } = contract.components
const peakBytesMax = 600e6

/** The largest pictures of each provider group, with the most that the contract lets its chat make. */
const groups = [
  { group: 'Google', model: 'gemini-3-pro-image', size: '4096x4096', image_size: '4K' },
  { group: 'Bytedance', model: 'bytedance/seedream-4-5', size: '4096x4096' },
  { group: 'Openai', model: 'gpt-image-2', size: '3840x2160' },
  { group: 'Alibaba', model: 'alibaba/qwen-image-2.0', size: '2048x2048' },
  { group: 'Zai', model: 'zai/glm-image', size: '2048x2048' },
  { group: 'Xai', model: 'xai/grok-imagine-image-2.0', size: '2048x2048', image_size: '2K' },
]
const most = ({ properties }: Schema): number => resolve(properties!['n']!).maximum!
const imagesMost = most(schemas['CreateImageRequest']!)
const toolMost = most(tools.find(({ name }) => name === 'generate-image')!.inputSchema)
const mostOf = ({ group }: (typeof groups)[number]) => most(schemas[`ImageConfig${group}`]!)

describe('as many of the largest pictures as the contract allows', function () {
  this.timeout(600_000)
  let folder: TemporaryFolder
  let server: ServerProcess
  before(async () => {
    folder = makeFolder()
    const { flags, variables } = launcher
    server = await startServer({ folder: folder.path, words: flags, variables })
  })
  after(async () => {
    server.kill('SIGKILL')
    await server.ended
    folder.remove()
  })

  /** The number of pictures in an answer, which is not kept in memory. */
  const ask = async (path: string, body: object, picture: RegExp): Promise<number> => {
    const headers = {
      authorization: `Bearer ${printedKey(server)}`,
      'content-type': 'application/json',
    }
    const sent = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(server.url + path, sent)
    let text = ''
    for await (const piece of response.body!) {
      text += Buffer.from(piece)
        .toString('latin1')
        .replaceAll(/[\w+/]{100,}=*/g, '')
    }
    expect(response.status, text.slice(0, 500)).to.equal(200)
    return text.match(picture)?.length ?? 0
  }
  for (const [index, { group, model, size, image_size = size }] of groups.entries()) {
    const chatMost = mostOf(groups[index]!)
    // The sandbox paints for all groups: the same number of the same size takes the same memory.
    const isNew = groups.findIndex((one) => one.size === size && mostOf(one) === chatMost) === index
    const together = isNew ? 'alone and four at once' : 'alone'
    it(`are made by each API, ${together}, within 600 MB: ${group}`, async () => {
      const images = (n: number) => {
        const body = { model, prompt: `a ${n}`, n, size, output_format: 'png' }
        return ask('/v1/images/generations', body, /"b64_json"/g)
      }
      const chat = (n: number, turn = 0) => {
        const messages = [{ role: 'user', content: `b ${turn}` }]
        const body = { model, messages, image_config: { image_size, n } }
        return ask('/v1/chat/completions', body, /"image_url":\{/g)
      }
      const tool = (n: number) => {
        const call = toolCall('generate-image', { model, prompt: 'c', n, size })
        return ask('/mcp', call, /"type":"image"/g)
      }
      for (const made of [images, chat, tool]) expect(await made(1)).to.equal(1)
      if (isNew) {
        const four = [images(imagesMost), chat(chatMost), chat(chatMost, 1), tool(toolMost)]
        expect(await Promise.all(four)).to.deep.equal([imagesMost, chatMost, chatMost, toolMost])
      }
      const status = readFileSync(`/proc/${server.processId}/status`, 'latin1')
      expect(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)![1]) * 1024).to.be.below(peakBytesMax)
    })
  }
})
