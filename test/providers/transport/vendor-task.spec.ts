import { expect } from 'chai'
import { uncounted } from '../../../src/bytes/memory-budget.ts'
import { ProviderFailure } from '../../../src/core/failure.ts'
import type { ImageCall } from '../../../src/core/image/image.ts'
import { coalesceStreams } from '../../../src/providers/transport/coalescing.ts'
import { createDispatch, type UpstreamRequest } from '../../../src/providers/transport/dispatch.ts'
import { noPictures } from '../../../src/providers/transport/endpoint.ts'
import { receive, wholeReader } from '../../../src/providers/transport/upstream.ts'
import { ownTexts } from '../../../src/providers/transport/vendor-texts.ts'
import { runTask, type TaskProtocol } from '../../../src/providers/transport/vendor-task.ts'
import { startUpstream } from '../../support/upstream.ts'

const limits = {
  headersTimeoutMs: 5000,
  idleTimeoutMs: 5000,
  endTimeoutMs: 5000,
  answerBytesMax: 1000,
  jsonBytesMax: 1000,
  taskPollMs: 1,
}

/** The second request for a task whose state has this address; undefined if it is refused. */
async function pollOf(address: string, baseUrl = 'https://api.bfl.ai/v1') {
  const sent: UpstreamRequest[] = []
  const body = JSON.stringify({ address })
  const endpoint = {
    id: 'bfl',
    limits,
    texts: ownTexts,
    coalescing: coalesceStreams({ intervalMs: 0, bytesMax: 1, streamsMin: 1 }),
    ...noPictures,
    baseUrl,
    dispatch: ((request, receiver) => {
      sent.push(request)
      receiver.start({ pause: () => undefined, resume: () => undefined, abort: () => undefined })
      receiver.head(200, {})
      receiver.data(Buffer.from(body))
      receiver.end()
    }) as ReturnType<typeof createDispatch>['dispatch'],
  }
  const protocol: TaskProtocol = {
    create: { method: 'POST', path: '/model', headers: {}, limits },
    begunIn: (bytes) => ({ id: 'task', ...(JSON.parse(bytes.toString()) as { address: string }) }),
    statePath: (id) => `/state/${id}`,
    domain: 'bfl.ai',
    resultIn: () => {
      throw new ProviderFailure('content_policy', 'Polled.')
    },
    failureReader: () => wholeReader(() => expect.fail('no failure')),
  }
  const turn = { signal: new AbortController().signal, memory: uncounted }
  const call = { turn, index: 0, target: { provider: { id: 'bfl' }, model: { row: {} } } }
  // The task needs no other members of a call.
  await runTask(endpoint, call as unknown as ImageCall, protocol).catch(() => undefined)
  return sent[1]
}

describe('the state of a task', () => {
  it('is asked at a host of the region, in the domain of the vendor', async () => {
    const request = await pollOf('https://api.eu2.bfl.ai/v1/get_result?id=task')
    expect(request).to.include({
      method: 'GET',
      otherOrigin: 'https://api.eu2.bfl.ai',
      path: '/v1/get_result?id=task',
    })
  })

  it('is asked at the base address over its own connections', async () => {
    const request = await pollOf('https://api.bfl.ai/v1/get_result?id=task')
    expect(request).to.include({ atOrigin: true, path: '/v1/get_result?id=task' })
    expect(request).to.not.have.property('otherOrigin')
  })

  it('is asked by its id at a proxy', async () => {
    const request = await pollOf('https://api.eu2.bfl.ai/v1/x', 'https://proxy.example/bfl')
    expect(request).to.include({ path: '/state/task' }).and.not.have.property('otherOrigin')
  })

  for (const address of [
    'http://api.eu2.bfl.ai/v1/x',
    'https://api.eu2.bfl.ai:444/x',
    'https://bfl.ai.example/x',
    'https://xbfl.ai/x',
    'https://user:secret@evil.example/?api.bfl.ai',
    '//api.bfl.ai/x',
    '',
  ]) {
    it(`is not asked at ${address || 'an empty address'}`, async () => {
      expect(await pollOf(address)).to.equal(undefined)
    })
  }
})

describe('a request to another host of a vendor', () => {
  it('goes there with its headers, and its connections end with those of the vendor', async () => {
    const [own, other] = await Promise.all([startUpstream(), startUpstream()])
    other.answer({ body: 'there' })
    const options = { connectTimeoutMs: 1000, connectionsMax: 2 }
    const { dispatch, close } = createDispatch(`${own.url}/v1`, options)
    const request = {
      method: 'GET' as const,
      path: '/v1/get_result?id=1',
      otherOrigin: other.url,
      headers: { 'x-key': 'secret' },
      limits,
    }
    const turn = { signal: new AbortController().signal, memory: uncounted }
    const text = await receive({ dispatch, request, bytesMax: 100 }, turn, () =>
      wholeReader((bytes) => bytes.toString()),
    )
    expect(text).to.equal('there')
    expect(other.requests.map(({ path, headers }) => [path, headers['x-key']])).to.deep.equal([
      ['/v1/get_result?id=1', 'secret'],
    ])
    expect(own.requests).to.deep.equal([])
    await close()
    await Promise.all([own.stop(), other.stop()])
  })
})
