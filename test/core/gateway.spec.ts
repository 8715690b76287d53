import { expect } from 'chai'
import type { ChatAdapter, ChatRequest } from '../../src/core/chat/chat.ts'
import { GatewayError } from '../../src/core/error.ts'
import { ProviderFailure } from '../../src/core/failure.ts'
import type { ImageAdapter } from '../../src/core/image/image.ts'
import type { Warning } from '../../src/core/model.ts'
import type { Route } from '../../src/core/route.ts'
import { contextOf, gatewayWith, inputsOf } from '../support/core-gateway.ts'
import { routeOf } from '../support/route.ts'

const request: ChatRequest = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hello.' }] }
const inputs = inputsOf(request)
const adjusted: Warning = { param: 'seed', requested: 1, applied: null, reason: 'No seeds here.' }

/** A provider that adds its name to `printed` for each request that it writes. */
function chatRoute(
  id: string,
  printed: string[],
  { fails = false, warnings = [] as Warning[] } = {},
): Route {
  const chat: ChatAdapter = {
    prepare: () => {
      printed.push(id)
      return {
        problems: [],
        warnings,
        complete: async () => {
          if (fails) throw new ProviderFailure('malformed', 'No.')
          const message = { role: 'assistant' as const, content: id, refusal: null }
          const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' as const }]
          const completion = { id, object: 'chat.completion' as const, created: 1, model: id }
          const usage = { inputTokens: 1, outputTokens: 1, images: 0, estimated: false }
          return { completion: { ...completion, choices }, usage, bytes: 10 }
        },
        stream: () => Promise.reject(new Error('No stream is requested here.')),
      }
    },
  }
  return routeOf(id, { chat })
}

/** Waits until the answer is cached, in the next turn of the event loop. */
const remembered = () => new Promise((resolve) => setImmediate(resolve))

describe('the sequence of a call', () => {
  it('writes the request of the vendor only for the route that is tried', async () => {
    const printed: string[] = []
    const { gateway } = gatewayWith([chatRoute('one', printed), chatRoute('two', printed)])
    await gateway.chat(inputs, contextOf())
    expect(printed).to.deep.equal(['one'])
  })

  it('writes the request of the next route when the first has failed, each once', async () => {
    const printed: string[] = []
    const routes = [chatRoute('one', printed, { fails: true }), chatRoute('two', printed)]
    const { gateway } = gatewayWith(routes)
    const { receipt } = await gateway.chat(inputs, contextOf())
    expect(receipt.provider).to.equal('two')
    expect(printed).to.deep.equal(['one', 'two'])
  })

  it('writes no request when the answer is cached', async () => {
    const printed: string[] = []
    const { gateway } = gatewayWith([chatRoute('one', printed)])
    await gateway.chat(inputs, contextOf())
    await remembered()
    const { receipt } = await gateway.chat(inputs, contextOf())
    expect(receipt.cache).to.equal('hit')
    expect(printed).to.deep.equal(['one'])
  })

  it('never returns an adjusted answer of another caller in strict mode', async () => {
    const { gateway, rows } = gatewayWith([chatRoute('one', [], { warnings: [adjusted] })])
    const { receipt } = await gateway.chat(inputs, contextOf())
    expect(receipt.warnings).to.deep.equal([adjusted])
    await remembered()
    const error = await gateway
      .chat(inputs, contextOf({ strict: true }))
      .catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(GatewayError)
    expect(error).to.include({ code: 'unsupported_parameter', param: 'seed' })
    expect(rows).to.have.length(1)
  })

  it('skips in strict mode a route that would adjust the request', async () => {
    const routes = [chatRoute('one', [], { warnings: [adjusted] }), chatRoute('two', [])]
    const { gateway } = gatewayWith(routes)
    const { receipt } = await gateway.chat(inputs, contextOf({ strict: true }))
    expect(receipt.provider).to.equal('two')
  })
})

describe('the input pictures of a call', () => {
  const image: ImageAdapter = {
    picturesPerCall: () => 1,
    generate: () => Promise.reject(new Error('No picture is requested here.')),
  }
  const painter = routeOf('one', { image, model: 'gpt-image-2' })
  const asked = { model: 'gpt-image-2', prompt: 'a fox', n: 1 }
  const addresses = [{ address: 'https://example.com/a.png', param: 'images[0].image_url' }]

  it("are read within the call's deadline", async () => {
    const limits = {
      chatTimeoutMs: 1,
      imageTimeoutMs: 1,
      imageCallsConcurrentMax: 1,
    }
    let reason: unknown
    const { gateway, rows } = gatewayWith([painter], {
      limits,
      readSources: (_addresses, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason
            reject(new GatewayError('timeout', 'Too late.'))
          })
        }),
    })
    const error = await gateway
      .image({ ...inputsOf(asked), addresses }, contextOf())
      .catch((thrown: unknown) => thrown)
    expect(error).to.include({ code: 'timeout' })
    expect(reason).to.be.instanceOf(ProviderFailure).with.property('kind', 'timeout')
    expect(rows).to.deep.equal([])
  })

  it('are not read when no route accepts them', async () => {
    let reads = 0
    const { gateway } = gatewayWith([painter], {
      readSources: async () => {
        reads++
        return []
      },
    })
    const many = Array.from({ length: 50 }, () => addresses[0]!)
    const error = await gateway
      .image({ ...inputsOf(asked), addresses: many, param: 'messages' }, contextOf())
      .catch((thrown: unknown) => thrown)
    expect(error).to.include({ code: 'model_capability_mismatch', param: 'messages' })
    expect(reads).to.equal(0)
  })
})
