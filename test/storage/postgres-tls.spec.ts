import { expect } from 'chai'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../src/storage/store-error.ts'
import { useDatabase } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { programPath } from '../support/program-path.ts'
import { startPostgres, type TestPostgres } from '../support/servers/postgres.ts'
import { openTestStore } from '../support/store.ts'

const support = join(import.meta.dirname, '../support')
const certificatePath = join(support, 'public-host-certificate-for-tests.pem')
const keyPath = join(support, 'public-host-key-for-tests.pem')

/** Time for which a start retries after temporary errors. */
const limits = { databaseConnectTimeoutMs: 1000, databaseStartWaitMs: 60_000 }

describe('a store on a PostgreSQL with TLS', () => {
  let server: TestPostgres
  let url: string
  let folder: TemporaryFolder
  const warnings: string[] = []
  const heard = ({ message }: Error) => warnings.push(message)
  before(async function () {
    programPath('postgres', this)
    const files = { 'server.crt': readFileSync(certificatePath, 'utf8') }
    const key = readFileSync(keyPath, 'utf8')
    server = await startPostgres(
      { ssl: 'on', listen_addresses: '127.0.0.1,127.0.0.3' },
      { ...files, 'server.key': key },
    )
    url = await server.createDatabase()
    process.on('warning', heard)
  })
  after(() => {
    process.off('warning', heard)
    return server?.stop()
  })
  beforeEach(() => {
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  const open = (parameters: Readonly<Record<string, string>>) => {
    const address = new URL(url)
    address.password = 'very-secret'
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
    useDatabase(folder.path, address.href)
    return openTestStore(folder.path, 'normal', limits)
  }
  const refusal = async (parameters: Readonly<Record<string, string>>) => {
    const thrown: unknown = await open(parameters).then(
      (store) => store.close(),
      (error: unknown) => error,
    )
    expect(thrown).to.be.instanceOf(StoreError)
    const { message } = thrown as StoreError
    expect(message).to.not.contain('very-secret')
    return message
  }

  for (const sslmode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
    it(`verifies its certificate with sslmode=${sslmode}, without a warning from the driver`, async () => {
      expect(await refusal({ sslmode })).to.match(
        /cannot be opened: its TLS certificate is not trusted \(self-signed certificate.*\)\. Set sslrootcert/,
      )
      await (await open({ sslmode, sslrootcert: certificatePath })).close()
      expect(warnings).to.deep.equal([])
    })
  }

  it('refuses a certificate of another host', async () => {
    const of = { sslmode: 'require', sslrootcert: certificatePath, host: '127.0.0.3' }
    expect(await refusal(of)).to.match(/not trusted .*127\.0\.0\.3/)
  })

  it('opens with sslmode=no-verify and with disable, whatever the certificate', async () => {
    await (await open({ sslmode: 'no-verify' })).close()
    await (await open({ sslmode: 'disable' })).close()
  })

  it('verifies as libpq does with uselibpqcompat', async () => {
    await (await open({ sslmode: 'require', uselibpqcompat: 'true' })).close()
  })

  it('names an unreadable file, with the reason', async () => {
    const missing = join(folder.path, 'missing.pem')
    for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
      const text = `the file ${missing} (${name}) cannot be read: it does not exist.`
      expect(await refusal({ [name]: missing })).to.contain(text)
    }
    const text = `the file ${folder.path} (sslrootcert) cannot be read: it is a folder.`
    expect(await refusal({ sslrootcert: folder.path })).to.contain(text)
  })

  it('reports a file without a certificate', async () => {
    const wrong = join(folder.path, 'wrong.pem')
    writeFileSync(wrong, 'no certificate')
    expect(await refusal({ sslrootcert: wrong })).to.match(/its TLS certificate is not trusted/)
    const message = await refusal({ sslrootcert: certificatePath, sslcert: wrong, sslkey: wrong })
    expect(message).to.match(/TLS/)
  })
})
