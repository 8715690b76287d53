import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runCommand } from '../support/command-line.ts'

type Schemas = components['schemas']

describe('the commands for accounts and keys', () => {
  let folder: TemporaryFolder
  before(() => (folder = makeFolder()))
  after(() => folder.remove())

  const run = (words: string) => runCommand(words.split(' '), { DATA_DIR: folder.path })
  const runJson = async <T>(words: string) => {
    const { code, stdout, stderr } = await run(`${words} --json`)
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    return JSON.parse(stdout) as T
  }

  it('create, list, rotate and revoke as /api does', async () => {
    const limited = '--requests-per-minute 5 --tokens-per-minute 6 --images-per-minute 7'
    const spending = '--concurrency 0 --budget-usd 2.50 --budget-period month'
    const account = await runJson<Schemas['Account']>(
      `accounts create --name harbour ${limited} ${spending}`,
    )
    const limits = {
      requests_per_minute: 5,
      tokens_per_minute: 6,
      images_per_minute: 7,
      concurrency: 0,
    }
    const budget = { amount: { usd: '2.5', nano_usd: 2_500_000_000 }, period: 'month' }
    expect(account).to.deep.include({ object: 'account', name: 'harbour', limits })
    expect(account.budget).to.deep.include(budget)
    expect(account.is_operator).to.equal(false)
    const accounts = await runJson<Schemas['Account'][]>('accounts list')
    expect(accounts.map(({ name, is_operator: runs }) => [name, runs])).to.have.deep.members([
      ['default', true],
      ['harbour', false],
    ])

    const options = `--account ${account.id} --mode live --name build --scopes inference,usage:read`
    const tags = '--tag-budget team=search:2.50/month --tag-budget a:b:0/day'
    const bounds = '--models GPT-5-mini --allow-ip 10.0.0.0/8 --allow-ip ::1 --expires-in-days 30'
    const made = await runJson<Schemas['CreatedApiKey']>(
      `keys create ${options} ${bounds} ${limited} ${spending} ${tags}`,
    )
    expect(made).to.deep.include({
      object: 'api_key',
      account_id: account.id,
      scopes: ['inference', 'usage:read'],
      models: ['gpt-5-mini'],
      allowed_addresses: ['10.0.0.0/8', '::1'],
      limits,
      state: 'active',
    })
    expect(made.budget).to.deep.include({ ...budget, owner_id: made.id })
    const tagBudgets = made.tag_budgets.map((one) => [
      one.tag,
      one.budget.amount.usd,
      one.budget.period,
    ])
    expect(tagBudgets).to.deep.equal([
      ['team=search', '2.5', 'month'],
      ['a:b', '0', 'day'],
    ])
    const table = await run(`keys list --account ${account.id}`)
    expect(table.stdout).to.include('0 of 2.5 USD, month; team=search: 0 of 2.5 USD, month; a:b:')
    const days = (Date.parse(made.expires_at!) - Date.parse(made.created_at)) / 86_400_000
    expect(days).to.be.closeTo(30, 0.01)

    const fresh = await runJson<Schemas['CreatedApiKey']>(
      `keys rotate ${made.id} --overlap-minutes 60`,
    )
    expect(fresh).to.deep.include({ limits, budget: made.budget, scopes: made.scopes })
    const listed = await runJson<Schemas['ApiKey'][]>(`keys list --account ${account.id}`)
    expect(listed.map(({ id, replaced_by: next }) => [id, next])).to.deep.equal([
      [made.id, fresh.id],
      [fresh.id, null],
    ])
    expect(JSON.stringify(listed)).to.not.include(made.key).and.to.not.include(fresh.key)
    const ended = await runJson<Schemas['ApiKey']>(`keys revoke ${fresh.id}`)
    expect(ended).to.include({ id: fresh.id, state: 'revoked' })
    expect((await run(`keys revoke ${fresh.id}`)).stdout).to.equal(
      `${fresh.id} was already revoked.\n`,
    )
  })

  it('create a client and print its id and secret once, as lines or as JSON', async () => {
    const client = 'keys create --kind client --mode test --name service'
    const made = await runJson<Schemas['CreatedApiKey']>(client)
    expect(made).to.include({ kind: 'client', name: 'service', client_secret: made.key })
    expect(made.client_id).to.match(/^client_/)
    const { code, stdout } = await run(client)
    expect(code).to.equal(0)
    expect(stdout).to.match(/^CLIENT_ID=client_\w+\nCLIENT_SECRET=\S+\n$/)
    const listed = await run('keys list --json')
    expect(listed.stdout).to.include(made.id).and.to.not.include(made.key)
    const [, secret = ''] = /CLIENT_SECRET=(\S+)/.exec(stdout)!
    expect(listed.stdout).to.not.include(secret)
  })

  for (const [words, message] of [
    ['accounts create', /^--name is missing/],
    ['accounts create --name x --budget-usd 1', /^--budget-period is required/],
    ['keys create --mode test --name x --concurrency=-1', /^--concurrency must be/],
    ['keys create --mode test --name x --budget-usd much --budget-period day', /^--budget-usd/],
    ['keys create --mode test --name x --allow-ip 10.0.0.0/99', /^--allow-ip .*"10.0.0.0\/99"/],
    ['keys create --mode test --name x --tag-budget a=b', /^--tag-budget must be a tag/],
    ['keys create --mode test --name x --tag-budget a:1/week', /^--tag-budget/],
    ['keys create --mode test --name x --tag-budget a:1/day --tag-budget a:2/day', /^--tag-budget/],
    ['keys create --mode test --name x --scopes root', /^--scopes must be one of/],
    ['keys create --mode test --name x --models a,', /^--models has an empty item/],
    ['keys create --mode test --name x --expires-in-days 0', /^--expires-in-days must be/],
    ['keys create --mode test --name x --scope admin', /Did you mean '--scopes'/],
    ['keys create --kind robot --mode test --name x', /^--kind must be one of/],
    [
      'keys create --kind client --mode test --name x --scopes admin',
      /^--scopes: The only scope of a client is 'inference'/,
    ],
    ['keys rotate', /^The id of the key is missing/],
    ['keys rotate key_none --overlap-minutes 99999', /^--overlap-minutes must be at most 10080/],
    ['keys revoke key_none', /^There is no such key/],
    ['keys list --account acc_none', /^There is no such account/],
  ] as [words: string, message: RegExp][]) {
    it(`refuse '${words}' with the name of the option`, async () => {
      const { code, stdout, stderr } = await run(words)
      expect({ code, stdout }, stderr).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr)
        .to.match(message)
        .and.not.match(/\n +at /)
    })
  }
})
