import { expect } from 'chai'
import fc from 'fast-check'
import type { components } from '../../generated/types.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { keyCalls } from '../support/key-calls.ts'
import { postMessages, toolCall } from '../support/mcp-client.ts'
import { hello } from '../support/own-endpoint.ts'

type Listed = components['schemas']['Model']

describe('the models of a key', () => {
  let gateway: TestGateway
  let chats: Listed[]
  let painters: Listed[]
  before(async () => {
    gateway = await startGateway({ file: { limits: { requests_per_minute: 1_000_000 } } })
    const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: Listed[] }
    painters = data.filter(({ output_modalities: gives }) => gives?.includes('image'))
    chats = data
      .filter(({ capabilities }) => capabilities?.['chat'] === true)
      .filter((model) => !painters.includes(model))
  })
  after(() => gateway.stop())

  /** Spellings of a model name, some of which are invalid. */
  const spelled = ({ id, owned_by: owner }: Listed) => {
    const last = id.slice(id.indexOf('/') + 1)
    const base = fc.constantFrom(id, last, `${owner}/${last}`, `models/${last}`)
    const write = fc.constantFrom<(name: string) => string>(
      (name) => name,
      (name) => name.toUpperCase(),
      (name) => ` ${name} `,
      (name) => name.replaceAll('-', '_'),
      (name) => name.replaceAll('.', '-'),
      (name) => `${name}-latest`,
      (name) => `${name}-2026-01-01`,
    )
    return fc.tuple(base, write).map(([name, how]) => how(name))
  }
  const oneOf = (models: readonly Listed[]) => fc.nat(models.length - 1).map((at) => models[at]!)
  /** A model that the key may call, and the name of any model, which the request uses. */
  const pair = (models: readonly Listed[]) =>
    fc.tuple(oneOf(models), oneOf(models)).chain(([allowed, other]) =>
      fc.record({
        allowed: fc.constant(allowed),
        other: fc.constant(other),
        name: fc.oneof(spelled(other), fc.constant('auto')),
      }),
    )
  const keyFor = ({ id }: Listed) => keyCalls(gateway).made(gateway.adminKey, { models: [id] })
  const expectNone = async (answer: Response, allowed: Listed) => {
    const text = await answer.text()
    const made = answer.headers.get('x-gateway-model')
    if (answer.status === 200) expect(made, text).to.equal(allowed.id)
    else expect(answer.status, text).to.be.oneOf([400, 403, 404])
  }
  /** Checks the ledger too, which also contains calls that no answer shows. */
  const expectOnly = async (allowed: Listed, keyId: string) => {
    const rows = (await gateway.usage()).filter((row) => row.key_id === keyId)
    for (const { provider, model } of rows) {
      if (provider !== null) expect(model).to.equal(allowed.id)
    }
  }

  it('are the only ones that chats call, by any name and as fallbacks', async () => {
    await fc.assert(
      fc.asyncProperty(pair(chats), async ({ allowed, other, name }) => {
        const { id, key } = await keyFor(allowed)
        const ask = (body: object) =>
          gateway.post(
            '/v1/chat/completions',
            { messages: hello, max_tokens: 50, ...body },
            { key },
          )
        expect((await ask({ model: allowed.id })).status, allowed.id).to.equal(200)
        await expectNone(await ask({ model: name }), allowed)
        await expectNone(await ask({ model: allowed.id, models: [name] }), allowed)
        const either = await ask({ model: allowed.id, models: [other.id] })
        expect(either.status).to.equal(other === allowed ? 200 : 403)
        await expectNone(await ask({ model: name, models: [allowed.id], stream: true }), allowed)
        const call = toolCall('chat', { model: name, messages: hello })
        const { answer } = await postMessages(gateway, call, { key })
        expect(answer.result ?? answer.error).to.not.equal(undefined)
        await expectOnly(allowed, id)
      }),
      { numRuns: 60 },
    )
  })

  it('are the only ones that make pictures, also in a request without a model', async () => {
    await fc.assert(
      fc.asyncProperty(pair(painters), async ({ allowed, name }) => {
        const { id, key } = await keyFor(allowed)
        const asks = [allowed.id, name].map((model) => ({ prompt: 'a fox', model }))
        for (const asked of [...asks, { prompt: 'a fox' }]) {
          await expectNone(await gateway.post('/v1/images/generations', asked, { key }), allowed)
          const { answer } = await postMessages(gateway, toolCall('generate-image', asked), { key })
          expect(answer.result ?? answer.error).to.not.equal(undefined)
        }
        await expectOnly(allowed, id)
      }),
      { numRuns: 15 },
    )
  })

  it('are the only ones in its model list', async () => {
    for (const allowed of [chats[0]!, painters[0]!]) {
      const answer = await gateway.fetch('/v1/models', { key: (await keyFor(allowed)).key })
      const { data } = (await answer.json()) as { data: Listed[] }
      expect(data.map(({ id }) => id)).to.deep.equal([allowed.id])
    }
  })
})
