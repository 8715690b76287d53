import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { PictureFileStore } from '../../src/accounts/picture-files.ts'
import type { PictureFile } from '../../src/core/picture-files.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { pictureRemoval } from '../../src/accounts/picture-rows.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, suiteClock, type TestGateway } from '../support/gateway.ts'
import { bytesOf, openPictureFiles, pictureOf, putFile } from '../support/picture-files.ts'
import { openGuardedStore } from '../support/store.ts'

const dayMs = 86_400_000

describe('links to pictures', () => {
  let gateway: TestGateway
  let store: GuardedStore
  let files: PictureFileStore
  let accountId: string
  let aheadMs = 0
  const clock = () => suiteClock() + aheadMs
  const picture = pictureOf(Buffer.alloc(5000, 'picture'))
  const bytes = bytesOf(picture)

  before(async () => {
    gateway = await startGateway({ clock })
    store = await openGuardedStore(gateway.dataDir)
    files = await openPictureFiles({ store, dataDir: gateway.dataDir, clock })
    accountId = await gateway.createAccount()
  })
  after(async () => {
    await files.close()
    await store.close()
    await gateway.stop()
  })
  afterEach(() => void (aheadMs = 0))

  const put = (id: string, of = picture, account = accountId): Promise<PictureFile> =>
    putFile({ files, store, clock }, { accountId: account, mode: 'live', id }, of)
  const linkTo = (file: PictureFile, account = accountId): string => {
    const { pathname, search } = new URL(files.linkTo({ accountId: account }, file))
    return pathname + search
  }
  const get = (link: string, headers: Record<string, string> = {}, method = 'GET') =>
    gateway.fetch(link, { key: null, headers, method })
  const lengthOf = async (response: Response) => (await response.arrayBuffer()).byteLength

  it('give the picture without a key, with its true type, and keep it out of every cache', async () => {
    const file = await put('job_1')
    const response = await get(linkTo(file))
    expect(response.status).to.equal(200)
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).to.equal(true)
    const header = (name: string) => response.headers.get(name)
    expect(header('content-type')).to.equal('image/png')
    expect(header('content-length')).to.equal(String(bytes.length))
    expect(header('cache-control')).to.equal('no-store')
    expect(header('x-content-type-options')).to.equal('nosniff')
    expect(header('content-security-policy')).to.equal("default-src 'none'; sandbox")
    expect(header('content-disposition')).to.equal(`inline; filename="${file.id}.png"`)
    expect(header('accept-ranges')).to.equal('bytes')
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    expect(header('etag')).to.equal(`"${sha256}"`)
    expect(file).to.include({ sha256, bytes: bytes.length, format: 'png' })
  })

  it('answer HEAD with the headers of GET, and If-None-Match with 304', async () => {
    const file = await put('job_1')
    const head = await get(linkTo(file), { range: 'bytes=0-9' }, 'HEAD')
    expect([head.status, head.headers.get('content-length'), await head.text()]).to.deep.equal([
      200,
      String(bytes.length),
      '',
    ])
    for (const tag of [`"${file.sha256}"`, `W/"${file.sha256}"`, '*', `"a", "${file.sha256}"`]) {
      const unchanged = await get(linkTo(file), { 'if-none-match': tag, range: 'bytes=0-9' })
      expect([unchanged.status, await unchanged.text()], tag).to.deep.equal([304, ''])
    }
    expect((await get(linkTo(file), { 'if-none-match': '"a"' })).status).to.equal(200)
  })

  const size = bytes.length
  const ranges = [
    ['bytes=0-9', 0, 10],
    ['bytes=100-', 100, size],
    ['bytes=-7', size - 7, size],
    [`bytes=-${size * 2}`, 0, size],
    [`bytes=5-${size * 2}`, 5, size],
    ['Bytes=0-0', 0, 1],
  ] as const
  for (const [range, start, end] of ranges)
    it(`answer ${range} with a part`, async () => {
      const response = await get(linkTo(await put('job_1')), { range })
      expect(response.status).to.equal(206)
      const part = Buffer.from(await response.arrayBuffer())
      expect(part.equals(bytes.subarray(start, end))).to.equal(true)
      const [length, range_] = ['content-length', 'content-range'].map((name) =>
        response.headers.get(name),
      )
      expect([length, range_]).to.deep.equal([
        String(end - start),
        `bytes ${start}-${end - 1}/${size}`,
      ])
    })

  for (const range of [
    'bytes=0-1, 5-9',
    'bytes=9-5',
    'lines=0-9',
    'bytes=',
    'bytes=-',
    'bytes=a-b',
  ])
    it(`answer ${range} with the whole picture`, async () => {
      const response = await get(linkTo(await put('job_1')), { range })
      expect([response.status, await lengthOf(response)]).to.deep.equal([200, size])
    })

  for (const range of [`bytes=${size}-`, 'bytes=99999999-', 'bytes=-0'])
    it(`refuse ${range}`, async () => {
      const response = await get(linkTo(await put('job_1')), { range })
      expect(response.headers.get('content-range')).to.equal(`bytes */${size}`)
      await expectError(response, { status: 416, code: 'invalid_value', param: 'range' })
    })

  it('answer a range with the whole picture if If-Range names another one', async () => {
    const file = await put('job_1')
    const answer = async (condition: string) => {
      const headers = { range: 'bytes=0-9', 'if-range': condition }
      return lengthOf(await get(linkTo(file), headers))
    }
    expect(await answer(`"${file.sha256}"`)).to.equal(10)
    expect(await answer('"other"')).to.equal(size)
    expect(await answer(`W/"${file.sha256}"`)).to.equal(size)
    expect(await answer('Sun, 22 Nov 2026 12:00:00 GMT')).to.equal(size)
  })

  it('are refused with any bit changed in id, account, end or signature', async () => {
    const file = await put('job_1')
    const link = linkTo(file)
    const { pathname, searchParams } = new URL(link, gateway.url)
    const values = [
      file.id,
      ...['account', 'expires', 'signature'].map((n) => searchParams.get(n)!),
    ]
    const linkOf = ([id, account, expires, signature]: readonly string[]) =>
      `${pathname.replace(file.id, encodeURIComponent(id!))}?${new URLSearchParams({ account: account!, expires: expires!, signature: signature! }).toString()}`
    expect((await get(linkOf(values))).status).to.equal(200)
    let refused = 0
    for (const [part, value] of values.entries())
      for (let at = 0; at < value.length; at++) {
        // Two bits of each character, so that the test stays short.
        for (const bit of [1 << (at % 4), 1 << (4 + (at % 3))]) {
          const changed = Buffer.from(value)
          changed[at]! ^= bit
          const text = changed.toString('latin1')
          // Characters that end or change the path itself.
          if (part === 0 && /[/?#%.\\\p{C}]/u.test(text)) continue
          const response = await get(linkOf(values.with(part, text)))
          expect(response.status, `${part} ${text}`).to.equal(404)
          refused++
        }
      }
    expect(refused).to.be.greaterThan(180)
    const signature = values[3]!
    for (const other of [
      signature.slice(1),
      `${signature}A`,
      `${signature}=`,
      signature.toLowerCase(),
    ])
      await expectError(await get(linkOf(values.with(3, other))), {
        status: 404,
        code: 'not_found',
      })
    await expectError(await get(link.replace(/&signature=.*/, '')), {
      status: 400,
      code: 'missing_required_parameter',
      param: 'signature',
    })
  })

  it('expire after an hour, and with the picture', async () => {
    const file = await put('job_1')
    const link = linkTo(file)
    aheadMs = 3_590_000
    expect((await get(link)).status).to.equal(200)
    aheadMs = 3_600_000
    const { message } = await expectError(await get(link), { status: 404, code: 'not_found' })
    expect(message).to.contain('has expired')
    expect((await get(linkTo(file))).status).to.equal(200)
    aheadMs = 7 * dayMs - 5000
    const last = linkTo(file)
    expect((await get(last)).status).to.equal(200)
    aheadMs = 7 * dayMs
    expect(
      (await expectError(await get(last), { status: 404, code: 'not_found' })).message,
    ).to.contain('has expired')
  })

  it('end when the picture is deleted, although another file has the same bytes', async () => {
    const [file, other] = [await put('job_2'), await put('job_3')]
    const [link, otherLink] = [linkTo(file), linkTo(other)]
    await store.commit(pictureRemoval(store.db, 'job_2'))
    const { message } = await expectError(await get(link), { status: 404, code: 'not_found' })
    expect(message).to.contain('was deleted')
    expect((await get(otherLink)).status).to.equal(200)
    aheadMs = 3 * 60_000
    await files.sweep()
    expect((await get(otherLink)).status).to.equal(200)
  })

  it('never lead to the file of another account, even with equal bytes', async () => {
    const otherAccount = await gateway.createAccount()
    const [own, other] = [await put('job_4'), await put('job_5', picture, otherAccount)]
    // Signed by the gateway, but for a file that this account does not have.
    await expectError(await get(linkTo(other, accountId)), { status: 404, code: 'not_found' })
    await expectError(await get(linkTo(own, otherAccount)), { status: 404, code: 'not_found' })
    const account = { accountId, mode: 'live' } as const
    expect(await files.open(account, own.id)).to.not.equal(undefined)
    expect(await files.open(account, other.id)).to.equal(undefined)
    expect(await files.open({ accountId, mode: 'test' }, own.id)).to.equal(undefined)
  })
})
