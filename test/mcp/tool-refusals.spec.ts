import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { callTool, connectClient, postMessages, textOf, toolCall } from '../support/mcp-client.ts'

const hello = [{ role: 'user', content: 'hello' }]

describe('the tools', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  describe('refuse in one readable sentence', () => {
    const rows: { tool: string; args: object; says: RegExp }[] = [
      { tool: 'chat', args: { messages: hello }, says: /'model' is required/ },
      { tool: 'chat', args: { model: 'gpt-5-mini', messages: [] }, says: /'messages'/ },
      {
        tool: 'chat',
        args: { model: 'gpt-5-mini', messages: hello, temperature: 2.1 },
        says: /'temperature'/,
      },
      {
        tool: 'chat',
        args: { model: 'gpt-5-mini', messages: hello, max_tokens: 1.5 },
        says: /'max_tokens'/,
      },
      {
        tool: 'chat',
        args: { model: 'gpt-5-mini', messages: hello, temprature: 1 },
        says: /'temprature'.* Did you mean 'temperature'/,
      },
      { tool: 'chat', args: { model: 'no-such', messages: hello }, says: /no model 'no-such'/ },
      {
        tool: 'chat',
        args: {
          model: 'gpt-5-mini',
          messages: [{ role: 'user', content: 'sandbox:content-policy' }],
        },
        says: /unsafe/,
      },
      {
        tool: 'chat',
        args: { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'sandbox:status=500' }] },
        says: /provider/,
      },
      { tool: 'generate-image', args: {}, says: /'prompt' is required/ },
      { tool: 'generate-image', args: { prompt: ' ' }, says: /'prompt' must not be blank/ },
      { tool: 'generate-image', args: { prompt: 'x', n: 5 }, says: /'n'/ },
      { tool: 'generate-image', args: { prompt: 'x', n: 0 }, says: /'n'/ },
      { tool: 'generate-image', args: { prompt: 'x', n: 'two' }, says: /'n'/ },
      { tool: 'generate-image', args: { prompt: 'x', size: 'huge' }, says: /'size'/ },
      {
        tool: 'generate-image',
        args: { prompt: 'x', size: '9999x9999' },
        says: /cannot make 9999x9999/,
      },
      {
        tool: 'generate-image',
        args: { prompt: 'x', model: 'gpt-5-mini' },
        says: /makes no images/,
      },
      {
        tool: 'generate-image-preview',
        args: { prompt: 'x', aspect_ratio: '2:1' },
        says: /'aspect_ratio'/,
      },
      {
        tool: 'generate-image',
        args: { promt: 'x' },
        says: /'prompt' is required\. Is 'promt' a misspelling of it\?/,
      },
      {
        tool: 'generate-image',
        args: { prompt: 'x', image: 'data:,' },
        says: /'image' is not a parameter here\. Did you mean 'images'\?/,
      },
      {
        tool: 'generate-image',
        args: { prompt: 'x', aspectratio: '16:9' },
        says: /Did you mean 'aspect_ratio'\?/,
      },
      { tool: 'generate-image', args: { prompt: 'x', aspect_ratio: '16x9' }, says: /malformed/ },
      { tool: 'generate-image', args: { prompt: 'x', quality: 'hihg' }, says: /mean 'high'/ },
      {
        tool: 'generate-image',
        args: { prompt: 'x', seed: -1 },
        says: /'seed' must be at least 0/,
      },
      { tool: 'generate-image', args: { prompt: 'x', seed: 2 ** 31 }, says: /at most 2147483647/ },
      { tool: 'generate-image', args: { prompt: 'x', output_format: 'gif' }, says: /png, jpeg/ },
      {
        tool: 'generate-image',
        args: { prompt: 'x', fresh: 'yes' },
        says: /'fresh' must be a boolean/,
      },
      { tool: 'list-models', args: { limit: 0 }, says: /'limit'/ },
      { tool: 'list-models', args: { family: 3 }, says: /'family'/ },
      { tool: 'list-models', args: { limit: '[1]' }, says: /'limit'/ },
    ]
    for (const { tool, args, says } of rows) {
      it(`${tool} ${JSON.stringify(args)}`, async () => {
        const { answer } = await postMessages(gateway, toolCall(tool, args))
        expect(answer.result!.isError).to.equal(true)
        expect(answer.result!.content).to.have.length(1)
        expect(textOf(answer.result!)).to.match(says).and.match(/[.?]$/)
      })
    }

    for (const [tool, model, meant] of [
      ['chat', 'gpt-5-mnii', 'gpt-5-mini'],
      ['chat', 'zai/glm-imgae', 'zai/glm-image'],
      ['generate-image', 'qwen-image-pluss', 'qwen-image-plus'],
      ['generate-image', 'seedream-45', 'seedream-4-5'],
    ] as const) {
      it(`${model} as a model of ${tool}, with the similar name and tools as hints`, async () => {
        const args = tool === 'chat' ? { model, messages: hello } : { model, prompt: 'x' }
        const { answer } = await postMessages(gateway, toolCall(tool, args))
        const text = textOf(answer.result!)
        expect(text).to.contain(`Did you mean '${meant}'?`).and.contain('list-image-models')
        expect(text).to.not.match(/GET |POST |\/v1\//)
      })
    }

    it('a language model for pictures, with the tool that lists image models', async () => {
      const args = { model: 'gpt-5-mini', prompt: 'x' }
      const { answer } = await postMessages(gateway, toolCall('generate-image', args))
      expect(textOf(answer.result!)).to.contain('list-image-models lists them')
      const body = { model: 'gpt-5-mini', prompt: 'x' }
      const response = await gateway.post('/v1/images/generations', body)
      expect(await response.text()).to.not.contain('list-image-models')
    })

    it('a model that the key may not use', async () => {
      const key = await gateway.createKey('test', { models: ['zai/glm-image'] })
      const args = { model: 'gpt-5-mini', messages: hello }
      const { answer } = await postMessages(gateway, toolCall('chat', args), { key })
      expect(textOf(answer.result!)).to.contain('may not use the model')
    })

    it('parameters that would be adjusted, in strict mode', async () => {
      const headers = { 'x-gateway-strict': 'true' }
      const chat = { model: 'zai/glm-image', messages: hello, temperature: 0.5 }
      for (const message of [toolCall('generate-image', { prompt: 'x' }), toolCall('chat', chat)]) {
        const { answer } = await postMessages(gateway, message, { headers })
        expect(answer.result!.isError).to.equal(true)
      }
    })
  })
})

