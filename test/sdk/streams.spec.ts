import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { projectFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { pixelFile } from '../support/pixel.ts'
import { installClient, type TypeScriptClient } from '../support/typescript-client.ts'
import { until } from '../support/until.ts'

type Client = ReturnType<TypeScriptClient['createClient']>
type Config = Parameters<TypeScriptClient['createClient']>[0]
type GatewayError = InstanceType<TypeScriptClient['GatewayError']>
type Event = { type?: string; object?: string }
type More = { signal?: AbortSignal }

const model = 'gpt-5.4-mini'
const imageModel = 'gpt-image-2'

describe('the streams of the TypeScript client', () => {
  let gateway: TestGateway
  let sdk: TypeScriptClient
  let client: Client
  let remove: () => void
  before(async () => {
    gateway = await startGateway()
    const { client: module, folder } = await installClient()
    sdk = module
    remove = folder.remove
    client = clientOf()
  })
  after(async () => {
    await gateway.stop()
    remove()
  })

  const clientOf = (config: Config = {}) =>
    sdk.createClient({ baseUrl: gateway.url, auth: gateway.testKey, ...config })
  /** A client whose responses `answer` replaces; the tests of failures need no gateway that fails. */
  const answered = (
    answer: (call: number, request: RequestInit) => Response | Promise<Response>,
  ) => {
    const requests: RequestInit[] = []
    const fetch: NonNullable<Config>['fetch'] = async (_url, init = {}) =>
      answer(requests.push(init), init)
    return { requests, client: clientOf({ fetch }) }
  }
  const received = async (events: AsyncIterable<Event>, isEnough = () => false) => {
    const seen: Event[] = []
    try {
      for await (const event of events) {
        seen.push(event)
        if (isEnough()) break
      }
    } catch (error) {
      return { seen, error }
    }
    return { seen }
  }
  const namesOf = (events: Event[]) => [
    ...new Set(events.map(({ type, object }) => type ?? object)),
  ]
  /** The rows of the calls that were made during `act`, as soon as each has ended. */
  const rowsOf = async (act: () => Promise<unknown>) => {
    const { length } = await gateway.usage()
    await act()
    const rows = async () => (await gateway.usage()).slice(length)
    await until('the call has ended', async () => (await rows()).length > 0)
    return rows()
  }

  const image = { model: imageModel, partial_images: 2 } as const
  const talk = (content: string) => ({ model, messages: [{ role: 'user' as const, content }] })
  const headers = { 'cache-control': 'no-store' }
  /** Opens each stream, with its events of a call that succeeds. */
  const streams: Record<
    string,
    {
      open: (prompt: string, more?: More) => AsyncIterable<Event>
      first: string
      last: string
      left?: string
      code?: string
    }
  > = {
    chat: {
      open: (text, more) =>
        sdk.streamChatCompletion({ client, headers, body: talk(text), ...more }),
      first: 'chat.completion.chunk',
      last: 'chat.completion.chunk',
    },
    responses: {
      open: (input, more) =>
        sdk.streamResponse({ client, headers, body: { model, input }, ...more }),
      first: 'response.created',
      last: 'response.completed',
      code: 'server_error',
    },
    messages: {
      open: (text, more) => {
        const body = { ...talk(text), max_tokens: 200 }
        return sdk.streamMessage({ client, headers, body, ...more })
      },
      first: 'message_start',
      last: 'message_stop',
    },
    'image generations': {
      open: (prompt, more) =>
        sdk.streamImage({ client, headers, body: { ...image, prompt }, ...more }),
      first: 'image_generation.partial_image',
      last: 'image_generation.completed',
      left: 'ok',
    },
    'image edits': {
      open: (prompt, more) => {
        const body = { ...image, prompt, image: pixelFile }
        return sdk.streamImageEdit({ client, headers, body, ...more })
      },
      first: 'image_edit.partial_image',
      last: 'image_edit.completed',
      left: 'ok',
    },
  }

  it('has a stream for each event stream of the contract that it has', () => {
    const served = JSON.parse(
      readFileSync(join(projectFolder, 'generated/openapi-3.2.json'), 'utf8'),
    ) as { paths: Record<string, Record<string, { operationId: string }>> }
    const ids = Object.entries(served.paths)
      .filter(([path]) => path !== '/mcp')
      .flatMap(([, item]) => Object.values(item))
      .filter((one) => JSON.stringify(one).includes('"itemSchema"'))
      .map(({ operationId }) => operationId.replace(/^create/, 'stream'))
    expect(Object.keys(sdk).filter((name) => name.startsWith('stream'))).to.have.members(ids)
  })

  for (const [name, { open, first, last, ...ends }] of Object.entries(streams)) {
    // An image that was begun is completed.
    const { left = 'cancelled', code: failed = 'provider_error' } = ends
    describe(`the stream of ${name}`, () => {
      it('yields its events in order', async () => {
        const { seen, error } = await received(open('Hello'))
        expect(error).to.equal(undefined)
        expect([namesOf(seen)[0], namesOf(seen).at(-1)]).to.deep.equal([first, last])
      })

      it('throws an error after its events, and does not repeat the call', async () => {
        const rows = await rowsOf(async () => {
          const { seen, error } = await received(open('sandbox:cut-stream sandbox:slow-stream=1'))
          expect(namesOf(seen)).to.include(first).and.not.include('error')
          expect(error).to.be.instanceOf(sdk.GatewayError)
          expect(error).to.include({ status: 200, code: failed, shouldRetry: false })
          expect((error as GatewayError).requestId).to.match(/^req_/)
        })
        expect(rows).to.have.length(1)
      })

      it('throws a refusal before its events', async () => {
        const { seen, error } = await received(open('sandbox:content-policy'))
        expect(seen).to.deep.equal([])
        const code = 'content_policy_violation'
        expect(error).to.include({ name: 'GatewayError', status: 400, code, shouldRetry: false })
      })

      it('ends the call when the loop is left', async () => {
        const rows = await rowsOf(async () => {
          const { seen, error } = await received(open('sandbox:slow-stream=200'), () => true)
          expect(seen).to.have.length(1)
          expect(error).to.equal(undefined)
        })
        expect(rows.map(({ outcome }) => outcome)).to.deep.equal([left])
      })

      it('ends the call and throws the reason when its signal is aborted', async () => {
        const aborting = new AbortController()
        const reason = new Error('No longer needed.')
        const rows = await rowsOf(async () => {
          const events = open('sandbox:slow-stream=200', { signal: aborting.signal })
          const abort = () => {
            aborting.abort(reason)
            return false
          }
          expect((await received(events, abort)).error).to.equal(reason)
        })
        expect(rows.map(({ outcome }) => outcome)).to.deep.equal([left])
      })
    })
  }

  describe('the stream of a job', () => {
    const job = async (prompt: string, n = 2) => {
      const begun = await sdk.createImageJob({
        client,
        headers,
        body: { model: imageModel, prompt, n },
      })
      if (!('object' in begun)) throw new Error('This is no job.')
      return begun
    }

    it('continues after the last event when its connection breaks, and ends with the job', async () => {
      const { id } = await job('Two foxes')
      const sent: (string | null)[] = []
      /** The first response breaks after its first event. */
      const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
        const count = sent.push(new Headers(init.headers).get('last-event-id'))
        const response = await globalThis.fetch(url, init)
        if (count > 1) return response
        const text = await response.text()
        const whole = text.slice(0, text.indexOf('\n\n') + 9)
        const cut = new ReadableStream<Uint8Array>({
          start: (stream) => stream.enqueue(new TextEncoder().encode(whole)),
          pull: (stream) => stream.error(new TypeError('terminated')),
        })
        return new Response(cut, response)
      }
      const events = sdk.streamImageJob({ client: clientOf({ fetch }), path: { job_id: id } })
      const { seen, error } = await received(events)
      expect(error).to.equal(undefined)
      expect(seen.map((event) => (event as { image_index: number }).image_index)).to.deep.equal([
        0, 1,
      ])
      expect(sent).to.deep.equal([null, `${id}.c0`, `${id}.c1`])
      expect(events.lastEventId).to.equal(`${id}.c1`)
      expect(events.headers?.get('x-request-id')).to.match(/^req_/)
    })

    it('gives up after the retries of the client when no connection lasts', async () => {
      const broken = () =>
        new Response('data', { headers: { 'content-type': 'text/event-stream' } })
      const { client, requests } = answered(broken)
      const events = sdk.streamImageJob({ client, path: { job_id: 'imgjob_1' }, maxRetries: 1 })
      const { error } = await received(events)
      expect(error).to.be.instanceOf(sdk.GatewayError).with.property('status', undefined)
      expect(requests).to.have.length(2)
    })

    it('throws the error of a job that fails or is cancelled', async () => {
      const failing = await job('sandbox:status=500', 1)
      const path = { job_id: failing.id }
      const outcome = await received(sdk.streamImageJob({ client, path }))
      expect(outcome.error).to.include({ name: 'GatewayError', shouldRetry: false })
      const { id } = await job('sandbox:delay=60000', 1)
      await sdk.cancelImageJob({ client, path: { job_id: id }, throwOnError: true })
      const { error } = await received(sdk.streamImageJob({ client, path: { job_id: id } }))
      expect(error).to.include({ code: 'cancelled', shouldRetry: false })
    })
  })
})
