import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { connectClient } from '../support/mcp-client.ts'

describe('the progress of the tool generate-image', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({ bounds: { toolProgressIntervalMs: 60_000 } })
  })
  after(() => gateway.stop())

  const messagesOf = async (input: object) => {
    const client = await connectClient(gateway)
    const messages: string[] = []
    const progress: number[] = []
    const called = { name: 'generate-image', arguments: { prompt: 'A hat', ...input } }
    const result = await client.callTool(called, undefined, {
      onprogress: (one) => {
        messages.push(one.message!)
        progress.push(one.progress)
      },
    })
    await client.close()
    expect(result.isError).to.equal(undefined)
    expect(progress).to.deep.equal(progress.map((_, index) => index))
    return messages
  }

  it('says how many of several pictures are finished', async () => {
    expect(await messagesOf({ n: 3 })).to.deep.equal([
      'generate-image has started.',
      'generate-image: 1 of 3 pictures.',
      'generate-image: 2 of 3 pictures.',
      'generate-image: 3 of 3 pictures.',
    ])
  })

  it('says nothing more about a single picture', async () => {
    expect(await messagesOf({ n: 1 })).to.deep.equal(['generate-image has started.'])
  })
})
