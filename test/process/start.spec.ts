import { createServer } from 'node:http'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
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

  it('prints its address and a working test key', async () => {
    const key = printedKey(server)
    const response = await fetch(`${server.url}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(response.status).to.equal(200)
  })

  it('prints a command that makes a picture', async () => {
    const [line] = await server.printed(/^curl .*$/m)
    const shell = startProgram('bash', ['-o', 'pipefail', '-c', line], { folder: folder.path })
    const { code, stdout, stderr } = await shell.ended
    expect({ code, stdout, stderr }).to.deep.equal({ code: 0, stdout: '', stderr: '' })
    const picture = sharp(join(folder.path, 'picture.png'))
    const { format, width, height } = await picture.metadata()
    expect({ format, width, height }).to.deep.equal({ format: 'png', width: 1024, height: 1024 })
    expect((await picture.stats()).entropy).to.be.above(1)
  })

  it('reports that no provider is configured', () => {
    expect(server.stdout()).to.include('Providers: none, so live keys')
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

describe('a failed start', () => {
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

  it('reports all invalid settings at once and exits with 78', async () => {
    const file = join(folder.path, 'wrong.yaml')
    writeFileSync(file, 'limits: { requests_per_minute: 0 }\nno_such_setting: 1\n')
    const { code, stdout, stderr } = await start({
      PORT: 'eighty',
      LOG_LEVEL: 'loud',
      DATABASE_URL: 'mysql://somewhere/db',
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

  it('names the command line, when it gets arguments', async () => {
    const { code, stdout, stderr } = await runProgram('src/main.ts', ['--help'], {
      folder: folder.path,
    })
    expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
    expect(stderr).to.match(
      /^This program is the server .*gateway -- --help` lists the commands\.\n$/,
    )
  })

  it('reports a port in use in one line', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { code, stderr } = await start({ PORT: String(port) })
    other.close()
    expect(code).to.equal(1)
    expect(stderr.trim().split('\n')).to.deep.equal([
      `The gateway cannot start: Port ${port} on 127.0.0.1 is already in use. Set PORT to another port.`,
    ])
  })

  it('reports a wrong folder, file or address in one line', async () => {
    const file = join(folder.path, 'a-file')
    writeFileSync(file, 'these are not the bytes of a database at all')
    const corrupt = join(folder.path, 'corrupt')
    mkdirSync(corrupt)
    copyFileSync(file, join(corrupt, 'gateway.db'))
    const blocked = join(folder.path, 'blocked')
    mkdirSync(join(blocked, 'gateway.db'), { recursive: true })
    const rows: [variables: Record<string, string>, code: number, line: RegExp][] = [
      [{ DATA_DIR: file }, 1, /DATA_DIR: .*a-file cannot hold the store: it is not a folder\. Set/],
      [
        { DATA_DIR: join(file, 'x') },
        1,
        /DATA_DIR: .* a part of its path is not a folder\. Set DATA_DIR/,
      ],
      [
        { DATA_DIR: '/proc/x/y' },
        1,
        /DATA_DIR: .proc.x.y cannot hold the store: .*\. Set DATA_DIR/,
      ],
      [
        { DATA_DIR: corrupt },
        1,
        /corrupt.gateway\.db cannot be opened: it is not a database\. Move/,
      ],
      [{ DATA_DIR: blocked }, 1, /blocked.gateway\.db cannot be opened: it is a folder\. Move it/],
      [
        { HOST: '192.0.2.1' },
        1,
        /listen on 192\.0\.2\.1, port 0: it is not an address of this mach/,
      ],
      [{ UPLOAD_DIR: file }, 78, /UPLOAD_DIR: .*a-file is not a folder\. Set it to/],
      [{ CONFIG_FILE: folder.path }, 78, /CONFIG_FILE: .* cannot be read: it is a folder\.$/],
      [{ OPENAI_API_KEY: 'hello' }, 78, /OPENAI_API_KEY: the key is too short\./],
    ]
    for (const [variables, code, line] of rows) {
      const ended = await start(variables)
      expect({ code: ended.code, stdout: ended.stdout }, ended.stderr).to.deep.equal({
        code,
        stdout: '',
      })
      const lines = ended.stderr.trim().split('\n')
      expect(lines.at(-1)).to.match(line)
      expect(lines).to.have.length(code === 1 ? 1 : 2)
    }
  })

  it('reports a store locked by another program in one line', async () => {
    const data = makeFolder()
    const holder = new DatabaseSync(join(data.path, 'gateway.db'))
    holder.exec('PRAGMA journal_mode = WAL; BEGIN EXCLUSIVE')
    const { code, stderr } = await start({ DATA_DIR: data.path })
    holder.close()
    data.remove()
    expect(code).to.equal(1)
    expect(stderr).to.match(
      /^The gateway cannot start: .* another program has locked it\. Stop .*\n$/,
    )
  })
})

describe('a start with doubtful settings', () => {
  it('prints a warning without the key', async () => {
    const folder = makeFolder()
    const server = await startServer({
      folder: folder.path,
      variables: { GROQ_API_KEY: 'abcd-0123456789' },
    })
    server.kill('SIGKILL')
    const { stdout } = await server.ended
    folder.remove()
    expect(stdout).to.include('GROQ_API_KEY: keys of Groq usually begin with gsk_.')
    expect(stdout).to.not.include('abcd-')
  })
})
