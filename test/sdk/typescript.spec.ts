import { copyFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { run } from '../sdk-matrix/try-client.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { projectFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { look } from '../support/pictures.ts'
import { startProgram } from '../support/program.ts'
import { clientSources, installClient } from '../support/typescript-client.ts'

const read = (name: string) => readFileSync(join(projectFolder, name), 'utf8')
const scriptBytesMax = 200_000

describe('the package of the TypeScript client', () => {
  let gateway: TestGateway
  let installed: Awaited<ReturnType<typeof installClient>>
  /** Compiles the example in a project that has installed the package. */
  const compile = (...options: string[]) =>
    run(
      installed.folder.path,
      join(projectFolder, 'node_modules/.bin/tsc'),
      '--strict --target es2022 --types node --skipLibCheck false --outDir built example.ts'
        .split(' ')
        .concat(options),
    )
  before(async () => {
    gateway = await startGateway()
    installed = await installClient()
    copyFileSync(join(clientSources, 'example.ts'), join(installed.folder.path, 'example.ts'))
  })
  after(async () => {
    await gateway.stop()
    installed.folder.remove()
  })

  it('has the version of the gateway, and contains JavaScript with types and no sources', () => {
    const { version, files } = installed.packed
    expect(version).to.equal((JSON.parse(read('package.json')) as { version: string }).version)
    const paths = files.map(({ path }) => path)
    expect(paths).to.include.members(['LICENSE', 'README.md', 'dist/index.js', 'dist/index.d.ts'])
    expect(paths.filter((path) => /(?<!\.d)\.ts$/.test(path))).to.deep.equal([])
    expect(read('sdk/typescript/LICENSE')).to.equal(read('LICENSE'))
  })

  it('has no more JavaScript than its page says, which is far less than 200 kB', () => {
    const scripts = installed.packed.files.filter(({ path }) => path.endsWith('.js'))
    const bytes = scripts.reduce((sum, { size }) => sum + size, 0)
    const [, size] = /ES module of less than (\d+) kB/.exec(read('sdk/typescript/README.md'))!
    expect(bytes)
      .to.be.within(10_000, Number(size) * 1000)
      .and.below(scriptBytesMax)
  })

  it('has a page whose code is the example', () => {
    const page = read('sdk/typescript/README.md')
    const code = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
    const example = read('sdk/typescript/example.ts')
    expect(code.join('\n')).to.equal(example.slice(example.indexOf('\n') + 1))
    expect(page).to.include(` ./${installed.packed.filename}\n`)
  })

  const dom = ['--lib', 'es2022,dom,dom.iterable']
  const ways = {
    bundlers: ['--module', 'esnext', '--moduleResolution', 'bundler', ...dom],
    'node16 with the strictest options': [
      ...'--module node16 --lib es2022 --exactOptionalPropertyTypes'.split(' '),
      '--noUncheckedIndexedAccess',
    ],
  }
  for (const [name, options] of Object.entries(ways)) {
    it(`compiles for ${name}`, async () => {
      expect(await compile(...options)).to.equal('')
    })
  }

  it('compiles for Node, and runs the example', async () => {
    expect(await compile('--module', 'nodenext', '--lib', 'es2022')).to.equal('')
    const { folder } = installed
    const { ended } = startProgram(process.execPath, ['built/example.js'], {
      folder: folder.path,
      variables: { GATEWAY_URL: gateway.url, GATEWAY_KEY: gateway.testKey },
    })
    const { code, stdout, stderr } = await ended
    expect(stderr).to.match(/^Request: req_\w+\n$/)
    expect(code).to.equal(0)
    const reply = (question: string) => `.*gpt-5\\.4-mini.*${question}\\..*\\n`
    const lines = [
      '(?:Model: \\S+\\n){3}',
      `Chat: ${reply('Name three colours')}`,
      'Job: 1 picture\\n',
      `Chat stream: ${reply('Name three colours')}`,
      'Status: completed\\n',
      `Response stream: ${reply('Name a colour')}`,
      `Message stream: ${reply('Name a colour')}`,
      'Partial image: 0\\nPartial image: 1\\nImage: 1024x1024\\n',
      'Job stream: image_generation.completed\\n',
      'Error: 401 invalid_api_key\\n',
      'Error: 400 invalid_value temperature false\\n',
    ]
    expect(stdout).to.match(new RegExp(`^${lines.join('')}$`))
    for (const name of ['lighthouse.png', 'boat.png']) {
      const base64 = readFileSync(join(folder.path, name), 'base64')
      expect(await look(base64)).to.include({ format: 'png', width: 1024 })
    }
  })

  it('streams in a page of another origin, and shows it the errors with their headers', async function () {
    const browser = await openBrowser(this)
    const dist = join(installed.folder.path, 'node_modules/model-access-gateway-client/dist')
    const server = createServer(({ url = '/' }, response) => {
      const isScript = url.endsWith('.js')
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
      response.end(isScript ? readFileSync(join(dist, url)) : '<!doctype html><title>Page</title>')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const page = await browser.newPage()
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
      const { url, testKey } = gateway
      const seen = await page.evaluate<unknown>(`(async () => {
        const { createClient, listModels, streamMessage } = await import('/index.js')
        const client = createClient(${JSON.stringify({ baseUrl: url, auth: testKey })})
        const messages = [{ role: 'user', content: 'sandbox:cut-stream' }]
        const body = { model: 'gpt-5.4-mini', max_tokens: 100, messages }
        const types = new Set()
        try {
          for await (const { type } of streamMessage({ client, body })) types.add(type)
        } catch ({ name, code, requestId }) {
          const { data } = await listModels({ client, query: { limit: 2 } })
          return [[...types], name, code, requestId.slice(0, 4), data.data.length]
        }
      })()`)
      const types = ['message_start', 'content_block_start', 'content_block_delta']
      expect(seen).to.deep.equal([types, 'GatewayError', 'provider_error', 'req_', 2])
      await page.close()
    } finally {
      server.close()
      await closeBrowser()
    }
  })
})
