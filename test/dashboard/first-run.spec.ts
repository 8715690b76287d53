import { expect } from 'chai'
import OpenAI from 'openai'
import type { Page } from 'playwright-core'
import type { components } from '../../generated/types.ts'
import { setUpText } from '../../src/accounts/set-up-link.ts'
import { copyBy, expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { openaiKey, startOpenaiDouble } from '../support/image-doubles/openai.ts'
import { eventually } from '../support/until.ts'

const grace = { email: 'grace@example.com', name: 'Grace Hopper', password: 'a sentence of Grace' }

describe('the first run', () => {
  const dashboard = useDashboard()

  const heading = (page: Page, name: string | RegExp) =>
    page.getByRole('heading', { level: 1, name }).waitFor()
  const draw = (apiKey: string) =>
    new OpenAI({ apiKey, baseURL: `${dashboard.gateway.url}/v1`, maxRetries: 0 }).images
      .generate({ model: 'openai/gpt-image-2', prompt: 'A lighthouse', size: '1024x1024' })
      .then(
        ({ data }) => data!.length,
        (error: { status: number; code: string }) => `${error.status} ${error.code}`,
      )
  const setUpPath = async () => {
    const { gateway } = dashboard
    const text = setUpText(gateway.url, await gateway.people.setUpLink())
    return /\/dashboard(\/setup#\S+)/.exec(text)![1]!
  }

  it('names the account after its first owner when no team is given, and keeps a name', async () => {
    for (const name of ['Katherine Johnson', 'Dorothy Vaughan']) {
      const page = await dashboard.open(await setUpPath(), { as: null })
      await page.getByLabel('E-mail').fill(`${name.split(' ')[0]}@example.com`)
      await page.getByLabel('Name').fill(name)
      await page.getByLabel('Password', { exact: true }).fill(grace.password)
      await page.getByRole('button', { name: 'Become the owner' }).click()
      await heading(page, `Welcome, ${name}`)
      const account = page.getByLabel('Account and pages').locator('.account')
      expect(await account.innerText()).to.equal('Katherine Johnson')
    }
  })

  it('leads from the set-up link to a key, a picture, its cost, rotation and revocation', async () => {
    const { gateway } = dashboard
    const page = await dashboard.open(await setUpPath(), { as: null })
    await heading(page, 'Set up the gateway')
    await expectGoodLooks(page)
    await page.getByLabel('E-mail').fill(grace.email)
    await page.getByLabel('Name').fill(grace.name)
    await page.getByLabel('Password', { exact: true }).fill(grace.password)
    await page.getByLabel('Company or team').fill('Harbour office')
    await page.getByRole('button', { name: 'Become the owner' }).click()
    await heading(page, `Welcome, ${grace.name}`)

    await page.getByRole('link', { name: /Create (a|another) key/ }).click()
    await page.getByLabel('Name').fill('my first key')
    await page.getByRole('radio', { name: /^Test/ }).check()
    await page.getByRole('button', { name: 'Create the key' }).click()
    const old = await copyBy(page, 'Copy the key')
    expect(old).to.match(/^mag_test_/)

    await page.goto(`${gateway.url}/dashboard/welcome`)
    await page.getByRole('link', { name: 'create a picture in the playground' }).click()
    await page.getByLabel('Prompt').fill('A lighthouse')
    await page.getByRole('button', { name: /^Create the picture for / }).click()
    await page.getByRole('img').first().waitFor()
    await page.getByRole('link', { name: 'About this request' }).click()
    await expectArithmetic(page)

    expect(await draw(old)).to.equal(1)
    // The welcome page shows the call, and the list of requests contains both calls.
    await page.goto(`${gateway.url}/dashboard/requests?mode=test`)
    const requests = page.getByRole('region', { name: 'Requests' }).getByRole('row')
    await requests.filter({ hasText: 'Playground of Grace Hopper' }).waitFor()
    await requests.filter({ hasText: 'my first key' }).waitFor()
    await page.goto(`${gateway.url}/dashboard/welcome`)
    await page.getByText('would have cost').waitFor()
    await expectGoodLooks(page)
    await page.getByRole('link', { name: 'See the calculation' }).click()
    await expectArithmetic(page)

    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByRole('link', { name: 'my first key' }).click()
    await page.getByRole('button', { name: 'Rotate…' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Rotate/ })
      .click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const next = await copyBy(page, 'Copy the key')
    expect(next)
      .to.match(/^mag_test_/)
      .and.not.equal(old)
    expect([await draw(old), await draw(next)]).to.deep.equal([1, 1])

    await page.getByRole('link', { name: 'About this key' }).click()
    await page.getByRole('button', { name: 'Revoke…' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Revoke/ })
      .click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await draw(next)).to.equal('401 invalid_api_key')
    expect(await draw(old)).to.equal(1)
  })

  it('leads from a test picture to a picture of a real vendor, without a shell', async () => {
    const { gateway } = dashboard
    const openAi = await startOpenaiDouble()
    gateway.rewrite({}, { OPENAI_BASE_URL: openAi.url })
    const body = { ...grace, email: 'joan@example.com', token: await gateway.people.setUpLink() }
    const as = await gateway.setUp(body)
    const page = await dashboard.open('/welcome', { as })
    await page.getByText('Until now the sandbox answered.').waitFor()
    await expectGoodLooks(page)
    await page.getByRole('link', { name: "Add a vendor's key" }).click()
    await page.getByRole('link', { name: /^OpenAI/ }).click()
    await page.getByRole('button', { name: 'Add a key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('API key of OpenAI').fill(openaiKey)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/^The key .+ of OpenAI is stored\./).waitFor()
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    const begunAt = performance.now()
    await page.goto(`${gateway.url}/dashboard/welcome`)
    await page.getByRole('link', { name: 'create a picture with a live key' }).waitFor()
    // Successful calls and then any, live and test; a page that is slow to load looks again after 4 s.
    const rounds = 1 + Math.floor((performance.now() - begunAt) / 4000)
    const looks = asked.filter((path) => path === '/api/requests').length
    expect(looks).to.be.within(4, 4 * rounds)
    const link = page.getByRole('link', { name: 'create a picture with a live key' })
    await page.goto(`${gateway.url}${await link.getAttribute('href')}&image_model=gpt-image-2`)
    await page.getByLabel('Prompt').fill('A lighthouse')
    await page
      .getByRole('button', { name: 'Create the picture for about $0.03, at most $0.77' })
      .click()
    await page.getByRole('img').first().waitFor()
    expect(openAi.calls.at(-1)?.path).to.equal('/images/generations')
    const [row] = (await gateway.usage()).slice(-1)
    expect(row).to.include({ mode: 'live', provider: 'openai', outcome: 'ok' })
    await openAi.stop()
  })

  it("counts only a person's own successful calls, and needs no team's name", async () => {
    const { gateway } = dashboard
    const as = await gateway.people.signIn({ role: 'member' })
    const page = await dashboard.open('/welcome', { as })
    await heading(page, 'Welcome, Somebody')
    await page.getByText('Each call has a page with its cost').waitFor()
    expect(await page.getByText('done').count()).to.equal(0)

    await page.getByRole('link', { name: 'create a picture in the playground' }).click()
    await page.getByLabel('Prompt').fill('sandbox:content-policy')
    await page.getByRole('button', { name: 'Create the picture for free' }).click()
    await page.getByRole('alert').waitFor()
    await page.goto(`${gateway.url}/dashboard/welcome`)
    await page.getByRole('status').getByText('failed').waitFor()
    expect(await page.getByText('done').count()).to.equal(0)
    await expectGoodLooks(page)
    await page.getByRole('link', { name: 'See why' }).click()
    await heading(page, 'Request')
  })

  it('refuses a set-up link that was used before', async () => {
    const path = await setUpPath()
    const token = path.slice(path.indexOf('=') + 1)
    const { gateway } = dashboard
    const body = { token, ...grace, email: 'lin@example.com' }
    expect((await gateway.post('/api/setup', body, { key: null })).status).to.equal(201)
    const page = await dashboard.open(path, { as: null })
    await page.getByLabel('E-mail').fill('mallory@example.com')
    await page.getByLabel('Name').fill('Mallory')
    await page.getByLabel('Password', { exact: true }).fill('a sentence of Mallory')
    await page.getByRole('button', { name: 'Become the owner' }).click()
    await page.getByRole('alert').getByText('setup-link').waitFor()
    await expectGoodLooks(page)
    expect(gateway.logText()).not.to.contain(token)
  })

  /** Expects that the displayed cost equals the cost in the ledger and the sum of its lines. */
  async function expectArithmetic(page: Page): Promise<void> {
    const region = page.getByRole('region', { name: 'Calculation of the cost' })
    const [row] = (await dashboard.gateway.usage()).slice(-1)
    const answer = await dashboard.gateway.fetch(`/api/requests/${row!.id}`, {
      key: dashboard.gateway.adminKey,
    })
    const { cost } = (await answer.json()) as components['schemas']['RequestRecord']
    const amounts = await eventually(async () => {
      const shown = (await region.getByRole('row').allTextContents()).flatMap((text) =>
        [...text.matchAll(/= \$([\d.]+)/g)].map(([, amount]) => amount!),
      )
      expect(shown).to.deep.equal(cost.lines!.map(({ amount }) => amount))
      return shown
    })
    expect(amounts.length).to.be.greaterThan(0)
    const sum = amounts.reduce((nano, amount) => nano + Math.round(Number(amount) * 1e9), 0)
    expect(sum).to.equal(cost.amount!.nano_usd).and.equal(Number(row!.cost_nano_usd))
  }
})
