import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { expectGoodLooks, expectText, useDashboard } from '../support/dashboard.ts'
import { eventually } from '../support/until.ts'

describe('the search of the dashboard', () => {
  const dashboard = useDashboard()

  /** Opens the search by its shortcut. The session, which decides what is listed, may still be loading. */
  const openSearch = async (page: Page) => {
    await page.getByLabel('Name', { exact: true }).waitFor()
    await page.keyboard.press('Control+K')
    return page.getByRole('combobox', { name: 'Search' })
  }
  const option = (page: Page, group: string, name: string | RegExp) =>
    page.getByRole('group', { name: group, exact: true }).getByRole('option', { name })
  const active = (page: Page) => page.locator('[role=option][aria-selected=true]')

  it('opens pages, their parts and actions by the keyboard alone', async () => {
    const page = await dashboard.open('/you', { width: 390 })
    const field = await openSearch(page)
    await option(page, 'Pages', /^Providers/).waitFor()
    await expectGoodLooks(page)
    await field.fill('nothing of the kind')
    await page.getByText('Nothing matches.').waitFor()
    await field.fill('settings › audit')
    await eventually(async () =>
      expect(await active(page).textContent()).to.equal('Settings › Audit log'),
    )
    await field.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
    await page.waitForURL(/\/settings\/audit$/)
  })

  it('moves between the results by the arrow keys, opens one by Enter and closes by Escape', async () => {
    const page = await dashboard.open('/you')
    const field = await openSearch(page)
    await field.fill('create')
    await option(page, 'Actions', /^Create a key/).waitFor()
    const [first, second] = await page.getByRole('option').allTextContents()
    expect(await active(page).textContent()).to.equal(first)
    await field.press('ArrowDown')
    expect(await active(page).textContent()).to.equal(second)
    await field.press('ArrowUp')
    await field.press('ArrowUp')
    expect(await active(page).textContent()).to.equal(
      await page.getByRole('option').last().textContent(),
    )
    await field.press('Escape')
    expect(await page.getByRole('dialog').count()).to.equal(0)
    await page.keyboard.press('Control+K')
    await field.fill('create a key')
    await field.press('Enter')
    await page.waitForURL(/\/keys\/new$/)
  })

  it('opens a request by its id, in whatever text', async () => {
    const page = await dashboard.open('/you', { width: 390 })
    await page.getByLabel('Name', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('button', { name: 'Search…' }).click()
    const field = page.getByRole('combobox', { name: 'Search' })
    const id = `req_${'0'.repeat(32)}`
    await field.fill(`Request ${id} failed.`)
    await field.press('Enter')
    await page.getByText(`There is no call '${id}' in this account.`).waitFor()
  })

  it('finds models by any name, keys, people and providers, and announces how many', async () => {
    const { gateway, owner } = dashboard
    const { id } = (await (
      await gateway.post(
        '/api/keys',
        { name: 'harbour crane', mode: 'live' },
        { key: null, ...owner },
      )
    ).json()) as { id: string }
    const page = await dashboard.open('/you')
    const asked: string[] = []
    page.on('request', (request) => void asked.push(request.url().replace(gateway.url, '')))
    const field = await openSearch(page)
    await field.pressSequentially('harbour')
    await option(page, 'API keys', /^harbour crane/).waitFor()
    await page.getByRole('status').getByText('1 result', { exact: true }).waitFor()
    await field.fill(id)
    await option(page, 'API keys', /^harbour crane/).waitFor()
    await field.fill('lovelace')
    await option(page, 'People', /^Ada Lovelace/).waitFor()
    await field.fill('anthropic')
    await option(page, 'Providers', /^Anthropic/).waitFor()
    await expectText(
      page.getByRole('dialog').getByRole('status'),
      /^\d\d results, \d of them listed$/,
    )
    await expectGoodLooks(page)
    // What is loaded is searched without a further request.
    const lists = asked.filter((url) => /^\/api\/(?!entrance|sessions|me\/passkeys)/.test(url))
    expect(lists.map((url) => url.replace(/\?.*/, ''))).to.have.members([
      '/api/models',
      '/api/keys',
      '/api/members',
    ])
  })

  it('finds a model by a name that only the gateway knows', async () => {
    const page = await dashboard.open('/you')
    const field = await openSearch(page)
    await field.fill('openai/gpt-5-mini')
    await option(page, 'Models', /GPT-5 mini/i)
      .first()
      .waitFor()
    await field.press('Enter')
    await page.getByRole('heading', { level: 1, name: /GPT-5 mini/i }).waitFor()
  })

  it('offers a member only what the member may see and do', async () => {
    const { gateway } = dashboard
    const as = await gateway.people.signIn({
      accountId: await gateway.createAccount(),
      role: 'member',
    })
    const refused: string[] = []
    const page = await dashboard.open('/you', { as })
    page.on('response', (answer) => {
      if ([401, 403].includes(answer.status())) refused.push(answer.url())
    })
    const field = await openSearch(page)
    await option(page, 'Actions', /^Chat with a model/).waitFor()
    for (const text of ['settings', 'invite', 'create an account', "a provider's key", 'harbour']) {
      await field.fill(text)
      await page.getByText('Nothing matches.').waitFor()
    }
    await field.fill('anthropic')
    await option(page, 'Providers', /^Anthropic/).click()
    await page.waitForURL(/\/models\?provider=anthropic$/)
    expect(refused).to.deep.equal([])
  })

  it('searches the other lists when one cannot be loaded, and says so', async () => {
    const page = await dashboard.open('/you')
    await page.route('**/api/members*', (route) =>
      route.fulfill({ status: 503, json: { error: { message: 'The database is busy.' } } }),
    )
    const field = await openSearch(page)
    await page.getByText('People are not searched: The database is busy.').waitFor()
    await field.fill('anthropic')
    await option(page, 'Providers', /^Anthropic/).waitFor()
  })

  it('asks the gateway for keys by name when it has too many to read them all, once typing pauses', async () => {
    const page = await dashboard.open('/you')
    const asked: (string | null)[] = []
    await page.route('**/api/keys?*', async (route) => {
      const name = new URL(route.request().url()).searchParams.get('name')
      asked.push(name)
      const answer = await route.fetch()
      const list = (await answer.json()) as { data: object[] }
      // Each page of the whole list has a further page.
      const json = name === null ? { ...list, data: [], has_more: true, next_cursor: 'x' } : list
      await route.fulfill({ json, status: 200 })
    })
    const field = await openSearch(page)
    await eventually(async () => expect(asked).to.deep.equal([null, null, null, null, null]))
    await field.pressSequentially('harbour cra', { delay: 5 })
    await option(page, 'API keys', /^harbour crane/).waitFor()
    expect(asked.slice(5)).to.have.length.within(1, 3)
    expect(asked.at(-1)).to.equal('harbour cra')
  })
})
