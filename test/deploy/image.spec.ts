import { chmodSync, readFileSync } from 'node:fs'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect } from 'chai'
import { validate, ValidationSeverity } from 'dockerfile-utils'
import { freePort } from '../../scripts/free-port.ts'
import {
  bytesIn,
  placed,
  replayImage,
  type ReplayedImage,
} from '../support/deploy/replayed-image.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { look } from '../support/pictures.ts'

// The size of gcr.io/distroless/cc-debian12, from the installed sizes of its Debian packages.
const baseBytes = 26_000_000
const bytesMax = 250_000_000
const replayTimeoutMs = 300_000

describe('the container image', () => {
  let folder: TemporaryFolder
  let image: ReplayedImage
  before(function () {
    this.timeout(replayTimeoutMs)
    folder = makeFolder()
    // The user of the image must be able to enter the folder.
    chmodSync(folder.path, 0o755)
    image = replayImage(folder.path)
  })
  const children: ChildProcess[] = []
  after(() => {
    for (const child of children) child.kill('SIGKILL')
    folder.remove()
  })

  /** Starts a command of the image. If this process is root, the command runs as the image's user. */
  const start = ([program = '', ...words]: string[], port: number) => {
    const variables = Object.entries({ ...image.variables, HOST: '127.0.0.1', PORT: String(port) })
    const child = spawn(
      placed(program, image),
      words.map((word) => placed(word, image)),
      {
        cwd: placed(image.workingFolder, image),
        env: Object.fromEntries(variables.map(([name, value]) => [name, placed(value, image)])),
        ...(process.getuid?.() === 0 ? image.user : {}),
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    children.push(child)
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (piece: string) => (errors += piece))
    return { child, ended: once(child, 'close'), errors: () => errors }
  }

  it('has a Dockerfile without linter errors', () => {
    const text = readFileSync(join(projectFolder, 'deploy/Dockerfile'), 'utf8')
    const strict = ValidationSeverity.ERROR
    const complaints = validate(text, {
      deprecatedMaintainer: strict,
      directiveCasing: strict,
      emptyContinuationLine: strict,
      instructionCasing: strict,
      instructionCmdMultiple: strict,
      instructionEntrypointMultiple: strict,
      instructionHealthcheckMultiple: strict,
      instructionJSONInSingleQuotes: strict,
      instructionWorkdirRelative: strict,
    })
    expect(complaints).to.deep.equal([])
  })

  it('has less than 250 MB', () => {
    const files = bytesIn(image.root)
    const text = `its files ${megabytes(files)} MB, its base ${megabytes(baseBytes)} MB`
    process.stdout.write(`      ${text}\n`)
    expect(files + baseBytes, text).to.be.below(bytesMax)
    // The folder is small only without the optional npm package of Node, which the image does not need.
    expect(bytesIn(join(image.root, 'gateway'))).to.be.below(70_000_000)
  })

  it('runs as its own user, who can write only to its volumes', async function () {
    expect(image.user.uid).to.be.greaterThan(999)
    expect(image.volumes).to.deep.equal(['/data'])
    expect(image.variables).to.include({ HOST: '0.0.0.0', DATA_DIR: '/data' })
    // Skips the test without root, because only root can change the owner of files.
    if (process.getuid?.() !== 0) this.skip()
    const script = `
      const mayWrite = (folder) => {
        try { require('fs').accessSync(folder, 2); return true } catch { return false }
      }
      console.log(JSON.stringify(process.argv.slice(1).map(mayWrite)))`
    const folders = ['/data', '/var/cache/gateway', '/gateway', '/gateway/dist', '/usr/local/bin']
    const asked = start([image.command[0]!, '-e', script, ...folders], 0)
    const [printed] = (await once(asked.child.stdout.setEncoding('utf8'), 'data')) as [string]
    expect(JSON.parse(printed)).to.deep.equal([true, true, false, false, false])
  })

  it('answers calls, reports its health, and stops on its signal', async () => {
    const port = await freePort()
    const gateway = start(image.command, port)
    const [printed] = (await Promise.race([
      once(gateway.child.stdout.setEncoding('utf8'), 'data'),
      gateway.ended,
    ])) as [string]
    const key = /mag_test_[\w-]+/.exec(printed)?.[0]
    expect(key, `${printed}${gateway.errors()}`).to.be.a('string')
    const url = `http://127.0.0.1:${port}`
    const statuses = ['/health', '/ready', '/docs', '/openapi.yaml', '/dashboard'].map(
      async (path) => (await fetch(url + path)).status,
    )
    expect(await Promise.all(statuses)).to.deep.equal([200, 200, 200, 200, 200])
    const page = await (await fetch(`${url}/dashboard`)).text()
    const [, script = ''] = /<script type="module" crossorigin src="([^"]+)"/.exec(page) ?? []
    expect((await fetch(url + script)).headers.get('content-type')).to.match(/^text\/javascript/)
    const answer = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-image-2', prompt: 'A fox', output_format: 'webp' }),
    })
    const { data } = (await answer.json()) as { data: { b64_json: string }[] }
    expect((await look(data[0]!.b64_json)).format).to.equal('webp')
    const health = async () => (await start(image.healthCheck, port).ended)[0]
    expect(await health(), 'while it runs').to.equal(0)
    gateway.child.kill(image.stopSignal)
    expect(await gateway.ended).to.deep.equal([0, null])
    expect(gateway.errors()).not.to.include('"level":"error"')
    expect(await health(), 'when it is gone').to.equal(1)
  })
})

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6)
}
