import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { createPictureBucket } from '../../src/storage/picture-bucket.ts'
import { programPath } from '../support/program-path.ts'
import { startBucket, type TestBucket } from '../support/servers/swift.ts'

const name = 'a'.repeat(32)
type Options = Parameters<typeof createPictureBucket>[0]

describe('a bucket for pictures', () => {
  let swift: TestBucket

  before(async function () {
    for (const part of ['proxy', 'account', 'container', 'object'] as const)
      programPath(`swift-${part}-server`, this)
    swift = await startBucket()
  })
  after(() => swift.stop())

  const bucketWith = (options: Partial<Options> = {}) => {
    const { address, accessKeyId, secretAccessKey } = swift
    return createPictureBucket({
      address,
      region: undefined,
      accessKeyId,
      secretAccessKey,
      ...options,
    })
  }
  /** The words of a failure of the check and of each other request. */
  const failures = async (options: Partial<Options>) => {
    const bucket = bucketWith(options)
    const requests = [
      () => bucket.check(),
      () => bucket.write(name, Buffer.from('picture')),
      () => bucket.read(name, 100),
      () => bucket.remove(name),
    ]
    const texts: string[] = []
    for (const request of requests)
      texts.push(
        await request().then(
          () => 'no failure',
          ({ message }: Error) => message,
        ),
      )
    await bucket.close()
    for (const text of texts) {
      expect(text).to.not.include(swift.secretAccessKey)
      expect(text).to.not.include('AWS4-HMAC')
      expect(text).to.match(/^The bucket http:\/\/127\.0\.0\.1:\d+\/\w+ cannot be used: .*\.$/)
    }
    return texts
  }

  it('stores, returns and removes contents, and knows which are missing', async () => {
    const bucket = bucketWith()
    await bucket.check()
    const content = Buffer.alloc(3_000_000, 'picture')
    await bucket.write(name, content)
    expect(await swift.names()).to.deep.equal([name, 'check'])
    expect((await bucket.read(name, content.length))!.equals(content)).to.equal(true)
    await bucket.remove(name)
    await bucket.remove(name)
    expect(await bucket.read(name, 100)).to.equal(undefined)
    expect(await swift.names()).to.deep.equal(['check'])
    await bucket.close()
  })

  it('reads no more of an object than a picture has', async () => {
    const bucket = bucketWith()
    await bucket.write(name, Buffer.alloc(3_000_000))
    expect((await bucket.read(name, 1000))!.length).to.be.at.most(1000)
    await bucket.remove(name)
    await bucket.close()
  })

  it('may be a path within the bucket', async () => {
    const bucket = bucketWith({ address: `${swift.address}/gateway/one/` })
    await bucket.write(name, Buffer.from('picture'))
    expect(await swift.names()).to.include(`gateway/one/${name}`)
    expect(String(await bucket.read(name, 100))).to.equal('picture')
    await bucket.remove(name)
    await bucket.close()
  })

  it('says what is wrong with its key, its name, its region and the clock', async () => {
    const says = async (options: Partial<Options>, words: RegExp) => {
      for (const text of await failures(options)) expect(text).to.match(words)
    }
    const key =
      /403 (SignatureDoesNotMatch|InvalidAccessKeyId|AccessDenied)\. Check PICTURE_BUCKET_ACCESS_KEY_ID/
    await says({ secretAccessKey: 'wrong' }, key)
    await says({ accessKeyId: 'test:other' }, key)
    await says(
      { region: 'eu-west-9' },
      /400 AuthorizationHeaderMalformed\. Correct PICTURE_BUCKET_REGION\.$/,
    )
    const absent = swift.address.replace('/pictures', '/absent')
    await says({ address: absent }, /404 NoSuchBucket\. Create the bucket, or correct/)
    for (const differsMs of [-3_600_000, 3_600_000])
      await says(
        { now: () => Date.now() + differsMs },
        /403 RequestTimeTooSkewed\. Correct the clock/,
      )
    const closed = 'http://127.0.0.1:9/pictures'
    await says({ address: closed }, /ECONNREFUSED .*\. Check PICTURE_BUCKET, and that/)
  })

  it('repeats nothing of an answer but its code', async () => {
    const echo = `<Error><Code>InternalError</Code><StringToSign>AWS4-HMAC ${swift.secretAccessKey}`
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(500).end(echo))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const text of await failures({ address: `http://127.0.0.1:${port}/pictures` }))
      expect(text).to.include('it answers 500 InternalError. ')
    server.close()
  })

  it('fails when it is full, slow or gone, and is used again afterwards', async () => {
    await swift.limit(10)
    const bucket = bucketWith({ timeoutMs: 500 })
    const full = await bucket.write(name, Buffer.alloc(1000)).catch(String)
    expect(full).to.match(/cannot be used: it answers 4\d\d \w+\. .*free space/)
    await swift.limit(1_000_000_000)
    await bucket.write(name, Buffer.alloc(1000))
    swift.kill('SIGSTOP')
    const slow = await bucket.read(name, 1000).catch(String)
    expect(slow).to.include('it does not answer in time')
    swift.kill('SIGCONT')
    expect((await bucket.read(name, 1000))!.length).to.equal(1000)
    swift.kill('SIGKILL')
    expect(await bucket.read(name, 1000).catch(String)).to.match(/ECONNREFUSED|closed|ECONNRESET/)
    await bucket.close()
  })
})
