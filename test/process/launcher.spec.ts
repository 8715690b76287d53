import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { startProgram } from '../support/program.ts'

const name = 'bin/model-access-gateway.cjs'

describe('the launcher', () => {
  let folder: TemporaryFolder
  before(() => {
    folder = makeFolder()
  })
  after(() => folder.remove())

  /** Runs the launcher of a checkout in a Node that claims to be another version or file. */
  const run = (checkout: string, claims: string, ...words: string[]) => {
    const preload = join(folder.path, 'claims.cjs')
    writeFileSync(preload, claims)
    const command = ['-r', preload, join(checkout, name), ...words]
    return startProgram(process.execPath, command, { folder: folder.path }).ended
  }
  const claimVersion = (version: string) =>
    `Object.defineProperty(process.versions, 'node', { value: '${version}' })\n`

  it('runs a command, or prints the version', async () => {
    const settings = await run(projectFolder, '', 'settings')
    expect(settings).to.deep.include({ code: 0, stderr: '' })
    expect(settings.stdout).to.include('`BASE_URL`')
    const { stdout } = await run(projectFolder, '', '--version')
    expect(stdout).to.match(/^\d+\.\d+\.\d+\n$/)
  })

  it('uses the Node that npm installed with it, if the current one is too old', async () => {
    const { code, stdout } = await run(projectFolder, claimVersion('20.20.2'), '--help')
    expect(code).to.equal(0)
    expect(stdout).to.match(/^Usage: npm run -s gateway -- <command>/)
  })

  it('reports the required Node version in one line, if there is no other Node', async () => {
    const alone = join(folder.path, 'alone')
    mkdirSync(join(alone, 'bin'), { recursive: true })
    for (const file of [name, 'package.json'])
      copyFileSync(join(projectFolder, file), join(alone, file))
    const { code, stdout, stderr } = await run(alone, claimVersion('20.20.2'))
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(stderr).to.match(/^The gateway needs Node 24 or later; this is Node 20\.20\.2\. .*\n$/)
  })

  it('leaves out flags that another version of Node does not know', async () => {
    const node = join(folder.path, 'node')
    const options = '[ "$1" = --v8-options ] && echo "  --expose-gc (a) --max-semi-space-size (b)"'
    writeFileSync(node, `#!/bin/sh\n${options} || echo "$@"\n`)
    chmodSync(node, 0o755)
    const claims = `${claimVersion('99.0.0')}process.execPath = ${JSON.stringify(node)}\n`
    const { stdout } = await run(projectFolder, claims)
    const [flags] = stdout.split('\n').slice(-2)
    const known = '--disable-sigusr1 --expose-gc --max-semi-space-size=32'
    expect(flags).to.equal(`${known} ${join(projectFolder, 'src/main.ts')}`)
  })
})
