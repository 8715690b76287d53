import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import {
  copyBy,
  expectCount,
  expectGoodLooks,
  expectText,
  useDashboard,
} from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { makeFolder, projectFolder } from '../support/folder.ts'
import { usageRow } from '../support/usage-row.ts'
import { callTool, connectClient } from '../support/mcp-client.ts'

const run = promisify(execFile)

describe('the API keys page', () => {
  const dashboard = useDashboard()

  const create = async (name: string, mode = 'Test') => {
    const page = await dashboard.open('/keys/new')
    // The hint moves what is below it.
    await page.getByText('No provider is configured').waitFor()
    await page.getByLabel('Name').fill(name)
    await page.getByRole('radio', { name: mode }).click()
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    return page
  }
  const linesOf = async (page: Page, name: string) => {
    await page.getByRole('button', { name, exact: true }).click()
    return page.getByRole('region', { name, exact: true }).innerText()
  }
  const keyOf = (page: Page) => page.getByRole('region', { name: 'the key' }).innerText()

  it('preselects test mode while no provider is configured, and links to the missing settings', async () => {
    const page = await dashboard.open('/keys/new')
    await page.getByText('No provider is configured').waitFor()
    await page.getByRole('radio', { name: 'Test', checked: true }).waitFor()
    await page.getByRole('radio', { name: 'Live' }).check()
    await page.getByRole('radio', { name: 'Live', checked: true }).waitFor()
    await page.getByRole('link', { name: 'Providers' }).last().waitFor()
  })

  it('keeps the mode that was clicked before the models are loaded', async () => {
    const page = await dashboard.open('/keys')
    const { promise, resolve } = Promise.withResolvers<void>()
    await page.route('**/api/models*', (route) => promise.then(() => route.continue()))
    await page.getByRole('link', { name: 'Create a key' }).click()
    await page.getByRole('radio', { name: 'Live' }).click()
    resolve()
    await page.getByText('No provider is configured').waitFor()
    await page.getByRole('radio', { name: 'Live', checked: true }).waitFor()
  })

  it('explains keys while the list is empty', async () => {
    const { gateway } = dashboard
    const as = await gateway.people.signIn({ accountId: await gateway.createAccount() })
    const page = await dashboard.open('/keys', { as })
    await page.getByText('No keys yet').waitFor()
    await expectGoodLooks(page)
    await page.getByRole('link', { name: 'Create a key' }).click()
    await page.getByRole('heading', { name: 'Create a key' }).waitFor()
    await page.getByText('Permissions and expiry').click()
    await expectGoodLooks(page)
  })

  it('shows commands and programs that run unchanged with a new key', async () => {
    const page = await create('lines')
    const key = await copyBy(page, 'Copy the key')
    expect(await keyOf(page)).to.equal(key)
    expect(key).to.match(/^mag_test_/)
    const curl = await run('sh', ['-c', `${await linesOf(page, 'curl')} --silent --show-error`])
    expect(JSON.parse(curl.stdout)).to.have.property('object', 'chat.completion')
    const { path, remove } = makeFolder()
    const program = join(path, 'call.mjs')
    // Imports the OpenAI SDK from the project's node_modules.
    const openai = join(projectFolder, 'node_modules/openai/index.mjs')
    const text = (await linesOf(page, 'TypeScript')).replace("'openai'", JSON.stringify(openai))
    writeFileSync(program, text)
    const typed = await run(process.execPath, [program])
    expect(typed.stdout.trim()).to.have.length.above(0)
    remove()
    expect(await linesOf(page, 'Python')).to.contain(`base_url="${dashboard.gateway.url}/v1"`)
    await expectGoodLooks(page)
    const cursor = JSON.parse(await linesOf(page, 'Cursor')) as {
      mcpServers: { gateway: { url: string; headers: Record<string, string> } }
    }
    const { url, headers } = cursor.mcpServers.gateway
    expect(url).to.equal(`${dashboard.gateway.url}/mcp`)
    const client = await connectClient({ ...dashboard.gateway }, headers['x-api-key'])
    expect((await callTool(client, 'list-models')).isError).to.not.equal(true)
    await client.close()
    expect(await linesOf(page, 'Claude Code')).to.contain(`--header "x-api-key: ${key}"`)
    expect(await linesOf(page, 'VS Code')).to.not.contain(key)
  })

  it('shows what a key has spent, and changes, rotates and revokes it', async () => {
    const { gateway } = dashboard
    const created = await create('budgeted', 'Live')
    const oldKey = await keyOf(created)
    await created.getByRole('link', { name: 'About this key' }).click()
    await created.getByRole('button', { name: 'Change' }).click()
    await created.getByLabel('Budget in dollars').fill('10')
    await created.getByLabel('Requests a minute').fill('60')
    await created.getByRole('button', { name: 'Save' }).click()
    await created.getByText('Saved. The change applies').waitFor()
    await created.getByText('60 requests a minute').waitFor()
    const row = await gateway.db
      .selectFrom('api_keys')
      .selectAll()
      .where('name', '=', 'budgeted')
      .executeTakeFirstOrThrow()
    const paid = { mode: 'live', account_id: row.account_id, key_id: row.id }
    await gateway.addUsage([
      { ...usageRow('req_paid', row.created_at), ...paid, cost_nano_usd: 2_500_000_001 },
    ])
    await created.reload()
    await created.getByText('$2.50 spent of $10.00 a month, $7.50 left').waitFor()
    await expectGoodLooks(created)
    await created.getByRole('link', { name: 'All keys' }).click()
    await created.getByRole('row', { name: /budgeted.*\$7\.50 of \$10\.00/ }).waitFor()
    await expectGoodLooks(created)

    await created.getByRole('link', { name: 'budgeted' }).click()
    const rotate = created.getByRole('button', { name: 'Rotate…' })
    await rotate.press('Enter')
    await created.getByRole('dialog').press('Escape')
    await created.getByRole('dialog').waitFor({ state: 'detached' })
    await created.locator('button:focus').and(rotate).waitFor()
    await rotate.press('Enter')
    await created.getByLabel('Both work for').selectOption('one day')
    await created.getByRole('button', { name: 'Rotate', exact: true }).click()
    await created.getByRole('heading', { name: 'Your key' }).waitFor()
    const newKey = await keyOf(created)
    const statusOf = async (key: string) => (await gateway.fetch('/v1/models', { key })).status
    expect(newKey).to.not.equal(oldKey)
    expect([await statusOf(oldKey), await statusOf(newKey)]).to.deep.equal([200, 200])
    await created.getByRole('link', { name: 'About this key' }).click()
    const other = await dashboard.open('/keys')
    const old = other.getByRole('row').filter({ hasText: 'replaced by its successor' })
    // Within half a second after the rotation it ends `tomorrow`.
    const ends = /^ends (?:tomorrow|in 2[34] hours), replaced by its successor$/
    await old.getByText(ends).waitFor()
    await old.getByRole('link', { name: 'budgeted' }).click()
    await other.getByText(ends).waitFor()
    await created.getByRole('button', { name: 'Revoke…' }).click()
    await created.getByText('This cannot be undone').waitFor()
    await created.getByRole('button', { name: 'Revoke permanently' }).click()
    await created.getByText('The key is revoked.').waitFor()
    await created.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await statusOf(newKey)).to.equal(401)
    expect(await statusOf(oldKey)).to.equal(200)
    await created.getByRole('link', { name: 'Show requests' }).click()
    await created.waitForURL(/\/requests\?key_id=key_/)
  })

  it('chooses the models of a key by any name, by keyboard alone', async () => {
    const page = await dashboard.open('/keys/new')
    await page.getByText('No provider is configured').waitFor()
    await page.getByLabel('Name').fill('few models')
    await page.getByText('Permissions and expiry').press('Enter')
    const opener = page.getByRole('button', { name: 'Choose models' })
    await opener.press('Enter')
    const search = page.getByRole('combobox', { name: 'Models' })
    await search.pressSequentially('grok-4.3-lat')
    await page
      .locator('[role=option][aria-selected=true]', { hasText: /^xai\/grok-4\.3/ })
      .waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('status').filter({ hasText: '1 chosen' }).waitFor()
    await expectGoodLooks(page)
    // A name that only the gateway knows.
    await search.fill('openai/a-model-of-mine')
    await search.press('Enter')
    await search.fill('gemini-3.5-flash')
    await search.press('Enter')
    await search.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.locator('button:focus').and(opener).waitFor()
    await page.getByRole('button', { name: 'Remove gemini-3.5-flash' }).press('Enter')
    await page.locator('button:focus').and(opener).waitFor()
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Create the key' }).press('Enter')
    await page.getByRole('heading', { name: 'few models', level: 1 }).waitFor()
    const { allowed_models: models } = await dashboard.gateway.db
      .selectFrom('api_keys')
      .select('allowed_models')
      .where('name', '=', 'few models')
      .executeTakeFirstOrThrow()
    expect(JSON.parse(models!)).to.deep.equal(['xai/grok-4.3', 'openai/a-model-of-mine'])
    await page.getByRole('link', { name: 'About this key' }).click()
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByRole('button', { name: 'Remove xai/grok-4.3' }).click()
    await page.getByRole('button', { name: 'Remove openai/a-model-of-mine' }).click()
    await page.getByText('The key may call all models.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved. The change applies').waitFor()
    await page.getByText('all', { exact: true }).waitFor()
  })

  it('names a model that does not exist at the field', async () => {
    const page = await dashboard.open('/keys/new')
    await page.getByLabel('Name').fill('wrong model')
    await page.getByText('Permissions and expiry').click()
    await page.getByRole('button', { name: 'Choose models' }).click()
    await page.getByRole('combobox', { name: 'Models' }).fill('no-such-model')
    await page.getByRole('option', { name: 'Add “no-such-model”' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Create the key' }).click()
    const fault = page.locator('.fault').filter({ hasText: "'no-such-model' does not exist" })
    await fault.waitFor()
    await expectGoodLooks(page)
  })

  it('lists spending in 30 days with one report, owner and models, and filters the keys', async () => {
    const { gateway } = dashboard
    const accountId = await gateway.createAccount()
    const as = await gateway.people.signIn({ accountId })
    const grace = await gateway.people.signIn({ accountId, role: 'admin', email: 'g@example.com' })
    const post = async (who: typeof as, body: object) => {
      const headers = { ...who.headers, 'content-type': 'application/json' }
      const init = { key: null, method: 'POST', headers, body: JSON.stringify(body) }
      const response = await gateway.fetch('/api/keys', init)
      expect(response.status, await response.clone().text()).to.equal(201)
      return ((await response.json()) as { id: string }).id
    }
    const models = ['gpt-5-mini', 'gemini-3.5-flash', 'gpt-image-2']
    const dear = await post(as, { name: 'web shop', mode: 'live', models })
    await post(grace, { name: 'nightly job', mode: 'live' })
    await post(grace, { name: 'experiment', mode: 'test' })
    const now = suiteClock()
    const call = { account_id: accountId, key_id: dear, mode: 'live', cost_nano_usd: 1_230_000_000 }
    await gateway.addUsage([
      { ...usageRow('req_dear', now), ...call },
      { ...usageRow('req_old', now - 40 * 86_400_000), ...call },
    ])
    const page = await dashboard.open('/keys', { as })
    const reports: string[] = []
    page.on('request', (one) => {
      if (one.url().includes('/api/usage')) reports.push(one.url())
    })
    await page.reload()
    const row = (name: string) => page.getByRole('row').filter({ hasText: name })
    await expectText(
      row('web shop'),
      /\$1\.23\s+no budget\s+gpt-5-mini, gemini-3.5-flash and 1 more/,
    )
    await expectText(row('nightly job'), /\$0\.00\s+no budget\s+all\s+\S.*never used/)
    await expectText(row('experiment'), /test\s+active\s+free/)
    expect(reports).to.have.length(1)
    await expectGoodLooks(page)
    const owner = page.getByLabel('Owner')
    await owner.selectOption(grace.personId)
    await expectCount(page.getByRole('row'), 3)
    await page.getByLabel('Mode').selectOption('test')
    await expectCount(page.getByRole('row'), 2)
    await row('experiment').waitFor()
    await page.getByLabel('State').selectOption('revoked')
    await page.getByText('No key matches these filters').waitFor()
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Clear the filters' }).click()
    await page.getByLabel('Name').fill('SHOP')
    await page.getByLabel('Name').press('Enter')
    await expectCount(page.getByRole('row'), 2)
    await page.reload()
    await row('web shop').waitFor()
    await page.setViewportSize({ width: 390, height: 800 })
    await row('web shop').getByText('$1.23').waitFor()
    expect((await row('web shop').boundingBox())!.height).to.be.lessThan(100)
  })

  it('marks an invalid field, and shows any name as text', async () => {
    const name = `<b>${'wide'.repeat(20)}</b>`
    const page = await create(name)
    await page.getByRole('link', { name: 'About this key' }).click()
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Addresses').fill('not-a-network')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Addresses').and(page.locator('[aria-invalid=true]')).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expectGoodLooks(page)
  })

  it('opens the section that contains an invalid field', async () => {
    const page = await dashboard.open('/keys/new')
    const fold = page.getByText('Permissions and expiry')
    await page.getByLabel('Name').fill('late')
    await fold.click()
    await page.getByLabel('Expires').fill('2020-01-01T00:00:00')
    await fold.click()
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.locator('input[name=expires]:focus').waitFor()
  })
})
