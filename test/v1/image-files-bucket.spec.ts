import { expect } from 'chai'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { endedJob, getJob, jobsPath, startJob, type Job } from '../support/image-jobs.ts'
import { programPath } from '../support/program-path.ts'
import type { ImagesBody } from '../support/image-vendors.ts'
import { startBucket, type TestBucket } from '../support/servers/swift.ts'

const request = { prompt: 'A fox in the snow', model: 'gpt-image-2', size: '1024x1024' }

forEachStore('pictures of jobs in a bucket', () => {
  let swift: TestBucket
  let gateway: TestGateway
  let other: TestGateway
  let aheadMs = 0

  before(async function () {
    for (const part of ['proxy', 'account', 'container', 'object'] as const)
      programPath(`swift-${part}-server`, this)
    swift = await startBucket()
    const { variables } = swift
    const monotonic = () => Math.floor(performance.now()) + aheadMs
    gateway = await startGateway({ variables, monotonic })
    const answering = { ...variables, PICTURE_STORAGE_FAILURE: 'answer' }
    other = await startGateway({ variables: answering, monotonic, beside: gateway })
  })
  after(async () => {
    await other.stop()
    await gateway.stop()
    await swift.stop()
  })

  const job = async (headers: Record<string, string> = {}) => {
    const key = gateway.testKey
    const { id } = await startJob(gateway, request, { key, headers })
    return endedJob(gateway, id, key)
  }
  const linkOf = ({ result }: Job) => {
    const { pathname, search } = new URL(result!.data[0]!.url)
    return pathname + search
  }
  const objects = async () => (await swift.names()).filter((name) => name !== 'check')

  it('are served by each replica from their link, and deleted with their job', async () => {
    const { id, status, result } = await job()
    expect(status).to.equal('completed')
    expect(await objects()).to.have.length(1)
    const link = linkOf({ result } as Job)
    const whole = await getJob(other, id, gateway.testKey, '?include=b64_json')
    const bytes = Buffer.from(whole.result!.data[0]!.b64_json!, 'base64')
    for (const replica of [gateway, other]) {
      const response = await replica.fetch(link, { key: null })
      expect(response.status).to.equal(200)
      expect(response.headers.get('content-type')).to.equal('image/png')
      expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).to.equal(true)
    }
    const path = `${jobsPath}/${id}`
    expect((await gateway.fetch(path, { method: 'DELETE' })).status).to.equal(200)
    await expectError(await other.fetch(link, { key: null }), { status: 404, code: 'not_found' })
  })

  it('share the object of equal pictures', async () => {
    const before = (await objects()).length
    const [one, two] = [await job(), await job()]
    expect(linkOf(one)).to.not.equal(linkOf(two))
    expect(await objects()).to.have.length(before + 1)
  })

  it('are refused before a provider is called, or answered, while the bucket is full, slow or gone', async () => {
    const headers = { prefer: 'respond-async', 'cache-control': 'no-store' }
    const { output_tokens: plainTokens } = (await job()).result!.usage
    const refused = async (bytes: () => Promise<void> | void) => {
      await bytes()
      // The last success is trusted for five seconds.
      aheadMs += 5000
      const rows = (await gateway.usage()).length
      const response = await gateway.post('/v1/images/generations', request, { headers })
      const { message } = await expectError(response, { status: 503, code: 'overloaded' })
      expect(message).to.match(/pictures of jobs cannot be stored .*Try again/)
      expect(response.headers.get('retry-after')).to.equal('5')
      expect(await gateway.usage()).to.have.length(rows)
      const init = { headers, key: gateway.testKey }
      const watched = { ...request, partial_images: 1 }
      const answered = await other.post('/v1/images/generations', watched, init)
      expect([answered.status, answered.headers.get('preference-applied')]).to.deep.equal([
        200,
        null,
      ])
      const { data, usage, warnings } = (await answered.json()) as ImagesBody
      expect(data[0]!.b64_json).to.be.a('string').that.is.not.empty
      // Partial images that nothing can show are not requested, nor charged.
      expect(warnings!.map(({ param }) => param)).to.deep.equal(['partial_images'])
      expect(usage.output_tokens).to.equal(plainTokens)
    }
    await refused(() => swift.limit(1))
    await swift.limit(1_000_000_000)
    await refused(() => swift.kill('SIGSTOP'))
    swift.kill('SIGCONT')
    await refused(() => swift.kill('SIGKILL'))
    for (const log of [gateway.logText(), other.logText()]) {
      expect(log).to.match(/The bucket http:\S+ cannot be used/)
      expect(log).to.not.include(swift.secretAccessKey)
      expect(log).to.not.match(/AWS4-HMAC|test:tester/)
    }
  })
})
