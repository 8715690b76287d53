import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { sql } from 'kysely'
import { freePort } from '../../scripts/free-port.ts'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { accountsOf } from '../support/keys.ts'
import { programPath } from '../support/program-path.ts'
import { runProgram, startProgram } from '../support/program.ts'
import { startServer, type ServerProcess } from '../support/server-process.ts'
import { openTestStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { workerVariables } from '../support/worker-processes.ts'

describe('the commands in their own processes', () => {
  let folder: TemporaryFolder
  beforeEach(() => (folder = makeFolder()))
  afterEach(() => folder.remove())

  const runInFolder = (words: string) =>
    runProgram('src/command-line.ts', words.split(' '), { folder: folder.path })

  it('npm run -s gateway prints only the key on stdout, and exits with 0', async () => {
    const words = 'run -s gateway -- keys create --mode test --name mine'.split(' ')
    const variables = { DATA_DIR: folder.path }
    const { ended } = startProgram('npm', words, { folder: projectFolder, variables })
    const { code, stdout } = await ended
    expect(code).to.equal(0)
    expect(stdout).to.match(/^mag_test_[\w-]{49}\n$/)
  })

  it('exit with 2 and print on stderr if their arguments are wrong', async () => {
    const { code, stdout, stderr } = await runInFolder('keys make')
    expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
    expect(stderr).to.match(/^Unknown command 'keys make'\. Did you mean 'keys'\?.*\n$/)
  })

  it('read .env in the working directory, overridden by environment variables', async () => {
    const env = 'HOST=10.9.8.7\nPORT=4321\n# a comment\nMISTRAL_API_KEY="k"\n'
    writeFileSync(join(folder.path, '.env'), env)
    const { code, stdout } = await runProgram('src/command-line.ts', ['doctor'], {
      folder: folder.path,
      variables: { PORT: '1234', MISTRAL_BASE_URL: 'http://127.0.0.1:1' },
    })
    expect(code).to.equal(1)
    expect(stdout).to.include('http://10.9.8.7:1234')
    expect(stdout).to.match(/^mistral +http:\/\/127\.0\.0\.1:1 /m)
  })

  it('name the lines of .env that are no variables, without their text', async () => {
    const lines = ['export A="two', 'lines"', 'sk-secret', '# a comment', '', 'B = 1', 'C']
    writeFileSync(join(folder.path, '.env'), lines.join('\n'))
    const { stdout } = await runInFolder('doctor')
    expect(stdout.match(/^\.env, .*/gm)).to.deep.equal([
      '.env, line 3 is ignored: it must be NAME=value, or begin with #.',
      '.env, line 7 is ignored: it must be NAME=value, or begin with #.',
    ])
    expect(stdout).to.not.include('secret')
  })

  it('print their help and exit with 0 when a group is named alone', async () => {
    const { code, stdout } = await runInFolder('keys')
    expect(code).to.equal(0)
    expect(stdout).to.match(/^Usage: .*\n\n {2}keys create .*keys revoke <id>/s)
  })

  const endings: [words: string, code: number][] = [
    ['accounts create --name a', 0],
    ['accounts list', 0],
    ['keys list', 0],
    ['keys rotate key_none', 2],
    ['keys revoke key_none', 2],
    ['usage', 0],
    ['setup-link', 0],
    ['people password-link none@example.com', 2],
    ['oauth rotate-keys', 0],
    ['migrate', 0],
    ['settings', 0],
  ]
  it('exit by themselves after printing', async () => {
    for (const [words, code] of endings) {
      const ended = await runInFolder(words)
      expect({ code: ended.code, signal: ended.signal }, words).to.deep.equal({
        code,
        signal: null,
      })
    }
  })

  it('know the settings file and the address with which their gateway was started', async () => {
    const path = join(folder.path, 'gateway.yaml')
    writeFileSync(path, 'aliases:\n  quick: gpt-5.4-mini\n')
    const variables = { CONFIG_FILE: path, PORT: String(await freePort()) }
    const server = await startServer({ folder: folder.path, variables })
    const create = () => runInFolder('keys create --mode live --name a --models quick')
    const made = await create()
    server.kill('SIGTERM')
    await server.ended
    expect(made.code, made.stderr).to.equal(0)
    const { stdout } = await runInFolder('doctor')
    expect(stdout).to.include(server.url)
    const start = readFileSync(join(folder.path, 'data/gateway.start.json'), 'utf8')
    expect(JSON.parse(start)).to.deep.equal(variables)
    rmSync(path)
    const refused = await create()
    expect(refused.code).to.equal(2)
    expect(refused.stderr).to.include(`CONFIG_FILE=${path}, which does not exist here`)
    expect(refused.stderr).to.include("model 'quick' does not exist")
  })

  it('exit with one sentence on a store of a newer version', async () => {
    const store = await openTestStore(join(folder.path, 'data'))
    await sql`INSERT INTO kysely_migration VALUES ('9999_from_the_future', '')`.execute(store.db)
    await store.close()
    const { code, stdout, stderr } = await runInFolder('keys list')
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(stderr).to.match(
      /^The store was written by a newer version of the gateway\. Update the gateway\. Its migration 9999_from_the_future needs schema 9999; this version has \d+\.\n$/,
    )
  })

  it('create one account if they open a new store at the same time', async () => {
    const create = (name: string) => runInFolder(`keys create --mode test --name ${name}`)
    const ended = await Promise.all(['one', 'two', 'three'].map(create))
    expect(ended.map(({ code, stderr }) => ({ code, stderr }))).to.deep.equal(
      ended.map(() => ({ code: 0, stderr: '' })),
    )
    const store = await openTestStore(join(folder.path, 'data'))
    const keys = await store.db.selectFrom('api_keys').select('name').orderBy('name').execute()
    const accounts = await store.db.selectFrom('accounts').select('id').execute()
    await store.close()
    expect(keys.map(({ name }) => name)).to.deep.equal(['one', 'three', 'two'])
    expect(accounts).to.have.length(1)
  })

  for (const [name, more] of [
    ['that it names in BASE_URL', () => ({ BASE_URL: 'https://gateway.example' })],
    ['of its workers', workerVariables],
  ] as const) {
    it(`setup-link prints the address of the gateway that uses DATA_DIR, ${name}`, async function () {
      if (more === workerVariables) programPath('redis-server', this)
      const variables = { DATA_DIR: folder.path, PORT: String(await freePort()), ...(await more()) }
      const server = await startServer({ folder: folder.path, variables })
      const { stdout } = await runCommand(['setup-link'], { DATA_DIR: folder.path }).finally(() =>
        server.kill('SIGTERM'),
      )
      await server.ended
      expect(stdout).to.include(`an owner: ${server.url}/dashboard/setup#token=`)
    })
  }
})

describe('the commands beside a running server', () => {
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

  const run = (words: string) =>
    runCommand(words.split(' '), { DATA_DIR: join(folder.path, 'data') })
  const create = async (options: string) =>
    (await run(`keys create --name mine ${options}`)).stdout.trim()
  const ask = async (key: string, model = 'gpt-5.2') => {
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
    })
    const { error } = (await response.json()) as { error?: { code: string } }
    return error === undefined ? response.status : `${response.status} ${error.code}`
  }

  it('keys create makes a key that works at once', async () => {
    expect(await ask(await create('--mode test'))).to.equal(200)
  })

  it('keys create --models creates a key for only these models', async () => {
    const key = await create('--mode test --models gpt-5.2,gpt-5.5')
    expect(await ask(key, 'gpt-5.5')).to.equal(200)
    expect(await ask(key, 'gpt-5.4')).to.equal('403 model_not_allowed')
  })

  it('keys create --models accepts any name of a model, and names that only its vendor lists', async () => {
    const key = await create('--mode test --models OpenAI/GPT-5.2,openai/gpt-4-turbo')
    expect(await ask(key, 'gpt-5.2-2025-12-11')).to.equal(200)
    expect(await ask(key, 'gpt-5.4')).to.equal('403 model_not_allowed')
  })

  it('keys create --expires-in-days creates a key that expires', async () => {
    const seconds = 1
    const key = await create(`--mode test --expires-in-days ${seconds / 86_400}`)
    await until('the key expires', async () => (await ask(key)) === '401 expired_api_key')
  })

  it('keys revoke ends a cached key within a second', async () => {
    const key = await create('--mode test')
    expect(await ask(key)).to.equal(200)
    const [id = ''] = (await run('keys list')).stdout.split('\n').at(-2)!.split(' ')
    await run(`keys revoke ${id}`)
    const revokedAt = performance.now()
    await until('the key ends', async () => (await ask(key)) === '401 invalid_api_key')
    expect(performance.now() - revokedAt).to.be.below(2000)
  })
})

