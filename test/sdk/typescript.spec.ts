import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { run } from '../sdk-matrix/try-client.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { look } from '../support/pictures.ts'
import { startProgram } from '../support/program.ts'
import { until } from '../support/until.ts'

const commandTimeoutMs = 120_000
const sources = join(projectFolder, 'sdk/typescript')
const read = (name: string) => readFileSync(join(projectFolder, name), 'utf8')

// The sources do not compile here, because they need the types of browsers.
type Client = {
  createClient(config: { baseUrl: string; auth?: string; fetch?: typeof fetch }): object
  streamChatCompletion(options: {
    client: object
    body: { model: string; messages: { role: 'user'; content: string }[] }
    signal?: AbortSignal
  }): AsyncGenerator<{ choices: { delta: { content?: string | null } }[] }>
  GatewayError: typeof Error
}
type Packed = { filename: string; version: string; files: { path: string }[] }

describe('the TypeScript client', () => {
  let gateway: TestGateway
  let folder: TemporaryFolder
  let packed: Packed
  let client: Client
  /** Compiles the example in a project that has installed the package. */
  const compile = (...options: string[]) =>
    run(
      folder.path,
      join(projectFolder, 'node_modules/.bin/tsc'),
      '--strict --target es2022 --types node --outDir built example.ts'.split(' ').concat(options),
    )
  before(async () => {
    gateway = await startGateway()
    folder = makeFolder()
    const npm = (...words: string[]) =>
      execFileSync('npm', words, {
        cwd: folder.path,
        env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
        timeout: commandTimeoutMs,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      })
    packed = (JSON.parse(npm('pack', '--json', sources)) as [Packed])[0]
    writeFileSync(join(folder.path, 'package.json'), '{"type":"module"}')
    npm('install', '--offline', '--no-audit', '--no-fund', `./${packed.filename}`)
    mkdirSync(join(folder.path, 'node_modules/@types'))
    const types = 'node_modules/@types/node'
    symlinkSync(join(projectFolder, types), join(folder.path, types))
    copyFileSync(join(sources, 'example.ts'), join(folder.path, 'example.ts'))
    const entry = join(folder.path, 'node_modules/model-access-gateway-client/dist/index.js')
    // The cast is safe, because the example was written against the same functions.
    client = (await import(pathToFileURL(entry).href)) as Client
  })
  after(async () => {
    await gateway.stop()
    folder.remove()
  })

  it('has the version of the gateway, and contains JavaScript with types and no sources', () => {
    expect(packed.version).to.equal((JSON.parse(read('package.json')) as Packed).version)
    const paths = packed.files.map(({ path }) => path)
    expect(paths).to.include.members(['LICENSE', 'README.md', 'dist/index.js', 'dist/index.d.ts'])
    expect(paths.filter((path) => /(?<!\.d)\.ts$/.test(path))).to.deep.equal([])
    expect(read('sdk/typescript/LICENSE')).to.equal(read('LICENSE'))
  })

  it('has a page whose code is the example', () => {
    const page = read('sdk/typescript/README.md')
    const code = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
    const example = read('sdk/typescript/example.ts')
    expect(code.join('\n')).to.equal(example.slice(example.indexOf('\n') + 1))
    expect(page).to.include(` ./${packed.filename}\n`)
  })

  it('compiles for bundlers', async () => {
    const options = ['--module', 'esnext', '--moduleResolution', 'bundler']
    expect(await compile(...options, '--lib', 'es2022,dom,dom.iterable')).to.equal('')
  })

  it('compiles for Node, and runs the example', async () => {
    expect(await compile('--module', 'nodenext', '--lib', 'es2022')).to.equal('')
    const { url, testKey } = gateway
    const { ended } = startProgram(process.execPath, ['built/example.js'], {
      folder: folder.path,
      variables: { GATEWAY_URL: url, GATEWAY_KEY: testKey },
    })
    const { code, stdout, stderr } = await ended
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    const answer = '.*gpt-5.4-mini.*Name three colours\\..*\\n'
    expect(stdout).to.match(
      new RegExp(
        `^(?:Model: \\S+\\n){3}Chat: ${answer}Stream: ${answer}Job: 1 picture\\n` +
          'Error: 401 invalid_api_key\\nError: 400 invalid_value temperature\\n$',
      ),
    )
    for (const name of ['lighthouse.png', 'boat.png']) {
      const base64 = readFileSync(join(folder.path, name), 'base64')
      expect(await look(base64)).to.include({ format: 'png', width: 1024 })
    }
  })

  /** Reads a streamed chat until `isEnough`. Returns the received texts, and the error that ended the stream. */
  const readStream = async (content: string, isEnough = () => false, signal?: AbortSignal) => {
    const { createClient, streamChatCompletion } = client
    const received: string[] = []
    const chunks = streamChatCompletion({
      client: createClient({ baseUrl: gateway.url, auth: gateway.testKey }),
      body: { model: 'gpt-5.4-mini', messages: [{ role: 'user', content }] },
      ...(signal === undefined ? {} : { signal }),
    })
    try {
      for await (const chunk of chunks) {
        received.push(chunk.choices[0]?.delta.content ?? '')
        if (isEnough()) break
      }
    } catch (error) {
      return { received, error: error as Error }
    }
    return { received }
  }
  /** The outcomes of the calls that were made during `act`, as soon as each has ended. */
  const outcomesOf = async (act: () => Promise<void>) => {
    const { length } = await gateway.usage()
    await act()
    const rows = async () => (await gateway.usage()).slice(length)
    await until('the call has ended', async () => (await rows()).length > 0)
    return (await rows()).map(({ outcome }) => outcome)
  }

  it('throws the error of a stream after its chunks, and does not repeat the call', async () => {
    const outcomes = await outcomesOf(async () => {
      const { received, error } = await readStream('sandbox:cut-stream')
      expect(received.join('')).to.not.equal('')
      expect(error).to.be.instanceOf(client.GatewayError)
      expect(error).to.nested.include({ 'error.code': 'provider_error', 'response.status': 200 })
    })
    expect(outcomes).to.deep.equal(['failed'])
  })

  it('throws a refusal before the stream, and does not repeat the call', async () => {
    const outcomes = await outcomesOf(async () => {
      const { error } = await readStream('sandbox:context-length')
      expect(error).to.be.instanceOf(client.GatewayError)
      const members = { 'error.code': 'context_length_exceeded', 'response.status': 400 }
      expect(error).to.nested.include(members)
    })
    expect(outcomes).to.deep.equal(['failed'])
  })

  it('ends the call when the loop is left', async () => {
    const outcomes = await outcomesOf(async () => {
      const { received, error } = await readStream('sandbox:slow-stream=1000', () => true)
      expect(received).to.have.length(1)
      expect(error).to.equal(undefined)
    })
    expect(outcomes).to.deep.equal(['cancelled'])
  })

  it('ends the call and throws when the signal is aborted', async () => {
    const aborting = new AbortController()
    const abort = () => {
      aborting.abort()
      return false
    }
    const outcomes = await outcomesOf(async () => {
      const { error } = await readStream('sandbox:slow-stream=1000', abort, aborting.signal)
      expect(error).to.have.property('name', 'AbortError')
    })
    expect(outcomes).to.deep.equal(['cancelled'])
  })

  it('returns the chunks of a vendor that adds `error: null` to each', async () => {
    const chunk = { choices: [{ index: 0, delta: { content: 'Hi' } }], error: null }
    const events = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`
    const headers = { 'content-type': 'text/event-stream' }
    const answer = () => Promise.resolve(new Response(events, { headers }))
    const { createClient, streamChatCompletion } = client
    const chunks = streamChatCompletion({
      client: createClient({ baseUrl: 'http://gateway.test', fetch: answer }),
      body: { model: 'gpt-5.4-mini', messages: [{ role: 'user', content: 'Hello' }] },
    })
    expect((await chunks.next()).value).to.deep.equal(chunk)
    expect((await chunks.next()).done).to.equal(true)
  })

  it('throws the error of fetch when the gateway is not reached', async () => {
    const { createClient, streamChatCompletion } = client
    const chunks = streamChatCompletion({
      client: createClient({ baseUrl: 'http://127.0.0.1:1' }),
      body: { model: 'gpt-5.4-mini', messages: [{ role: 'user', content: 'Hello' }] },
    })
    const error: unknown = await chunks.next().catch((error: unknown) => error)
    expect(error).to.be.instanceOf(TypeError).with.property('message', 'fetch failed')
  })
})
