import { expect } from 'chai'
import { expectCount, expectGoodLooks, expectText, useDashboard } from '../support/dashboard.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { openaiKey, startOpenaiDouble } from '../support/image-doubles/openai.ts'
import { eventually } from '../support/until.ts'

const mistralKey = 'abcdefghijklmnopqrstuvwxyz123456'

describe('the providers page', () => {
  const file = {
    providers: [
      {
        id: 'own',
        kind: 'openai-compatible',
        base_url: 'http://127.0.0.1:9/v1',
        models: ['small-one'],
      },
    ],
  }
  let openAi: ImageDouble
  before(async () => (openAi = await startOpenaiDouble()))
  after(() => openAi.stop())
  const dashboard = useDashboard({ file, sleep: async () => undefined })

  it('shows failures of a provider, and that its route is paused', async () => {
    const { gateway } = dashboard
    const body = { model: 'small-one', messages: [{ role: 'user', content: 'Hello' }] }
    for (let calls = 0; calls < 5; calls++) {
      await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
    }
    const page = await dashboard.open('/providers')
    const own = page.getByRole('link', { name: /^own/ })
    await expectText(own, /fails\s+since .*: unreachable/)
    await expectGoodLooks(page)
    await own.press('Enter')
    await eventually(async () => {
      const text = await page.getByRole('region', { name: 'State' }).innerText()
      expect(text).to.include('fails').and.to.include('http://127.0.0.1:9/v1')
      expect(text).to.match(/Last failure\s.*unreachable, small-one/)
      expect(text).to.match(/small-one\s+paused after failures, tried again in/)
    })
    await expectGoodLooks(page)
  })

  it('shows how to configure a vendor, and reloads the settings', async () => {
    const page = await dashboard.open('/providers')
    await page.getByRole('searchbox', { name: 'Search' }).fill('mistr')
    await expectCount(page.getByRole('main').getByRole('listitem'), 1)
    await page.getByRole('link', { name: /^Mistral/ }).click()
    await page.getByText('MISTRAL_API_KEY', { exact: true }).waitFor()
    await page.goBack()
    dashboard.gateway.rewrite(file, { MISTRAL_API_KEY: mistralKey })
    await page.getByRole('button', { name: 'Reload the settings' }).click()
    await page.getByText('Changed: MISTRAL_API_KEY').waitFor()
    await page.getByLabel('State').selectOption('not called lately')
    await page
      .getByRole('region', { name: 'Configured', exact: true })
      .getByText('Mistral')
      .waitFor()
    expect(await page.content()).not.to.include(mistralKey)
    await expectGoodLooks(page)
  })

  it('adds, tests, replaces and removes a key of a vendor, by keyboard too', async () => {
    dashboard.gateway.rewrite(file, { OPENAI_BASE_URL: openAi.url })
    const page = await dashboard.open('/providers/openai')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add a key' }).click()
    const field = dialog.getByLabel('API key of OpenAI')
    await field.fill('"in quotes"')
    await field.press('Enter')
    await dialog.getByText('the key is in quotes').waitFor()
    await expectGoodLooks(page)
    await field.fill('sk-proj-not-the-right-one')
    await field.press('Enter')
    await dialog.getByText('OpenAI rejects the key (HTTP 401)').waitFor()
    await dialog.getByRole('button', { name: 'Save anyway' }).click()
    await page.getByRole('button', { name: 'Test the key …-one' }).click()
    await page.getByText('OpenAI rejects the key (HTTP 401)').last().waitFor()
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Replace the key …-one' }).click()
    await dialog.getByLabel('API key of OpenAI').fill(openaiKey)
    await dialog.getByRole('button', { name: 'Save' }).click()
    const hint = `…${openaiKey.slice(-4)}`
    const stored = `The key ${hint} of OpenAI is stored. OpenAI accepts the key and lists`
    await page.getByText(stored).waitFor()
    await page.getByRole('button', { name: `Test the key ${hint}` }).click()
    await page.getByText(/^OpenAI accepts the key and lists \d+ models\.$/).waitFor()
    expect(await page.content()).not.to.include(openaiKey)
    await page.getByRole('button', { name: `Remove the key ${hint}` }).click()
    await dialog.getByRole('button', { name: 'Remove the key' }).click()
    await page.getByText(`The key ${hint} of OpenAI is removed.`).waitFor()
    await page.getByText('no key', { exact: true }).waitFor()
  })

  it('adds a server, a route with a fallback and an alias, and keeps the comments of the YAML', async () => {
    const page = await dashboard.open('/providers')
    await page.getByRole('link', { name: 'Servers, routes, aliases' }).click()
    const dialog = page.getByRole('dialog')
    const save = () => dialog.getByRole('button', { name: 'Save' }).click()
    const yaml = async () => {
      await page.getByRole('button', { name: 'Edit as YAML' }).click()
      const text = await dialog.getByLabel('Settings as YAML').inputValue()
      await page.keyboard.press('Escape')
      return text
    }
    await page.getByRole('button', { name: 'Edit as YAML' }).click()
    await dialog.getByLabel('Settings as YAML').fill('aliases:\n  house: []\n')
    await save()
    await dialog.getByText('stored settings, line 2: aliases.house').waitFor()
    await expectGoodLooks(page)
    const commented = '# Read by Ada\naliases:\n  house: own/small-one # until Friday\n'
    await dialog.getByLabel('Settings as YAML').fill(commented)
    await save()
    await page.getByText('The settings are stored, and calls use them.').waitFor()

    await page.getByRole('button', { name: 'Add a server' }).click()
    await dialog.getByLabel('Name').fill('My Server')
    await dialog.getByLabel('Address').fill('ftp://models.example')
    await save()
    await dialog.getByText('Must be 1 to 32 lowercase letters').waitFor()
    await dialog.getByText('Must begin with http:// or https://').waitFor()
    expect(await dialog.locator('[aria-invalid]').count()).to.equal(2)
    await expectGoodLooks(page)
    await dialog.getByLabel('Name').fill('mine')
    await dialog.getByLabel('Address').fill('http://127.0.0.1:9/v1')
    await save()
    await dialog.getByText("The base_url of the provider 'mine' is not public.").waitFor()
    await dialog.getByLabel('Address').fill('https://models.example/v1')
    await save()
    await page.getByText('The server mine is stored, and calls use it.').waitFor()

    await page.getByRole('button', { name: 'Add a route' }).click()
    await dialog.getByLabel('Model').fill('gpt-5.4-mini')
    await dialog.getByLabel('First').selectOption('mine')
    await dialog.getByLabel('Fallback 1').selectOption('openai')
    await save()
    await page.getByText('gpt-5.4-mini goes to mine, then openai.').waitFor()
    await page.getByRole('button', { name: 'Add an alias' }).click()
    await dialog.getByLabel('Alias').fill('fast')
    await dialog.getByLabel('Model').fill('mine/quick')
    await dialog.getByLabel('Model').press('Enter')
    await page.getByText('fast now means mine/quick.').waitFor()
    await page.getByRole('region', { name: 'Aliases' }).getByText('mine/quick').waitFor()
    await expectGoodLooks(page)
    expect(await yaml()).to.equal(
      `${commented}  fast: mine/quick\nproviders:\n  - id: mine\n    kind: openai-compatible\n` +
        `    base_url: https://models.example/v1\n    models: "*"\n` +
        'routes:\n  gpt-5.4-mini:\n    - mine\n    - openai\n',
    )
    for (const name of ['mine', 'gpt-5.4-mini', 'fast', 'house']) {
      await page.getByRole('button', { name: `Remove ${name}` }).click()
      await dialog.getByRole('button', { name: 'Remove' }).click()
      await page.getByText(`${name} is removed.`).waitFor()
    }
    await eventually(async () => expect(await yaml()).not.to.include('mine'))
  })

  it('shows an error when the changed settings are invalid, also to a person who is faster than the session', async () => {
    const page = await dashboard.open('/providers')
    const reload = page.getByRole('button', { name: 'Reload the settings' })
    await reload.waitFor()
    const held = Promise.withResolvers<void>()
    await page.route('**/api/sessions/current', async (route) => {
      await held.promise
      await route.continue()
    })
    await page.reload()
    dashboard.gateway.rewrite({ port: 'none' })
    await reload.click()
    held.resolve()
    await page.getByRole('alert').getByText(/PORT/i).waitFor()
  })

  it('is for operators only, and says so to other people', async () => {
    const accountId = await dashboard.gateway.createAccount()
    const page = await dashboard.open('/providers', {
      as: await dashboard.gateway.people.signIn({ accountId }),
    })
    await page.getByRole('heading', { name: 'This page is for operators of the gateway' }).waitFor()
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    expect(await navigation.getByRole('link').allInnerTexts()).not.to.include('Providers')
    await expectGoodLooks(page)
  })
})
