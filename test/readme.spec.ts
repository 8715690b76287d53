import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { freePort } from '../scripts/free-port.ts'
import { ownKey } from './support/own-endpoint.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from './support/folder.ts'
import { look } from './support/pictures.ts'
import { startProgram, type Program } from './support/program.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'

const timeoutMs = 60_000
const page = readFileSync(join(projectFolder, 'README.md'), 'utf8')
const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, , block = '']) => block)

/** Blocks that are not run here, by their first words. */
const notRun = [
  'npm test', // These tests.
  'docker build', // It needs Docker.
  'python3 -m venv', // It needs the Internet.
  'from openai import', // It needs a Python package.
  'claude mcp add', // It needs Claude Code and a public address.
]

describe('the blocks of README.md', function () {
  this.timeout(timeoutMs)
  let folder: TemporaryFolder
  let upstream: Upstream
  let port: number
  let server: Program
  const left = new Set(blocks.filter((block) => !notRun.some((words) => block.startsWith(words))))
  /** The block that begins with `words`, with the port of this test. */
  const take = (words: string) => {
    const [block, ...others] = [...left].filter((one) => one.startsWith(words))
    expect(others, words).to.deep.equal([])
    left.delete(block!)
    return block!.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
  }
  const shell = (script: string, variables: Record<string, string> = {}, secret = '') => {
    const { PATH, HOME } = process.env
    const running = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: folder.path,
      env: { PATH, HOME, PORT: `${port}`, OPENAI_BASE_URL: upstream.url, ...variables },
      timeout: timeoutMs,
    })
    running.child.stdin!.end(secret)
    return running
  }

  before(async () => {
    folder = makeFolder()
    for (const name of ['bin', 'node_modules']) {
      symlinkSync(join(projectFolder, name), join(folder.path, name))
    }
    copyFileSync(join(projectFolder, 'package.json'), join(folder.path, 'package.json'))
    upstream = await startUpstream()
    upstream.answer({ body: { object: 'list', data: [] } })
    port = await freePort()
    // `npm ci` has run before the tests.
    const start = take('npm ci && npm start').replace('npm ci && ', 'exec ')
    const variables = { PORT: `${port}`, LOG_LEVEL: 'warn' }
    server = startProgram('bash', ['-c', start], { folder: folder.path, variables, isGroup: true })
    await server.printed(/\/dashboard\/setup#token=/)
  })
  after(async () => {
    server?.killGroup()
    await upstream?.stop()
    folder?.remove()
  })

  it('print a command that writes a picture', async () => {
    const [command] = /^curl .*\/v1\/images\/.*$/m.exec(server.stdout())!
    await shell(command)
    const picture = readFileSync(join(folder.path, 'picture.png'))
    expect(await look(picture.toString('base64'))).to.include({ format: 'png', width: 1024 })
  })

  it('create a test key, with which the TypeScript client makes pictures', async () => {
    writeFileSync(join(folder.path, 'hello.mjs'), take("import OpenAI from 'openai'"))
    const { stdout } = await shell(take('KEY=').replace(/^.* python3 hello.py\n/m, ''))
    expect(stdout).to.equal('3 pictures\n')
  })

  it("store a vendor's key and create a live key", async () => {
    const { stdout } = await shell(take('npm run -s gateway -- providers'), {}, ownKey)
    expect(stdout).to.match(/^mag_live_\S+$/m)
    expect(stdout).to.match(/^openai +http:\S+ +OpenAI accepts the key and lists 0 models\.$/m)
    expect(upstream.requests.at(-1)!.headers.authorization).to.equal(`Bearer ${ownKey}`)
  })

  it('configure an endpoint, routes, aliases and prices', async () => {
    const own = take('# yaml-language-server:').replace(
      '127.0.0.1:11434',
      new URL(upstream.url).host,
    )
    writeFileSync(join(folder.path, 'gateway.yaml'), own)
    const doctor = 'npm run -s gateway -- doctor'
    writeFileSync(join(folder.path, '.env'), 'CONFIG_FILE=gateway.yaml\n')
    const { stdout } = await shell(doctor)
    expect(stdout).to.match(/^local +http:\S+ /m)
  })

  it('create a key with limits, and list keys and usage', async () => {
    const { stdout } = await shell(take('npm run -s gateway -- keys create'))
    expect(stdout).to.match(/^mag_live_\S+\n/)
    expect(stdout).to.match(/ nightly$/m)
    expect(stdout).to.match(/^total +2 /m)
  })

  it('back up the store and try the migrations', async () => {
    await shell(take('npm run -s gateway -- backup'))
    const header = readFileSync(join(folder.path, 'gateway-backup.db')).subarray(0, 15)
    expect(header.toString()).to.equal('SQLite format 3')
  })

  it('are all run, except those that need other programs', () => {
    expect([...left]).to.deep.equal([])
  })
})
