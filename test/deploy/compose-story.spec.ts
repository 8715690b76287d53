import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { expect } from 'chai'
import OpenAI from 'openai'
import { contract } from '../support/contract.ts'
import { startComposed, type Composed } from '../support/deploy/composed.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { startCallers } from '../support/lasting-callers.ts'
import { look } from '../support/pictures.ts'
import { programPath } from '../support/program-path.ts'
import { until } from '../support/until.ts'

const bodyBytesMax = 50_331_648

describe('the deployment of compose.yaml', function () {
  let folder: TemporaryFolder
  let composed: Composed
  before(async function () {
    for (const program of ['nginx', 'caddy', 'postgres', 'redis-server'] as const)
      programPath(program, this)
    folder = makeFolder()
    composed = await startComposed(folder.path)
  })
  after(async () => {
    await composed?.stop()
    folder?.remove()
  })

  for (const proxy of ['nginx', 'caddy'] as const) {
    describe(`through ${proxy}`, () => {
      let url: string
      let client: OpenAI
      before(() => {
        url = composed.urls[proxy]
        client = new OpenAI({ baseURL: `${url}/v1`, apiKey: composed.key, maxRetries: 0 })
      })
      const chat = (body: string | Buffer, more: Record<string, string> = {}) =>
        fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${composed.key}`,
            'content-type': 'application/json',
            ...more,
          },
          body,
        })

      it('is ready, and answers chats and images', async () => {
        for (const path of ['/health', '/ready', '/docs'])
          expect((await fetch(url + path)).status, path).to.equal(200)
        const { choices } = await client.chat.completions.create({
          model: 'gpt-5-mini',
          messages: [{ role: 'user', content: `hello ${proxy}` }],
        })
        expect(choices[0]!.message.content).to.be.a('string')
        const { data } = await client.images.generate({
          model: 'gpt-image-2',
          prompt: `A fox before ${proxy}`,
          n: 2,
        })
        expect((await look(data![1]!.b64_json!)).format).to.equal('png')
      })

      it('streams an answer without buffering it', async () => {
        const stream = await client.chat.completions.create({
          model: 'gpt-5-mini',
          messages: [{ role: 'user', content: 'sandbox:slow-stream=150 hello' }],
          stream: true,
        })
        const arrivals: number[] = []
        for await (const _ of stream) {
          arrivals.push(performance.now())
          if (arrivals.length === 6) break
        }
        // Expects pauses between events: from a proxy that buffers, all events would arrive at once.
        const gaps = arrivals.slice(1).filter((at, index) => at - arrivals[index]! > 75)
        expect(gaps.length).to.be.greaterThan(2)
      })

      it('accepts the largest body, and refuses a larger one with the error of the gateway', async () => {
        const messages = [{ role: 'user', content: `large ${proxy}` }]
        const json = JSON.stringify({ model: 'gpt-5-mini', messages })
        expect((await chat(Buffer.from(json.padEnd(bodyBytesMax)))).status).to.equal(200)
        const refused = await chat(Buffer.from(json.padEnd(bodyBytesMax + 1)))
        expect(refused.status).to.equal(413)
        await expectError(refused, 'request_too_large')
      })

      it('accepts headers as large as the gateway does', async () => {
        const text = JSON.stringify({
          model: 'gpt-5-mini',
          messages: [{ role: 'user', content: `headers ${proxy}` }],
        })
        expect((await chat(text, { 'x-large': 'x'.repeat(12_000) })).status).to.equal(200)
      })

      it('forwards the address of the caller, and ignores a forged X-Forwarded-For', async () => {
        const statusFrom = (localAddress: string, claimed?: string) =>
          statusOf(url, { key: composed.nearKey, localAddress, claimed })
        expect(await statusFrom('127.0.0.2')).to.equal(200)
        expect(await statusFrom('127.0.0.3')).to.equal(403)
        expect(await statusFrom('127.0.0.3', '127.0.0.2')).to.equal(403)
      })

      it('loses no request while the gateways restart one after the other', async () => {
        const load = startCallers(url, composed.key)
        const { outcomes } = load
        const answered = () => outcomes.get('200') ?? 0
        await until('calls are answered', () => answered() > 200)
        for (const name of composed.gateways) {
          const { code } = await composed.restart(name)
          // The code would be null if the stop took longer than stop_grace_period.
          expect(code, name).to.equal(0)
          const before = answered()
          await until('calls are answered again', () => answered() > before + 200)
        }
        await load.stop()
        expect([...outcomes.keys()]).to.deep.equal(['200'])
      })
    })
  }

  describe('without a running gateway', () => {
    before(async () => {
      for (const name of composed.gateways) composed.gateway(name).kill('SIGKILL')
      await Promise.all(composed.gateways.map((name) => composed.gateway(name).ended))
    })

    for (const proxy of ['nginx', 'caddy'] as const) {
      it(`answers an error of the gateway's format through ${proxy}`, async () => {
        const answer = await fetch(`${composed.urls[proxy]}/v1/models`)
        expect(answer.status).to.equal(502)
        await expectError(answer, 'internal_error')
      })
    }
  })
})

type Asked = { key: string; localAddress: string; claimed: string | undefined }

/** The status of GET /v1/models, asked from an address of this machine. */
async function statusOf(url: string, { key, localAddress, claimed }: Asked): Promise<number> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(claimed === undefined ? {} : { 'x-forwarded-for': claimed }),
  }
  const asking = request(`${url}/v1/models`, { headers, localAddress, agent: false })
  asking.end()
  // The `response` event has one argument, an IncomingMessage.
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  answer.resume()
  await once(answer, 'end')
  return answer.statusCode ?? 0
}

async function expectError(answer: Response, code: string): Promise<void> {
  expect(answer.headers.get('content-type')).to.match(/^application\/json/)
  const { error } = (await answer.json()) as { error: Record<string, unknown> }
  expect(error).to.include({ code, request_id: answer.headers.get('x-request-id') })
  expect(Object.keys(error)).to.include.members(contract.components.schemas['ErrorBody']!.required!)
}
