import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { startProgram, type Program } from '../support/program.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { freePort } from '../../scripts/free-port.ts'

const page = readFileSync(join(projectFolder, 'docs/recipes/record-and-replay.md'), 'utf8')
const [program = '', record = '', replay = ''] = [
  ...page.matchAll(/^```(?:js|sh)\n(.*?)^```$/gms),
].map(([, block = '']) => block)
const timeoutMs = 120_000

describe('the blocks of the recipe on cassettes', function () {
  this.timeout(timeoutMs)
  const folders: TemporaryFolder[] = []
  let upstream: Upstream
  let server: Program | undefined
  before(async () => {
    upstream = await startUpstream()
    upstream.answer(completion('Paris.'))
  })
  after(async () => {
    server?.killGroup()
    await upstream.stop()
    for (const folder of folders) folder.remove()
  })
  const newFolder = () => {
    const folder = makeFolder()
    folders.push(folder)
    for (const name of ['bin', 'node_modules'])
      symlinkSync(join(projectFolder, name), join(folder.path, name))
    copyFileSync(join(projectFolder, 'package.json'), join(folder.path, 'package.json'))
    writeFileSync(join(folder.path, 'checkout.test.mjs'), program)
    return folder.path
  }
  const shell = (cwd: string, script: string, port: number) => {
    const { PATH, HOME } = process.env
    const env = { PATH, HOME, PORT: `${port}` }
    const own = script.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
    const ended = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${own}`
    return promisify(execFile)('bash', ['-euo', 'pipefail', '-c', ended], {
      cwd,
      env,
      timeout: timeoutMs,
    })
  }

  it('record beside a gateway with a vendor, and replay in a pipeline without one', async () => {
    const [here, pipeline] = [newFolder(), newFolder()]
    const port = await freePort()
    server = startProgram('bash', ['-c', 'exec npm start'], {
      folder: here,
      variables: {
        PORT: `${port}`,
        LOG_LEVEL: 'warn',
        OPENAI_API_KEY: 'sk-recipe-0123456789',
        OPENAI_BASE_URL: upstream.url,
      },
      isGroup: true,
    })
    await server.printed(/\/dashboard\/setup#token=/)
    expect((await shell(here, record, port)).stdout).to.include('pass 1')
    expect(upstream.requests).to.have.length(1)
    copyFileSync(join(here, 'checkout.json'), join(pipeline, 'checkout.json'))
    const { stdout } = await shell(pipeline, replay, await freePort())
    expect(stdout).to.include('Imported checkout with 1 interaction.').and.include('pass 1')
    expect(upstream.requests).to.have.length(1)
  })
})
