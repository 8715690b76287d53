import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command-line.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiDouble, openAiKey } from '../support/openai-upstream.ts'
import { hello } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'
import { startUpstream, type ReceivedRequest, type Upstream } from '../support/upstream.ts'

describe('the commands for keys of providers', () => {
  let openAi: Upstream
  let gateway: TestGateway
  beforeEach(async () => {
    openAi = await startUpstream()
    const chat = openAiDouble(() => ({ text: ['Hello.'] }))
    openAi.answer((request) => (request.method === 'GET' ? models(request) : chat(request)))
    const variables = { OPENAI_BASE_URL: openAi.url, ENCRYPTION_KEY: undefined }
    gateway = await startGateway({ variables, bounds: { storedRecheckMs: 20 } })
  })
  afterEach(async () => {
    await gateway.stop()
    await openAi.stop()
  })

  const run = (words: string, secret = '', more = {}) => {
    const variables = { DATA_DIR: gateway.dataDir, OPENAI_BASE_URL: openAi.url, ...more }
    return runCommand(words.split(' '), variables, secret)
  }
  const answers = async () => {
    const request = { model: 'gpt-5.4-mini', messages: hello }
    const { status } = await gateway.post('/v1/chat/completions', request, { key: gateway.liveKey })
    return status === 200
  }

  it('store, list and remove keys that a running gateway then uses', async () => {
    const stored = await run('providers set-key openai', `${openAiKey}\n`)
    expect(stored.code, stored.stderr).to.equal(0)
    expect(stored.stdout).to.match(
      /^OpenAI accepts the key and lists 1 model\.\nStored pvk_\w+, the key …cdef of openai\. A running gateway uses it/,
    )
    await until('the gateway uses the key', answers)
    const refused = await run('providers set-key openai', 'sk-proj-another-0123456789')
    expect([refused.code, refused.stdout]).to.deep.equal([2, ''])
    expect(refused.stderr).to.match(
      /^OpenAI rejects the key \(HTTP 401\): Incorrect key\. The key was not stored\./,
    )
    expect((await run('providers list')).stdout).to.match(/openai +…cdef +yes/)
    const again = await run('providers set-key openai --force', 'sk-proj-another-0123456789')
    expect(again.code, again.stderr).to.equal(0)
    const { stdout } = await run('providers list')
    expect(stdout.split('\n')).to.have.length(3)
    expect(stdout).to.match(/openai +…6789 +yes/)
    const { stdout: both } = await run('providers list', '', { OPENAI_API_KEY: openAiKey })
    expect(both)
      .to.match(/openai +environment +yes/)
      .and.match(/openai +…6789 +no/)
    expect((await run('providers remove-key openai')).stdout).to.equal(
      'Removed the stored keys of openai.\n',
    )
    await until('the gateway has no key', async () => !(await answers()))
    const none = await run('providers remove-key openai')
    expect([none.code, none.stderr]).to.deep.equal([2, 'No key of openai is stored.\n'])
  })

  it('encrypt the keys again, so that the gateway keeps them', async () => {
    await run('providers set-key openai', openAiKey)
    const idsOf = () => gateway.db.selectFrom('provider_keys').select('encryption_key_id').execute()
    const before = await idsOf()
    const { stdout } = await run('providers encrypt-again')
    expect(stdout).to.match(/^Encrypted 1 stored key again\./)
    expect(await idsOf()).not.to.deep.equal(before)
    const lines = readFileSync(join(gateway.dataDir, 'gateway.key'), 'utf8').trim().split('\n')
    expect(lines).to.have.length(2)
    await until('the gateway uses the key', answers)
  })

  it('are read by doctor too', async () => {
    await run('providers set-key openai', openAiKey)
    const { stdout } = await run('doctor')
    expect(stdout).to.match(/openai +http:\S+ +OpenAI accepts the key and lists 1 model/)
  })

  it('refuse what is no key, no provider, or nothing', async () => {
    const cases: [words: string, secret: string, says: RegExp][] = [
      ['providers set-key', openAiKey, /The provider is missing\. Usage: providers set-key/],
      ['providers set-key openai', ' \n', /Standard input holds no key/],
      ['providers set-key opena', '', /Did you mean 'openai'/],
      ['providers set-key anthropic', 'your-api-key', /placeholder/],
      ['providers remove-key openai pvk_0', '', /No key pvk_0 of openai is stored/],
    ]
    for (const [words, secret, says] of cases) {
      const { code, stderr } = await run(words, secret)
      expect(code, words).to.equal(2)
      expect(stderr).to.match(says)
    }
  })
})

/** The vendor's list of models, for the right key only. */
function models({ headers }: ReceivedRequest) {
  return headers.authorization === `Bearer ${openAiKey}`
    ? { body: { data: [{ id: 'gpt-5.4-mini' }] } }
    : { status: 401, body: { error: { message: 'Incorrect key.' } } }
}
