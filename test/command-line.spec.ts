import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { stringify } from 'yaml'
import type { Variables } from '../src/settings/config.ts'
import type { Store } from '../src/storage/store.ts'
import { runCommand } from './support/command-line.ts'
import { accountsOf, storeKey } from './support/keys.ts'
import { makeFolder, type TemporaryFolder } from './support/folder.ts'
import { openTestStore } from './support/store.ts'

const keyAlone = /^mag_(test|live)_[\w-]{49}\n$/

describe('the commands', () => {
  let folder: TemporaryFolder
  let dataDir: string
  let opened: Store | undefined
  beforeEach(() => {
    folder = makeFolder()
    dataDir = join(folder.path, 'data')
    opened = undefined
  })
  afterEach(async () => {
    await opened?.close()
    folder.remove()
  })

  const run = (words: string, variables: Variables = {}) =>
    runCommand(words.split(' '), { DATA_DIR: dataDir, ...variables })
  const store = async () => {
    opened = await openTestStore(dataDir)
    return opened
  }

  it('keys create prints the key and nothing else', async () => {
    const { code, stdout, stderr } = await run('keys create --mode test --name mine')
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout).to.match(keyAlone)
  })

  it('keys create says on a terminal which key it is, and what to do with it', async () => {
    const create = (words: string) =>
      runCommand(words.split(' '), { DATA_DIR: dataDir, PORT: '4321' }, '', true)
    const { stdout, stderr } = await create('keys create --mode test --name mine')
    expect(stdout).to.match(keyAlone)
    expect(stderr).to.match(
      /^Created key_\w+\..* http:\/\/127\.0\.0\.1:4321\/v1, .*keys revoke key_/,
    )
    const client = await create('keys create --kind client --mode test --name mine')
    expect(client.stdout).to.match(/^CLIENT_ID=.*\nCLIENT_SECRET=.*\n$/)
    expect(client.stderr).to.include('/oauth/token')
    expect((await create('keys create --mode test --name mine --json')).stderr).to.equal('')
  })

  it('names commands, and no paths of the API, in errors', async () => {
    await run('keys create --mode test --name mine')
    expect((await run('keys revoke key_none')).stderr).to.equal(
      'There is no such key. `keys list` lists the keys.\n',
    )
    const { stderr } = await run('cassettes export none')
    expect(stderr).to.include('Import it with `cassettes import none <file>`, or record it')
  })

  it('keys list never shows a secret', async () => {
    const { stdout } = await run('keys create --mode live --name hidden')
    const secret = stdout.trim().slice('mag_live_'.length)
    const list = await run('keys list')
    expect(list.stdout).to.include('hidden').and.to.include('active')
    for (let at = 0; at + 8 <= secret.length; at++) {
      expect(list.stdout).to.not.include(secret.slice(at, at + 8))
    }
  })

  it('keys create stores the name in one plain line, and the models by their ids', async () => {
    const file = join(folder.path, 'gateway.yaml')
    const own = { id: 'own', kind: 'openai-compatible', base_url: 'http://127.0.0.1:9' }
    writeFileSync(
      file,
      stringify({
        aliases: { fast: 'gpt-5-mini' },
        providers: [
          { ...own, models: ['House-1'] },
          { ...own, id: 'open', models: '*' },
        ],
      }),
    )
    const create = (name: string, models: string) =>
      runCommand(['keys', 'create', '--mode', 'live', '--name', name, '--models', models], {
        DATA_DIR: dataDir,
        CONFIG_FILE: file,
      })
    const spellings =
      'fast, GPT_5.5 ,models/gemini-2.5-flash,auto,own/House-1,open/Any.Thing,x-ai/grok-0-new'
    const made = await create(' my\n\u001b[31mlaptop\u202e ', spellings)
    expect(made.code, made.stderr).to.equal(0)
    const refused = await create('mine', 'own/House-2')
    expect(refused).to.include({ code: 2, stdout: '' })
    expect(refused.stderr).to.contain(
      "model 'own/House-2' does not exist. Did you mean 'own/House-1'?",
    )
    const { db } = await store()
    const rows = await db.selectFrom('api_keys').select(['name', 'allowed_models']).execute()
    expect(rows).to.deep.equal([
      {
        name: 'my [31mlaptop',
        allowed_models: JSON.stringify([
          'gpt-5-mini',
          'gpt-5.5',
          'gemini-2.5-flash',
          'gemini-3-pro-image-preview',
          'own/House-1',
          'open/Any.Thing',
          'xai/grok-0-new',
        ]),
      },
    ])
  })

  it('keys list says how to make the first key', async () => {
    expect((await run('keys list')).stderr).to.include('or run `keys create`')
    await run('accounts create --name mine')
    const { code, stdout } = await run('keys list')
    expect({ code, stdout }).to.deep.equal({
      code: 0,
      stdout: 'There are no keys. Create one with `keys create`.\n',
    })
  })

  it('keys list tells active, expired and revoked keys apart', async () => {
    const opened = await store()
    const { accounts } = accountsOf(opened, Date.now)
    const { id: accountId } = await accounts.first()
    let made = 1
    const create = (name: string, expiresAt: number) =>
      storeKey(opened, { accountId, mode: 'test', now: made++ }, { expiresAt, row: { name } })
    await create('lasting', Date.now() + 86_400_000)
    await create('brief', Date.now() - 1)
    await create('ended', Date.now() + 86_400_000)
    const { id } = await opened.db
      .selectFrom('api_keys')
      .select('id')
      .where('name', '=', 'ended')
      .executeTakeFirstOrThrow()
    expect((await run(`keys revoke ${id}`)).stdout).to.equal(`Revoked ${id}.\n`)
    const { stdout } = await run('keys list')
    expect(stdout).to.match(/^Id +Key +Account .* Last used +Models +Limits +Budget +Name\n/)
    expect(stdout.match(/(?<=\d  )(?:active|expired|revoked)(?= )/gm)).to.deep.equal([
      'active',
      'expired',
      'revoked',
    ])
  })

  it('a wrong setting ends a command with 2 and names it', async () => {
    const { code, stderr } = await run('keys list', { PORT: 'eighty' })
    expect(code).to.equal(2)
    expect(stderr).to.match(/^PORT must be a whole number/)
  })

  it('no words print the usage', async () => {
    const { code, stdout } = await run('help')
    expect(code).to.equal(0)
    expect(stdout).to.match(/^Usage: npm run -s gateway -- <command>/)
  })

  const helped = [
    ['doctor --connect --help', 'doctor', 'doctor --connect'],
    ['doctor --connect https://gateway.example -h', 'doctor', 'doctor --connect'],
    ['keys --help', 'keys create', 'keys create', 'keys list', 'keys rotate', 'keys revoke'],
    ['keys revoke key_1 --help', 'keys revoke'],
  ]
  for (const [words = '', ...names] of helped) {
    it(`${words} prints help and changes nothing`, async () => {
      const { code, stdout, stderr } = await run(words)
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
      expect(namesIn(stdout)).to.deep.equal(names)
      expect(existsSync(dataDir)).to.equal(false)
    })
  }

  it('each command of the usage prints its own help', async () => {
    const { stdout } = await run('--help')
    const names = [...new Set(namesIn(stdout).map((name) => name.replace(' --connect', '')))]
    expect(names).to.include.members(['backup', 'doctor', 'keys create', 'providers set-key'])
    const ended = await Promise.all(names.map((name) => run(`${name} --help`)))
    expect(ended.filter(({ code, stderr }) => code !== 0 || stderr !== '')).to.deep.equal([])
    for (const [index, { stdout: help }] of ended.entries()) {
      expect(help).to.include(`For example: npm run -s gateway -- ${names[index]}`)
      expect(help.includes('--budget-usd')).to.equal(/create/.test(names[index]!))
      expect(namesIn(help)).to.include(names[index]!)
      expect(help).to.have.length.below(stdout.length)
    }
  })

  it('a command that does not exist has no help', async () => {
    const { code, stderr } = await run('keys nothing --help')
    expect(code).to.equal(2)
    expect(stderr).to.contain("Unknown command 'keys nothing'.")
  })

  it('settings prints every setting with its variable and default', async () => {
    const { code, stdout } = await run('settings')
    expect(code).to.equal(0)
    expect(stdout).to.include('| `PORT` | `port` | `8080` |')
    expect(stdout).to.include('|  | `limits.ping_interval_ms` | `15000` |')
    expect(stdout).to.include('| `GEMINI_API_KEY` or `GOOGLE_API_KEY` |')
  })
})

/** Names of the commands in a usage text; a command that the text describes twice occurs twice. */
function namesIn(usage: string): string[] {
  return [...usage.matchAll(/^ {2}([a-z-]+(?: [a-z-]+| --connect)?)(?= |$)/gm)].map(
    ([, name = '']) => name,
  )
}