describe('the command people password-link beside a server', () => {
  let folder: TemporaryFolder
  beforeEach(() => (folder = makeFolder()))
  afterEach(() => folder.remove())

  it('prints the address of the gateway that uses DATA_DIR, while it runs', async () => {
    const dataDir = join(folder.path, 'data')
    const person = { id: 'usr_1', email: 'ada@example.com', name: 'Ada' }
    const store = await openTestStore(dataDir)
    const { id } = await accountsOf(store, Date.now).accounts.first()
    await store.db
      .insertInto('people')
      .values({ ...person, password_hash: '', created_at: 0 })
      .execute()
    const member = { account_id: id, person_id: person.id, role: 'owner', joined_at: 0 } as const
    await store.db.insertInto('members').values(member).execute()
    await store.close()
    const printed = async () => {
      const words = ['people', 'password-link', person.email]
      return /: (\S+)\/dashboard/.exec((await runCommand(words, { DATA_DIR: dataDir })).stdout)?.[1]
    }
    const server = await startServer({ folder: folder.path, variables: { HOST: '127.0.0.1' } })
    const whileItRuns = await printed().finally(() => server.kill('SIGKILL'))
    await server.ended
    expect(whileItRuns).to.equal(server.url)
    expect(await printed()).to.equal('http://127.0.0.1:8080')
  })
})
