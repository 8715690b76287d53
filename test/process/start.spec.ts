import { createServer } from 'node:http'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runProgram, startProgram } from '../support/program.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'

describe('the first start', () => {
  let folder: TemporaryFolder
  let server: ServerProcess
  before(async () => {
    folder = makeFolder()
    server = await startServer({ folder: folder.path })
  })
  after(async () => {
    server.kill('SIGKILL')
    await server.ended
    folder.remove()
  })

  it('prints where it listens and a test key that works', async () => {
    const key = printedKey(server)
    const response = await fetch(`${server.url}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(response.status).to.equal(200)
  })

  it('prints one line that makes a picture when it is pasted', async () => {
    const [line] = await server.printed(/^curl .*$/m)
    const shell = startProgram('bash', ['-o', 'pipefail', '-c', line], { folder: folder.path })
    const { code, stdout, stderr } = await shell.ended
    expect({ code, stdout, stderr }).to.deep.equal({ code: 0, stdout: '', stderr: '' })
    const picture = sharp(join(folder.path, 'picture.png'))
    const { format, width, height } = await picture.metadata()
    expect({ format, width, height }).to.deep.equal({ format: 'png', width: 1024, height: 1024 })
    expect((await picture.stats()).entropy).to.be.above(1)
  })

  it('says in words that no provider is configured', () => {
    expect(server.stdout()).to.include('Providers: none yet')
  })
})

describe('the second start', () => {
  it('prints no key, and the key of the first start still works', async () => {
    const folder = makeFolder()
    const first = await startServer({ folder: folder.path })
    const key = printedKey(first)
    first.kill('SIGTERM')
    await first.ended
    const second = await startServer({ folder: folder.path })
    const response = await fetch(`${second.url}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
    })
    second.kill('SIGTERM')
    const { stdout } = await second.ended
    folder.remove()
    expect(stdout).to.not.match(/mag_(test|live)_/)
    expect(stdout).to.include('keys create')
    expect(response.status).to.equal(200)
  })
})

describe('a start that cannot be', () => {
  let folder: TemporaryFolder
  before(() => {
    folder = makeFolder()
  })
  after(() => folder.remove())

  const start = (variables: Record<string, string>) =>
    runProgram('src/main.ts', [], {
      folder: folder.path,
      variables: { PORT: '0', DATA_DIR: join(folder.path, 'data'), ...variables },
    })

  it('tells every wrong setting at once and exits with 78', async () => {
    const file = join(folder.path, 'wrong.yaml')
    writeFileSync(file, 'limits: { requests_per_minute: 0 }\nno_such_setting: 1\n')
    const { code, stdout, stderr } = await start({
      PORT: 'eighty',
      LOG_LEVEL: 'loud',
      DATABASE_URL: 'postgres://somewhere/db',
      CONFIG_FILE: file,
    })
    expect({ code, stdout }).to.deep.equal({ code: 78, stdout: '' })
    for (const name of [
      'PORT',
      'LOG_LEVEL',
      'DATABASE_URL',
      'limits.requests_per_minute',
      'no_such_setting',
    ]) {
      expect(stderr).to.include(name)
    }
    expect(stderr).to.not.match(/^\s+at /m)
  })

  it('says in one line that the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { code, stderr } = await start({ PORT: String(port) })
    other.close()
    expect(code).to.equal(1)
    expect(stderr.trim().split('\n')).to.deep.equal([
      'The gateway cannot start: The address is in use already. Set PORT to another one.',
    ])
  })

  it('says in one line that the store is no store', async () => {
    const data = makeFolder()
    writeFileSync(join(data.path, 'gateway.db'), 'these are not the bytes of a database at all')
    const { code, stderr } = await start({ DATA_DIR: data.path })
    data.remove()
    expect(code).to.equal(1)
    expect(stderr).to.match(/^The gateway cannot start: The store .*gateway\.db failed: .+\n$/)
  })
})
