import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { look } from '../support/pictures.ts'
import { startProgram } from '../support/program.ts'
import { printedKey, startServer } from '../support/server-process.ts'

const installTimeoutMs = 300_000
/** All files of the package outside of bin/ and dist/. */
const others = ['LICENSE', 'README.md', 'package.json']

type Members = Record<string, unknown>
type Lock = { packages: Record<string, Members> }
type Packed = { filename: string; files: { path: string }[] }

describe('the npm package', () => {
  let folder: TemporaryFolder
  let packed: Packed
  let home: string
  let bin: string
  const npm = (cwd: string, ...words: string[]) => {
    const { PATH, HOME } = process.env
    // Use npm's cache before the network.
    const env = { PATH, HOME, npm_config_prefer_offline: 'true' }
    const options = { cwd, env, timeout: installTimeoutMs, encoding: 'utf8' } as const
    return execFileSync('npm', words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  }
  before(function () {
    this.timeout(2 * installTimeoutMs)
    folder = makeFolder()
    // With `--json` npm prints an array with an element for each package.
    const printed = npm(
      projectFolder,
      'run',
      '-s',
      'package',
      '--',
      '--json',
      '--pack-destination',
      folder.path,
    )
    packed = (JSON.parse(printed) as [Packed])[0]
    home = join(folder.path, 'an empty folder')
    mkdirSync(home)
    writeInstallation(home, `file:${join(folder.path, packed.filename)}`)
    npm(home, 'ci', '--no-audit', '--no-fund')
    bin = join(home, 'node_modules/.bin/model-access-gateway')
  })
  after(() => folder.remove())

  it('contains the program as JavaScript, and no other files', () => {
    const paths = packed.files.map(({ path }) => path)
    expect(paths.filter((path) => !/^(?:bin|dist)\//.test(path)).toSorted()).to.deep.equal(others)
    expect(paths.filter((path) => /\.tsx?$|\.map$|\.tsbuildinfo$/.test(path))).to.deep.equal([])
    expect(paths).to.include.members(['dist/src/main.js', 'dist/dashboard/dist/index.html'])
  })

  it('starts the gateway in an empty folder, with the dashboard, and makes a picture', async () => {
    const server = await startServer({ folder: home, command: [bin, []] })
    const key = printedKey(server)
    const answer = await fetch(`${server.url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: 'A lighthouse', size: '1024x1024' }),
    })
    const { data } = (await answer.json()) as { data: { b64_json: string }[] }
    expect(await look(data[0]!.b64_json)).to.include({ width: 1024, height: 1024 })
    const contract = ['/openapi.yaml', '/openapi-3.2.json?tag=v1', '/schemas/gateway.json']
    const paths = ['/dashboard', '/docs', ...contract, '/openapi.json', '/ready']
    const statuses = paths.map(async (path) => (await fetch(server.url + path)).status)
    expect(new Set(await Promise.all(statuses))).to.deep.equal(new Set([200]))
    server.kill('SIGTERM')
    expect(await server.ended).to.include({ code: 0, stderr: '' })
    expect(existsSync(join(home, 'data'))).to.equal(true)
  })

  it('runs commands, and names them as npx runs them', async () => {
    const run = (...words: string[]) =>
      startProgram(bin, words, { folder: home, variables: { DATA_DIR: join(home, 'data') } }).ended
    expect((await run('--help')).stdout).to.match(/^Usage: npx model-access-gateway <command>\n/)
    const made = await run('keys', 'create', '--mode', 'test', '--name', 'packed')
    expect(made).to.include({ code: 0, stderr: '' })
    expect(made.stdout).to.match(/^mag_test_\S+\n$/)
  })
})

/**
 * Writes the package.json and package-lock.json of a folder that depends on the package alone, with the versions of
 * this project's lockfile: npm then asks the registry for no other versions.
 */
function writeInstallation(home: string, tarball: string): void {
  const lock = readProject('package-lock.json') as Lock
  const needed = Object.entries(lock.packages).filter(
    ([path, { dev }]) => path !== '' && dev !== true,
  )
  const name = 'model-access-gateway'
  const top = { dependencies: { [name]: tarball } }
  const { version, dependencies, optionalDependencies, bin } = readProject(
    'package.json',
  ) as Members
  const packages = {
    '': top,
    [`node_modules/${name}`]: {
      version,
      resolved: tarball,
      dependencies,
      optionalDependencies,
      bin,
    },
    ...Object.fromEntries(needed),
  }
  writeFileSync(join(home, 'package.json'), JSON.stringify(top))
  writeFileSync(join(home, 'package-lock.json'), JSON.stringify({ ...lock, packages }))
}

function readProject(name: string): unknown {
  return JSON.parse(readFileSync(join(projectFolder, name), 'utf8'))
}