describe('the tools with settings of the operator', () => {
  it('show deactivated models and omit deprecated ones on request', async () => {
    const gateway = await startGateway({ clock: () => Date.parse('2027-01-01') })
    try {
      const client = await connectClient(gateway)
      const listed = async (args: object) =>
        textOf(await callTool(client, 'list-models', { limit: 1000, ...args }))
      expect(await listed({})).to.not.match(/: deactivated[,;]/)
      expect(await listed({ include_deactivated: true })).to.match(/: deactivated[,;]/)
      expect(await listed({})).to.contain(': deprecated until ')
      expect(await listed({ exclude_deprecated: true })).to.not.contain(': deprecated')
      await client.close()
    } finally {
      await gateway.stop()
    }
  })

  it('use and document the configured default image model', async () => {
    const gateway = await startGateway({
      file: { default_tool_image_model: 'zai/glm-image', default_image_model: 'zai/cogview-4' },
    })
    try {
      const client = await connectClient(gateway)
      const { tools } = await client.listTools()
      const { properties } = tools.find(({ name }) => name === 'generate-image')!.inputSchema
      expect(properties!['model']).to.have.property('description').that.contains(': zai/glm-image.')
      expect(textOf(await callTool(client, 'generate-image', { prompt: 'x' }))).to.contain(
        'by zai/glm-image',
      )
      const preview = { prompt: 'x', aspect_ratio: '16:9' }
      const answer = await callTool(client, 'generate-image-preview', preview)
      expect(textOf(answer)).to.contain('by zai/cogview-4, 1280x720')
      await client.close()
    } finally {
      await gateway.stop()
    }
  })

  it('share the rate limit of the account with the HTTP API', async () => {
    const gateway = await startGateway({ file: { limits: { requests_per_minute: 2 } } })
    try {
      const args = { model: 'gpt-5-mini', messages: hello }
      await gateway.post('/v1/chat/completions', args)
      const first = await postMessages(gateway, toolCall('chat', args))
      const second = await postMessages(gateway, toolCall('chat', args))
      expect(first.answer.result!.isError).to.equal(undefined)
      expect(second.answer.result!.isError).to.equal(true)
      expect(textOf(second.answer.result!)).to.match(/2 requests a minute. Try again in \d+ s\.$/)
    } finally {
      await gateway.stop()
    }
  })
})
